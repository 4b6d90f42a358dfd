// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * An esbuild that was started with a waiting runner (hotcell-relay --beside) and serves it over
 * descriptor 4, in esbuild's own protocol: packets of a length and a value, whose numbers are little
 * endian. Starting one takes ten times as long as asking it.
 *
 * It answers what the program needs to begin and is then dismissed, so that memory and processes are
 * the program's. Whatever goes wrong here is left to an esbuild that is started for it.
 */
const fs = require('fs');

const LINE = 4;
const ANSWER_MAX = 64 << 20;
const servant = { pid: 0, isGreeted: false, next: 1 };

function enlist(pid) {
	servant.pid = pid;
}

/* It is needed no more. */
function strike() {
	try {
		if (servant.pid)
			process.kill(servant.pid, 'SIGKILL');
	} catch { /* it is gone */ }
}

/* Its end of the line is closed when its memory is free again. */
function dismiss() {
	if (!servant.pid)
		return;
	strike();
	try {
		while (fs.readSync(LINE, Buffer.alloc(1 << 12)) > 0);
	} catch { /* it will be */ }
	servant.pid = 0;
	fs.closeSync(LINE);
}

/* ---- values ------------------------------------------------------------------------------ */

function encode(value) {
	const parts = [];
	const number = (kind, count) => {
		const bytes = Buffer.alloc(kind === null ? 4 : 5);
		if (kind !== null)
			bytes[0] = kind;
		bytes.writeUInt32LE(count, bytes.length - 4);
		parts.push(bytes);
	};
	const text = (kind, string) => {
		const bytes = Buffer.from(string);
		number(kind, bytes.length);
		parts.push(bytes);
	};
	const add = (item) => {
		if (item === null) {
			parts.push(Buffer.of(0));
		} else if (typeof item === 'boolean') {
			parts.push(Buffer.of(1, Number(item)));
		} else if (typeof item === 'number') {
			number(2, item);
		} else if (typeof item === 'string') {
			text(3, item);
		} else if (Array.isArray(item)) {
			number(5, item.length);
			item.forEach(add);
		} else {
			const entries = Object.entries(item);
			number(6, entries.length);
			for (const [key, member] of entries) {
				text(null, key);
				add(member);
			}
		}
	};
	add(value);
	return Buffer.concat(parts);
}

function decode(bytes, start) {
	let at = start;
	const number = () => bytes.readUInt32LE((at += 4) - 4);
	const part = () => {
		const size = number();
		return bytes.subarray(at, at += size);
	};
	const list = () => Array.from({ length: Math.min(number(), bytes.length) }, take);
	const object = () => Object.fromEntries(
		Array.from({ length: Math.min(number(), bytes.length) }, () => [part().toString(), take()]));
	const kinds = [() => null, () => bytes[at++] !== 0, number, () => part().toString(), part, list, object];
	const take = () => kinds[bytes[at++]]();
	return take();
}

/* ---- asking ------------------------------------------------------------------------------ */

function read(size) {
	const bytes = Buffer.allocUnsafe(size);
	for (let at = 0; at < size;) {
		const count = fs.readSync(LINE, bytes, at, size - at);
		if (count === 0)
			throw new Error('the servant is gone');
		at += count;
	}
	return bytes;
}

function readPacket() {
	const size = read(4).readUInt32LE();
	if (size > ANSWER_MAX)
		throw new Error('the answer is too large');
	return read(size);
}

function ask(request) {
	if (!servant.isGreeted)
		readPacket(); /* its version */
	servant.isGreeted = true;
	const id = servant.next++;
	const body = encode({ ...request, key: id });
	const head = Buffer.alloc(8);
	head.writeUInt32LE(4 + body.length);
	head.writeUInt32LE(id << 1, 4);
	const packet = Buffer.concat([head, body]);
	for (let at = 0; at < packet.length;)
		at += fs.writeSync(LINE, packet, at);
	const answer = readPacket();
	if (answer.readUInt32LE() !== (id << 1 | 1))
		throw new Error('that was no answer');
	return decode(answer, 4);
}

/*
 * What `esbuild FILE… FLAG…` would write, text by path, or what it would complain of; null: it is not
 * known.
 */
function build(files, flags) {
	if (!servant.pid)
		return null;
	try {
		const { errors, outputFiles } = ask({ command: 'build', entries: files.map((file) => ['', file]),
			flags: [...flags, '--log-level=silent'], write: false, stdinContents: null, stdinResolveDir: null,
			absWorkingDir: process.cwd(), nodePaths: [], context: false });
		return { error: errors[0], texts: new Map(outputFiles.map(({ path, contents }) => [path, contents.toString()])) };
	} catch {
		dismiss();
		return null;
	}
}

module.exports = { enlist, strike, dismiss, build };
