// SPDX-License-Identifier: Apache-2.0
'use strict';
/* What is asked of a session beside running code: completions, what a name is, whether code is whole. */
const util = require('util');
const vm = require('vm');
const cells = require('./cells');
const prompt = require('./prompt');
const { scan } = require('./capture');

const MATCHES_MAX = 500;
const TEXT_MAX = 64 << 10;
const TIMEOUT_MS = 2000;

/* Positions are told in characters, strings count UTF-16 units. */
const unitsOf = (text, characters) => [...text].slice(0, characters).join('').length;
const charactersOf = (text, units) => [...text.slice(0, units)].length;

async function complete({ code, cursor }) {
	const before = code.slice(0, unitsOf(code, cursor));
	const line = before.slice(before.lastIndexOf('\n') + 1);
	const [found, on] = prompt.complete(line, await cells.names());
	return { event: 'completions', matches: found.slice(0, MATCHES_MAX),
		start: charactersOf(before, before.length - on.length), end: charactersOf(before, before.length) };
}

/* A name or a chain of them; nothing else is evaluated. */
const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\??\.[\p{ID_Start}$_][\p{ID_Continue}$]*|\[\d+\])*$/u;

function describe(value, detail) {
	if (typeof value !== 'function')
		return `${typeName(value)}\n${util.inspect(value, { depth: detail ? 4 : 1, maxArrayLength: detail ? 100 : 10, showProxy: true })}`;
	const source = Function.prototype.toString.call(value);
	if (/^class\b/.test(source))
		return detail ? source : source.slice(0, source.indexOf('{')).trim();
	if (detail)
		return source;
	const body = source.search(/\)\s*(?:=>|\{)|=>/);
	return `${body < 0 ? source.split('\n')[0] : source.slice(0, source[body] === ')' ? body + 1 : body).trim()}`;
}

const typeName = (value) => value === null ? 'null' : typeof value !== 'object' ? typeof value :
	value.constructor?.name ?? 'object';

const valueOf = (name) => new vm.Script(name).runInThisContext({ timeout: TIMEOUT_MS });

/* ---- what was given a name ----------------------------------------------------------------------- */

let known = new Set(); /* globals that are no code's own */

function open() {
	known = new Set(Object.getOwnPropertyNames(globalThis));
}

function kindOf(name) {
	try {
		const value = valueOf(name);
		return /^class\b/.test(typeof value === 'function' ? String(value) : '') ? 'class' : typeName(value);
	} catch {
		return 'undefined';
	}
}

async function listNames() {
	const globals = Object.getOwnPropertyNames(globalThis).filter((name) => !known.has(name) && NAME.test(name));
	const names = [...new Set([...await cells.names(), ...globals])].filter((name) => name !== '$mport').sort();
	const width = Math.max(...names.map((name) => name.length), 0);
	return names.map((name) => `${name.padEnd(width)}  ${kindOf(name)}`).join('\n') || 'no names yet';
}

async function inspect({ name, detail }) {
	let text = null;
	if (!name)
		text = (await listNames()).slice(0, TEXT_MAX);
	else if (NAME.test(name)) {
		try {
			text = describe(valueOf(name), detail).slice(0, TEXT_MAX);
		} catch { /* there is no such thing */ }
	}
	return { event: 'inspection', text };
}

/* What V8 says about code that only lacks its rest. */
const UNFINISHED = /Unexpected end of input|Unterminated template literal|missing \) after argument list|Unterminated regular/;

function stateOf(code) {
	let text = code;
	if (cells.strip) {
		try {
			text = cells.strip(code).text;
		} catch (error) {
			return error.isAtEnd || isOpen(code) ? 'incomplete' : 'invalid';
		}
	}
	text = cells.rename(cells.wrap(cells.unmodule(text)));
	if (cells.compiles(text) || cells.compiles(`(async()=>{${text}\n})`))
		return 'complete';
	if (isOpen(code))
		return 'incomplete';
	try {
		new vm.Script(text);
	} catch (error) {
		return UNFINISHED.test(error.message) && isAtEnd(error, text) ? 'incomplete' : 'invalid';
	}
	return 'complete';
}

function isAtEnd(error, text) {
	const line = Number(/:(\d+)\n/.exec(error.stack)?.[1]);
	return !line || line >= text.trimEnd().split('\n').length;
}

/* A bracket, a template or a comment that nothing closes. */
function isOpen(code) {
	let depth = 0;
	scan(code, ({ kind, text }) => {
		if (kind === 'bracket')
			depth++;
		else if (kind === 'close')
			depth--;
	});
	const comment = code.lastIndexOf('/*');
	return depth > 0 || (comment >= 0 && code.indexOf('*/', comment) < 0 && !cells.compiles(code)) ||
		/\\\s*$/.test(code);
}

function isComplete({ code }) {
	const state = stateOf(code);
	return { event: 'completeness', state, indent: state === 'incomplete' ? '  ' : '' };
}

/* The answer when there is none. */
function nothing(kind, { cursor, code }) {
	if (kind === 'complete')
		return { event: 'completions', matches: [], start: cursor ?? 0, end: cursor ?? 0 };
	if (kind === 'inspect')
		return { event: 'inspection', text: null };
	return { event: 'completeness', state: code ? 'invalid' : 'complete', indent: '' };
}

module.exports = { open, complete, inspect, is_complete: isComplete, nothing };
