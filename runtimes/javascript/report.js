// SPDX-License-Identifier: Apache-2.0
'use strict';
/* What goes over the channel: values as MIME bundles, tables, errors; each within the limits. */
const util = require('util');

const FRAME_MAX = 8 << 20; /* bytes of one frame; the supervisor refuses larger ones */
const TABLE_ROWS = 1000;
const TRACE_MAX = 64;
const JSON_DEPTH = 24;
const JSON_ITEMS = 100000;
const TYPES_MAX = 16; /* in one bundle */
const WAIT_MS = 2000; /* for a channel that is full */
const TABLE = 'application/vnd.hotcell.table+json';

/* ---- frames ------------------------------------------------------------------------------ */

/* The bytes of a message, or of a smaller one in its place. */
const pack = (message) => packText(encode(message), message);

function packText(text, message) {
	let size = Buffer.byteLength(text);
	if (size > FRAME_MAX) {
		text = encode(smaller(message, size));
		size = Buffer.byteLength(text);
	}
	return fill(Buffer.allocUnsafeSlow(4 + size), text);
}

function fill(frame, text) {
	frame.writeUInt32BE(frame.utf8Write(text, 4));
	return frame;
}

/* A short frame that is gone at once needs no memory of its own. */
const shelf = Buffer.allocUnsafeSlow(4 << 10);

function send(message, write) {
	let bytes = message;
	let length = message.length;
	if (!Buffer.isBuffer(message)) {
		const text = encode(message);
		const isShort = 4 + 3 * text.length <= shelf.length;
		bytes = isShort ? fill(shelf, text) : packText(text, message);
		length = isShort ? 4 + shelf.readUInt32BE() : bytes.length;
	}
	let patience = null;
	for (let at = 0; at < length;) {
		try {
			at += write(bytes, at, length);
		} catch (error) {
			if (error.code === 'EINTR')
				continue;
			patience ??= Date.now() + WAIT_MS;
			if (error.code !== 'EAGAIN' || Date.now() > patience)
				throw error;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
		}
	}
}

/* The supervisor takes no NUL, not even an escaped one. */
function encode(message) {
	const text = JSON.stringify(message);
	return text.includes('\\u0000') ?
		text.replace(/\\\\|\\u0000/g, (found) => found === '\\\\' ? found : '\ufffd') : text;
}

function smaller(message, size) {
	const types = Object.keys(message.data ?? {}).filter((type) => type !== 'text/plain');
	const text = String(message.data?.['text/plain'] ?? '').slice(0, 4096);
	const note = `[${size} bytes are more than a value may have` +
		`${types.length ? `; left out: ${types.join(', ')}` : ''}]`;
	return { event: message.event, data: { 'text/plain': `${text}\n${note}` }, metadata: {} };
}

/* At most so many bytes of UTF-8. */
function clip(text, max) {
	text = String(text);
	if (text.length * 3 <= max)
		return text;
	const bytes = Buffer.from(text);
	return bytes.length <= max ? text : bytes.subarray(0, max - 3).toString().replace(/\ufffd+$/, '') + '…';
}

/* ---- values ------------------------------------------------------------------------------ */

const isPlain = (value) => {
	const prototype = Object.getPrototypeOf(value);
	return prototype === Object.prototype || prototype === null;
};

/*
 * A copy that JSON can carry without loss, or undefined. Reads data properties only, so nothing of
 * the program runs for it.
 */
function toData(value, depth = 0, budget = { items: JSON_ITEMS }) {
	if (value === null || typeof value === 'string' || typeof value === 'boolean')
		return value;
	if (typeof value === 'number')
		return Number.isFinite(value) ? value : undefined;
	if (typeof value !== 'object' || depth > JSON_DEPTH || util.types.isProxy(value) ||
		!(Array.isArray(value) || isPlain(value)))
		return undefined;
	const copy = Array.isArray(value) ? [] : {};
	if (Array.isArray(value) && value.length > Object.keys(value).length)
		return undefined;
	for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
		if (!property.enumerable)
			continue;
		if (budget.items-- <= 0 || !('value' in property))
			return undefined;
		const item = toData(property.value, depth + 1, budget);
		if (item === undefined)
			return undefined;
		Object.defineProperty(copy, key, { value: item, enumerable: true, writable: true, configurable: true });
	}
	return copy;
}

const html = (text) => String(text).replace(/[&<>"]/g,
	(letter) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[letter]);

function bundle(value) {
	const data = { 'text/plain': util.inspect(value) };
	const plain = toData(value);
	if (plain !== undefined)
		data['application/json'] = plain;
	if (Array.isArray(plain) && plain.length > 0 && plain.every((row) =>
		row && typeof row === 'object' && !Array.isArray(row) && Object.keys(row).length > 0 &&
		Object.values(row).every((cell) => cell === null || typeof cell !== 'object'))) {
		const columns = [...new Set(plain.flatMap((row) => Object.keys(row)))];
		data[TABLE] = { columns, rows: plain.slice(0, TABLE_ROWS)
			.map((row) => columns.map((column) => row[column] ?? null)), total_rows: plain.length };
		data['text/html'] = toHtml(data[TABLE]);
	}
	return data;
}

/* The value of the last expression; null when it is only what a statement left over. */
function result(value) {
	if (value === null || (typeof value !== 'object' && typeof value !== 'function'))
		return bundle(value);
	if (value instanceof require('events') || util.types.isModuleNamespaceObject(value) ||
		util.types.isPromise(value) || ['Timeout', 'Immediate'].includes(value?.constructor?.name))
		return null;
	return bundleOf(value);
}

/* Objects may bring their own bundle, by the name other kernels know it by. */
function bundleOf(value) {
	const own = value?.[Symbol.for('Jupyter.display')];
	if (typeof own === 'function') {
		const made = toData(own.call(value));
		if (made && isBundle(made))
			return { 'text/plain': util.inspect(value), ...made };
	}
	return bundle(value);
}

/* What the supervisor takes for one: a message it does not understand is the last it hears. */
const isType = (text) => typeof text === 'string' && /^[a-z]+\/[\w.+-]{1,100}$/.test(text);
const isBundle = (value) => Object.keys(value).length > 0 && Object.keys(value).length < TYPES_MAX &&
	Object.keys(value).every(isType);

const SIGNATURES = [
	['image/png', /^\x89PNG\r\n\x1a\n/],
	['image/jpeg', /^\xff\xd8\xff/],
	['image/gif', /^GIF8[79]a/],
	['image/webp', /^RIFF....WEBP/s],
	['application/pdf', /^%PDF-/],
];

function display(value, mime) {
	try {
		if (!isType(mime))
			mime = undefined;
		if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
			const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
			const start = bytes.latin1Slice(0, 16);
			mime ??= SIGNATURES.find(([, pattern]) => pattern.test(start))?.[0];
			if (!mime)
				return bundle(value);
			const isText = /^text\/|[+/](?:xml|json)$/.test(mime);
			return { 'text/plain': `[${mime}, ${bytes.length} bytes]`,
				[mime]: bytes.toString(isText ? 'utf8' : 'base64') };
		}
		if (mime)
			return { 'text/plain': typeof value === 'string' ? value : util.inspect(value),
				[mime]: toData(value) ?? String(value) };
		if (typeof value === 'string') {
			if (/^\s*(?:<\?xml[^>]*>\s*)?<svg[\s>]/i.test(value))
				return { 'text/plain': `[image/svg+xml, ${value.length} characters]`, 'image/svg+xml': value };
			if (/^\s*<(?:!doctype|!--|[a-z][\w-]*[\s/>])/i.test(value))
				return { 'text/plain': value, 'text/html': value };
			return { 'text/plain': value };
		}
		if (value && typeof value === 'object' && !util.types.isProxy(value) && isPlain(value) && isBundle(value))
			return { 'text/plain': util.inspect(value), ...toData(value) };
		return bundleOf(value);
	} catch (error) {
		return { 'text/plain': `[cannot be shown: ${error}]` };
	}
}

/* ---- tables ------------------------------------------------------------------------------ */

/* What console.table would print, and the table itself; null for what it prints plainly. */
function table(data, wanted) {
	if (data === null || typeof data !== 'object' || util.types.isProxy(data) ||
		util.types.isMapIterator(data) || util.types.isSetIterator(data) ||
		(wanted !== undefined && !Array.isArray(wanted)))
		return null;
	let text = '';
	const paper = { write: (part) => (text += part) };
	new (require('console').Console)({ stdout: paper, stderr: paper, ignoreErrors: false }).table(data, wanted);
	const made = toTable(data, wanted);
	return { 'text/plain': text.replace(/\n$/, ''), [TABLE]: made, 'text/html': toHtml(made) };
}

function toTable(data, wanted) {
	const own = (object) => Object.entries(Object.getOwnPropertyDescriptors(object))
		.filter(([key, property]) => property.enumerable && !(Array.isArray(object) && key === 'length'))
		.map(([key, property]) => [key, 'value' in property ? property.value : '[Getter]']);
	const isMap = util.types.isMap(data);
	const isIndexed = isMap || util.types.isSet(data);
	const entries = isMap ? [...data].map(([key, value], i) => [i, value, key]) :
		util.types.isSet(data) ? [...data].map((value, i) => [i, value]) :
			own(data).map(([key, value]) => [Array.isArray(data) && /^\d+$/.test(key) ? Number(key) : key, value]);
	const columns = [];
	let hasValues = false;
	const found = entries.slice(0, TABLE_ROWS).map(([index, row, key]) => {
		const cells = new Map();
		if (row !== null && typeof row === 'object' && !util.types.isProxy(row) && !isIndexed) {
			for (const [name, cell] of own(row)) {
				if (wanted && !wanted.includes(name))
					continue;
				cells.set(name, cell);
				if (!columns.includes(name))
					columns.push(name);
			}
			return { index, key, cells };
		}
		hasValues = true;
		return { index, key, cells, value: row };
	});
	const shown = wanted && !isIndexed ? wanted.map(String) : columns;
	const cell = (value) => value === undefined ? null : toCell(value);
	return {
		columns: [isIndexed ? '(iteration index)' : '(index)', ...(isMap ? ['Key'] : []), ...shown,
			...(hasValues ? ['Values'] : [])],
		rows: found.map(({ index, key, cells, value }) => [index, ...(isMap ? [cell(key)] : []),
			...shown.map((name) => cell(cells.get(name))), ...(hasValues ? [cell(value)] : [])]),
		total_rows: entries.length,
	};
}

const toCell = (value) => value === null || (typeof value !== 'object' && toData(value) !== undefined) ?
	value : util.inspect(value, { depth: 1, breakLength: Infinity });

function toHtml({ columns, rows, total_rows: total }) {
	const line = (tag, cells) => `<tr>${cells.map((cell) => `<${tag}>${html(cell ?? '')}</${tag}>`).join('')}</tr>`;
	const more = total > rows.length ? `<caption>${rows.length} of ${total} rows</caption>` : '';
	return `<table>${more}<thead>${line('th', columns)}</thead><tbody>` +
		`${rows.map((row) => line('td', row)).join('')}</tbody></table>`;
}

/* ---- errors ------------------------------------------------------------------------------ */

const IMPORT_CODES = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED',
	'ERR_PACKAGE_IMPORT_NOT_DEFINED', 'ERR_UNKNOWN_BUILTIN_MODULE', 'ERR_REQUIRE_ESM',
	'ERR_UNSUPPORTED_DIR_IMPORT', 'ERR_INVALID_MODULE_SPECIFIER']);

/* "    at name (file:line:column)", "    at file:line:column", with async, new and [as name]. */
const FRAME = /^ {4}at (?:(.*) \()?((?:file:\/\/)?\/.*?):(\d+):(\d+)\)?$/;

function failure(error, program) {
	const isError = error !== null && typeof error === 'object';
	const stack = isError && typeof error.stack === 'string' ? error.stack : '';
	const message = isError ? String(error.message ?? '') : '';
	const name = isError && error.name !== undefined ? String(error.name) : 'Error';
	const frames = framesOf(stack);
	const told = { event: 'error', kind: 'runtime', name: clip(name, 256) };
	if (name === 'SyntaxError' && /does not provide an export named|Named export .* not found/.test(message)) {
		told.kind = 'import';
	} else if (isError && IMPORT_CODES.has(error.code)) {
		told.kind = 'import';
	} else if (name === 'SyntaxError') {
		const place = placeOfSyntax(error, stack, frames, program);
		if (place) {
			told.kind = 'syntax';
			frames.push(place);
		}
	}
	told.value = clip(isError && (message || stack) ? message : util.inspect(error), 65536);
	const last = frames.at(-1);
	if (last) {
		told.line = last.line;
		told.column = last.column;
	}
	told.traceback = frames.length > TRACE_MAX ?
		[...frames.slice(0, TRACE_MAX / 2), ...frames.slice(-TRACE_MAX / 2)] : frames;
	return told;
}

/* Outermost call first; without node's own frames. */
const MAIN = /^(?:async )?(?:(?:Object|Module)\.)?<anonymous>$/;

function framesOf(stack) {
	const frames = [];
	let isModule = false;
	for (const line of stack.split('\n')) {
		const match = FRAME.exec(line);
		if (!match)
			continue;
		isModule = match[1] === undefined && match[2].startsWith('file:');
		frames.unshift(frame(match[2], Number(match[3]), Number(match[4]),
			MAIN.test(match[1]) ? '<main>' : match[1] ?? '<anonymous>'));
	}
	if (isModule) /* whose own level has no name at all */
		frames[0].function = '<main>';
	return frames;
}

function frame(file, line, column, name) {
	const path = pathOf(file);
	const source = lineOf(path, line);
	const made = { file: clip(shortPath(path), 4096), line, column, function: clip(name, 256) };
	if (source !== undefined)
		made.source = clip(source, 4096);
	return made;
}

const pathOf = (file) => file.startsWith('file://') ? require('url').fileURLToPath(file) : file;

/* As the person named it: below the working directory without it. */
function shortPath(path) {
	const here = `${process.cwd()}/`;
	return path.startsWith(here) ? path.slice(here.length) : path;
}

function lineOf(path, line) {
	try {
		return require('fs').readFileSync(path, 'utf8').split('\n')[line - 1];
	} catch {
		return undefined;
	}
}

/*
 * Where the text does not parse. Modules bring the place in their stack; for a script node keeps it
 * to itself, so the file is compiled once more: the program, or what the last frame requires.
 */
const COMPILING = /\n {4}at (?:wrapSafe|(?:internalC|c)ompileFunction|compileSourceTextModule|new ModuleWrap)/;

function placeOfSyntax(error, stack, frames, program) {
	let found = /^((?:file:\/\/)?\/.*):(\d+)\n(.*)\n([ \t]*)\^+/.exec(stack);
	if (!found && !COMPILING.test(stack))
		return null;
	if (!found) {
		const path = frames.length > 0 ? requiredBy(frames.at(-1)) : program.path;
		found = path && compileErrorOf(path);
	}
	return found ? frame(found[1], Number(found[2]), found[4].length + 1, '<main>') : null;
}

function requiredBy(last) {
	const name = /\brequire\(\s*(["'`])([^"'`]+)\1\s*\)/.exec(last.source ?? '');
	try {
		return name && require('module').createRequire(require('path').resolve(last.file)).resolve(name[2]);
	} catch {
		return null;
	}
}

function compileErrorOf(path) {
	try {
		const text = require('fs').readFileSync(path, 'utf8').replace(/^#!/, '//');
		const vm = require('vm');
		/* Its own line before the text, and the numbers as if it were not there. */
		new vm.Script(`(function(exports,require,module,__filename,__dirname){\n${text}\n})`,
			{ filename: path, lineOffset: -1 });
	} catch (error) {
		return /^(\/.*):(\d+)\n(.*)\n([ \t]*)\^+/.exec(error.stack);
	}
	return null;
}

/*
 * Node shows the line an uncaught error came from. When that is a line the capture has touched,
 * it is shown as it was written: node prints a stack alone once a vm script has thrown the error.
 */
function mend(error, program) {
	const { patch } = program;
	if (!patch || !util.types.isNativeError(error) || typeof error.stack !== 'string')
		return;
	const calls = error.stack.split('\n').filter((line) => /^ {4}at /.test(line));
	/* Text that does not parse is shown itself, be it JSON or given to eval. */
	if (error.name === 'SyntaxError' && !/RegExp/.test(calls[0]))
		return;
	const top = calls.find((line) => !line.endsWith(' (<anonymous>)'));
	const match = top && FRAME.exec(top);
	const line = match && pathOf(match[2]) === program.path && patch.lines.get(Number(match[3]));
	if (!line)
		return;
	const before = `${match[2]}:${match[3]}:`;
	const moved = (column) => column - 1 > line.shift ? column - 1 : column;
	const stack = error.stack.replaceAll(new RegExp(`${before.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(\\d+)`, 'g'),
		(_, column) => before + moved(Number(column)));
	const place = Object.getPrototypeOf(async () => {});
	Object.defineProperty(place, 'hotcell', { configurable: true, get() { throw error; } });
	try {
		new (require('vm').Script)('(async()=>{}).hotcell').runInThisContext();
	} catch { /* the error is marked as shown */ }
	delete place.hotcell;
	const blank = line.text.slice(0, moved(Number(match[4])) - 1).replace(/[^\t]/g, ' ');
	error.stack = `${match[2]}:${match[3]}\n${line.text}\n${blank}^\n\n${stack}`;
}

module.exports = { pack, send, display, result, value: bundleOf, table, failure, mend, frame, clip };
