// SPDX-License-Identifier: Apache-2.0
// client2.mjs TARGET ERA: the official client 2.x, in an era: legacy, modern, or what it finds (auto).
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { steps } from './steps.mjs';

const [target, era] = process.argv.slice(2);
const transport = target.startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args: ['mcp'], env: process.env });
const mode = era === 'modern' ? { pin: '2026-07-28' } : era;
const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
await client.connect(transport);
assert.equal(client.getNegotiatedProtocolVersion(), era === 'legacy' ? '2025-11-25' : '2026-07-28');
await steps(client, (name, args, options) => client.callTool({ name, arguments: args }, options));
await client.close();
console.log('fine');
