// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * What node's prompt has besides the language: require and module, node's own modules by their
 * names, _ and _error; and what can be typed next. Node's own prompt is not used for it: it follows
 * every promise, and node aborts when code that is followed is ended by an interrupt.
 */
const Module = require('module');
const vm = require('vm');

const TIMEOUT_MS = 1000;

/* ---- names ----------------------------------------------------------------------------------------- */

function define(name, how) {
	Object.defineProperty(globalThis, name, { configurable: true, enumerable: false, ...how });
}

/* A module that is nowhere looks from the working directory. */
function addRequire() {
	const module = new Module('<repl>');
	module.paths = Module._nodeModulePaths(process.cwd());
	const require = function require(name) {
		return module.require(name);
	};
	require.resolve = (name, options) => Module._resolveFilename(name, module, false, options);
	require.resolve.paths = (name) => Module._resolveLookupPaths(name, module);
	require.main = undefined;
	require.extensions = Module._extensions;
	require.cache = Module._cache;
	define('module', { value: module, writable: true });
	define('exports', { value: module.exports, writable: true });
	define('require', { value: require, writable: true });
}

/* Loaded when they are first spoken of. */
function addModules() {
	for (const name of Module.builtinModules.filter((id) => !/^_|\//.test(id) && !(id in globalThis))) {
		const set = (value) => define(name, { value, writable: true, enumerable: true });
		define(name, { set, get() {
			const value = require(name);
			set(value);
			return value;
		} });
	}
}

/* A value of before, until the code has a name like that of its own. */
function addLast(name) {
	let last;
	let isOurs = true;
	define(name, { get: () => last, set(value) {
		isOurs = false;
		last = value;
	} });
	return (value) => {
		if (isOurs)
			last = value;
	};
}

function open() {
	addRequire();
	addModules();
	return { setLast: addLast('_'), setLastError: addLast('_error') };
}

/* ---- completion --------------------------------------------------------------------------------------- */

const WORD = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*`;
const MEMBER = new RegExp(String.raw`(?<![\p{ID_Continue}$.'"\x60)\]])((?:${WORD}|"[^"]*"|'[^']*')` +
	String.raw`(?:\??\.${WORD}|\[\d+\])*)(\??\.)(${WORD})?$`, 'u');
const NAME = new RegExp(String.raw`(?<![\p{ID_Continue}$.'"\x60])(${WORD})?$`, 'u');
const REQUIRE = /\b(?:require|import)\s*\(\s*(["'])([^"']*)$|\bfrom\s+(["'])([^"']*)$/;
const isName = (text) => new RegExp(`^${WORD}$`, 'u').test(text);
const KEYWORDS = ('async await break case catch class const continue debugger default delete do else export ' +
	'extends false finally for function if import in instanceof let new null return static super switch this ' +
	'throw true try typeof var void while with yield').split(' ');

function namesOf(value) {
	const names = new Set();
	for (let object = Object(value); object; object = Object.getPrototypeOf(object)) {
		if (object === Object.prototype && names.size > 0 && typeof value === 'object')
			break; /* of every object: last, if at all */
		for (const name of Object.getOwnPropertyNames(object))
			if (isName(name))
				names.add(name);
	}
	return [...names];
}

/* [matches, the text they stand for] */
function complete(text, lexicalNames) {
	const path = REQUIRE.exec(text);
	if (path) {
		const begun = path[2] ?? path[4];
		return [Module.builtinModules.filter((name) => name.startsWith(begun)), begun];
	}
	const member = MEMBER.exec(text);
	if (member) {
		const [whole, object, dot, begun = ''] = member;
		const value = new vm.Script(object).runInThisContext({ timeout: TIMEOUT_MS });
		if (value === null || value === undefined)
			return [[], begun];
		const names = namesOf(value).filter((name) => name.startsWith(begun));
		return [names.map((name) => object + dot + name), whole];
	}
	const begun = NAME.exec(text)?.[1] ?? '';
	if (!begun && /\S$/.test(text) && !/[([{,;=!&|?:+\-*/%<>]$/.test(text))
		return [[], ''];
	const names = [...lexicalNames, ...namesOf(globalThis), ...KEYWORDS, 'undefined', 'NaN', 'Infinity'];
	return [[...new Set(names)].filter((name) => name.startsWith(begun) && name !== '$mport').sort(), begun];
}

module.exports = { open, complete };
