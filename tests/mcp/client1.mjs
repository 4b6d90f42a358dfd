// SPDX-License-Identifier: Apache-2.0
// client1.mjs TARGET ERA: the official client 1.x, which knows the legacy era.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { steps } from './steps.mjs';

const [target] = process.argv.slice(2);
const transport = target.startsWith('http')
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args: ['mcp'], env: process.env });
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
await steps(client, (name, args, options) => client.callTool({ name, arguments: args }, undefined, options));
await client.close();
console.log('fine');
