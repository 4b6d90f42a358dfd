// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * A cell is the code of one turn. V8 runs it in the mode it has for prompts: `await` at the top
 * level, `let`, `const` and `class` that later cells see and may declare anew. That mode is reached
 * through the inspector.
 *
 * `import` is put in other words, since V8 has no loader there: a function of the same length, so
 * that every position stays what it is.
 */
const fs = require('fs');
const inspector = require('inspector');
const Module = require('module');
const path = require('path');
const util = require('util');
const vm = require('vm');
const { pathToFileURL } = require('url');
const report = require('./report');
const { scan, maskModule } = require('./capture');

const CELLS_MAX = 1000;
const IMPORT = '$mport';
const TYPESCRIPT = `${__dirname}/typescript.js`;
const typescript = fs.existsSync(TYPESCRIPT) ? require(TYPESCRIPT) : null;

const session = new inspector.Session();
const known = new Map(); /* cells by the name V8 has for them */
let made = 0;

/* ---- import --------------------------------------------------------------------------------------- */

async function importModule(name, options) {
	const from = `${process.cwd()}/`;
	name = String(name);
	if (!/^\.{0,2}\//.test(name))
		return Module.isBuiltin(name) || /^[\w+.-]+:/.test(name) ? import(name, options) :
			import(pathToFileURL(resolvePackage(name, from)).href, options);
	const file = path.resolve(from, name);
	const source = typescript?.findSource(file);
	return source ? require(source) : import(pathToFileURL(file).href, options);
}

/* As node's prompt does: from the working directory. */
function resolvePackage(name, from) {
	try {
		return Module.createRequire(from).resolve(name);
	} catch (error) {
		throw Object.assign(new Error(`Cannot find package '${name}' imported from ${from}`),
			{ code: error.code === 'MODULE_NOT_FOUND' ? 'ERR_MODULE_NOT_FOUND' : error.code });
	}
}

/* import main, * as space, { names } from "name" */
const STATEMENT = new RegExp(/^import\s*(?:([\w$]+)\s*,?\s*)?(?:\*\s*as\s+([\w$]+)\s*)?/.source +
	/(?:(\{[^}]*\})\s*)?(?:from\s*)?(["'][^\n]*?["'])/.source);

/* Statements of a module, as a script can say them; the lines stay. */
function unmodule(code) {
	if (!/\b(?:import|export)\b/.test(code))
		return code;
	const tokens = scan(code);
	if (!tokens)
		return code;
	let made = '';
	let from = 0;
	tokens.forEach((token, i) => {
		if (token.text !== 'import' || ['(', '.'].includes(tokens[i + 1]?.text) || token.start < from ||
			tokens[i - 1]?.text === '.')
			return;
		const statement = STATEMENT.exec(code.slice(token.start));
		if (!statement)
			return;
		const [all, main, space, names, name] = statement;
		const parts = [
			main && `{ default: ${main} } = await ${IMPORT}(${name})`,
			space && `${space} = await ${IMPORT}(${name})`,
			names && `${names.replace(/\bas\b/g, ':').replace(/\s+/g, ' ')} = await ${IMPORT}(${name})`,
		].filter(Boolean);
		made += code.slice(from, token.start) + (parts.length ? `const ${parts.join(', ')}` : `await ${IMPORT}(${name})`) +
			'\n'.repeat(all.split('\n').length - 1);
		from = token.start + all.length;
	});
	made += code.slice(from);
	const rest = scan(made);
	return rest && /\bexport\b/.test(made) ? maskModule(made, rest).masked : made;
}

/* import(…) anywhere in the code */
function rename(code) {
	if (!/\bimport\s*\(/.test(code))
		return code;
	const at = [];
	let last = null;
	const tokens = scan(code, (token) => {
		if (last?.text === 'import' && token.text === '(')
			at.push(last.start);
		last = token.kind === 'word' && last?.text === '.' ? null : token;
	});
	if (!tokens)
		return code.replace(/(?<![\w$.'"`])import(?=\s*\()/g, IMPORT);
	return at.reduceRight((text, start) => text.slice(0, start) + IMPORT + text.slice(start + IMPORT.length), code);
}

/* ---- the text that runs ------------------------------------------------------------------------- */

function compiles(text) {
	const { stackTraceLimit } = Error;
	Error.stackTraceLimit = 0;
	try {
		new vm.Script(text);
		return true;
	} catch {
		return false;
	} finally {
		Error.stackTraceLimit = stackTraceLimit;
	}
}

/* At a prompt, { a: 1 } is an object. */
const wrap = (code) => /^\s*\{/.test(code) && !/;\s*$/.test(code) && compiles(`(${code.trim()}\n)`) ?
	code.replace(/\{/, '({').trimEnd() + '\n)' : code;

/* A cell is known as long as a stack may speak of it, within reason. */
function make(code, name) {
	const number = ++made;
	const cell = { name: name || `<cell ${number}>`, code, id: `hotcell-cell-${number}`, map: null, text: '' };
	known.set(cell.id, cell);
	if (known.size > CELLS_MAX)
		known.delete(known.keys().next().value);
	return cell;
}

function prepare(cell) {
	let text = cell.code.replace(/^#!/, '//');
	if (typescript)
		({ text, map: cell.map } = strip(text));
	cell.text = rename(wrap(unmodule(text)));
}

/* Without its types; an object is one in TypeScript, too. */
function strip(code) {
	if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
		try {
			return typescript.strip(code.replace(/\{/, '({').trimEnd() + ')');
		} catch { /* a block, then */ }
	}
	return typescript.strip(code);
}

/* ---- running ------------------------------------------------------------------------------------- */

/* The value V8 has an id for; it is handed over by a property that exists only meanwhile. */
let handed;

function valueOf(remote) {
	if (!remote.objectId)
		return 'unserializableValue' in remote ? unserialize(remote.unserializableValue) : remote.value;
	session.post('Runtime.callFunctionOn', { objectId: remote.objectId, silent: true,
		functionDeclaration: 'function () { (async () => {}).hotcell(this) }' });
	const value = handed;
	handed = undefined;
	return value;
}

const unserialize = (text) => text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text);

/* A symbol has an id, too; what is handed over is then an object around it. */
const unbox = (remote, value) => remote.type === 'symbol' ? value.valueOf() : value;

function open() {
	const place = Object.getPrototypeOf(async () => {});
	Object.defineProperty(place, 'hotcell', { configurable: true, value: (value) => {
		handed = value;
	} });
	Object.defineProperty(globalThis, IMPORT, { configurable: true, writable: true, value: importModule });
	session.connect();
	if (typescript)
		typescript.hook();
}

const evaluate = (cell, done) => session.post('Runtime.evaluate',
	{ expression: `${cell.text}\n//# sourceURL=${cell.id}`, replMode: true, silent: true, objectGroup: cell.id }, done);

/* What cells have declared with let, const and class. */
const names = () => new Promise((resolve) => session.post('Runtime.globalLexicalScopeNames', {},
	(error, answer) => resolve(error ? [] : answer.names)));

/* What became of it: { value }, { error } or { isInterrupted }. */
function run(code, name, begin) {
	return new Promise((resolve) => {
		const cell = make(code, name);
		begin(cell);
		try {
			prepare(cell);
		} catch (error) {
			return resolve({ error }); /* what esbuild does not understand */
		}
		evaluate(cell, (error, answer) => {
			if (error)
				return resolve({ isInterrupted: true });
			const { result, exceptionDetails } = answer;
			const remote = exceptionDetails ? exceptionDetails.exception : result;
			const value = unbox(remote, valueOf(remote));
			session.post('Runtime.releaseObjectGroup', { objectGroup: cell.id });
			if (!exceptionDetails)
				return resolve({ value });
			cell.details = exceptionDetails;
			resolve({ error: value });
		});
	});
}

/* ---- errors --------------------------------------------------------------------------------------- */

const PLACE = /hotcell-cell-\d+/g;
const FRAME = /^ {4}at (?:(.*) \()?(hotcell-cell-\d+):(\d+):(\d+)\)?$/;
const BELOW = /^ {4}at .*(?:node:inspector|\/cells\.js)/;

function placeOf(cell, line, column) {
	const entry = cell.map?.findEntry(line - 1, column - 1);
	return entry?.originalLine === undefined ? { line, column } :
		{ line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

/* Frames of cells in a stack as V8 wrote it, outermost first. */
function framesOf(stack) {
	const frames = [];
	for (const line of stack.split('\n')) {
		const match = FRAME.exec(line);
		const cell = match && known.get(match[2]);
		if (cell)
			frames.unshift(frameOf(cell, placeOf(cell, Number(match[3]), Number(match[4])), match[1] ?? '<main>'));
	}
	return frames;
}

/* The stack without what is below the code, in the places of the source. */
function cleanStack(stack) {
	const lines = stack.split('\n');
	const end = lines.findIndex((line) => BELOW.test(line));
	const kept = end < 0 ? lines : lines.slice(0, end);
	/* the cell's own level has no name; node's prompt leaves it out */
	const bottom = kept.findLastIndex((line) => /^ {4}at hotcell-cell-\d+:\d+:\d+$/.test(line));
	const shown = (bottom < 0 ? kept : kept.slice(0, bottom)).filter((line) => !line.includes(`${__dirname}/`));
	return shown.map((line) => {
		const match = FRAME.exec(line);
		const cell = match && known.get(match[2]);
		if (!cell)
			return line.replace(PLACE, (id) => known.get(id)?.name ?? id);
		const place = placeOf(cell, Number(match[3]), Number(match[4]));
		const where = `${cell.name}:${place.line}:${place.column}`;
		return match[1] === undefined ? `    at ${where}` : `    at ${match[1]} (${where})`;
	}).join('\n');
}

const isSyntaxError = (error, cell) => cell?.details && util.types.isNativeError(error) && error.name === 'SyntaxError' &&
	!cell.details.stackTrace && !/\n {4}at /.test(String(error.stack).split(/\n {4}at .*(?:node:inspector|cells\.js)/)[0]);

/* What V8 would point at; it tells where the text stops making sense only to those who compile it. */
function arrowOf(cell) {
	try {
		new vm.Script(cell.text, { filename: cell.id });
	} catch (error) {
		const match = /^hotcell-cell-\d+:\d+\n([^]*?\n *\^+)\n/.exec(error.stack);
		if (match && error.message === cell.message)
			return match[1];
	}
	const lines = cell.text.trimEnd().split('\n');
	const { lineNumber, columnNumber } = cell.details;
	const isPast = lineNumber >= lines.length;
	const source = isPast ? lines.at(-1) : lines[lineNumber];
	if (isPast)
		return `${source}\n${source.replace(/[^\t]/g, ' ')}^`;
	return `${source}\n${source.slice(0, columnNumber).replace(/[^\t]/g, ' ')}^`;
}

/* As node's prompt says it. */
function explain(error, cell) {
	let text;
	if (util.types.isNativeError(error) && typeof error.stack === 'string') {
		if (isSyntaxError(error, cell)) {
			cell.message = error.message;
			error.stack = `${arrowOf(cell)}\n\n${error.name}: ${error.message}`;
		} else {
			error.stack = cleanStack(error.stack);
		}
		text = util.inspect(error, { showProxy: true });
		/* brackets stand for the frames that are not there */
		if (text.startsWith(`[${error.stack}]`))
			text = error.stack + text.slice(error.stack.length + 2);
	} else {
		text = util.inspect(error, { showProxy: true });
	}
	let isMatched = false;
	const lines = text.split(/(?<=\n)/).map((line) => {
		if (isMatched || !/^\[?([A-Z][a-z0-9_]*)*Error/.test(line))
			return line;
		isMatched = true;
		return line.replace(/ \{\n$/, '\n').length <= 80 ? `Uncaught ${line}` : `Uncaught:\n${line}`;
	});
	text = lines.join('');
	if (!isMatched)
		text = `Uncaught${lines.length === 1 ? ' ' : ':\n'}${text}`;
	return text.endsWith('\n') ? text : `${text}\n`;
}

/* What is told of it; looks at the stack, so before that is made shorter. */
function failure(error, cell) {
	if (error?.place)
		return { event: 'error', kind: 'syntax', name: 'SyntaxError', value: report.clip(error.message, 65536),
			...error.place, traceback: [frameOf(cell, error.place, '<main>')] };
	const told = report.failure(error, { path: '' });
	if (isSyntaxError(error, cell)) {
		const lines = cell.text.trimEnd().split('\n');
		const { lineNumber, columnNumber } = cell.details;
		const place = lineNumber < lines.length ? placeOf(cell, lineNumber + 1, columnNumber + 1) :
			placeOf(cell, lines.length, lines.at(-1).length + 1);
		return { ...told, kind: 'syntax', ...place, traceback: [frameOf(cell, place, '<main>')] };
	}
	if (told.kind === 'syntax')
		told.kind = 'runtime';
	const isError = error !== null && typeof error === 'object';
	const frames = isError && typeof error.stack === 'string' ? framesOf(error.stack) : [];
	const last = frames.at(-1);
	delete told.line;
	delete told.column;
	return { ...told, ...(last && { line: last.line, column: last.column }), traceback: frames.slice(-32) };
}

function frameOf(cell, { line, column }, name) {
	const source = cell?.code.split('\n')[line - 1];
	return { file: cell?.name ?? '<cell>', line, column, function: report.clip(name, 256),
		...(source !== undefined && { source: report.clip(source, 4096) }) };
}

module.exports = { open, run, names, explain, failure, compiles, unmodule, rename, wrap, strip: typescript && strip };
