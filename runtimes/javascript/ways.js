// SPDX-License-Identifier: Apache-2.0
'use strict';
/* Ways to run what node alone would not: see runner.js. Neither leaves a frame in a stack. */
const Module = require('module');
const { pathToFileURL } = require('url');

const UNFINISHED = 13; /* node's exit status when a top-level await is never over */

/* Gives the program's promise to `begin`; a rejection of it ends the process as node has it. */
function main(begin) {
	const { runMain } = Module;
	Module.runMain = function () {
		Module.runMain = runMain;
		const unfinished = () => {
			process.exitCode ??= UNFINISHED;
		};
		process.on('exit', unfinished);
		begin().then(() => process.off('exit', unfinished));
	};
}

/* CommonJS with await: the function that node makes of a script, only async. */
function runAsync(path, text) {
	const vm = require('vm');
	const loader = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
	if (!loader) /* before 20.12 a script of ours cannot import: a parameter does, as long a word */
		text = text.replace(/(?<![\w$.'"`])import(?=\s*\()/g, '$mport');
	const module = new Module(path, null);
	module.id = '.';
	module.filename = path;
	module.paths = Module._nodeModulePaths(require('path').dirname(path));
	main(() => {
		process.mainModule = module;
		Module._cache[path] = module;
		/* The first line is ours and is not counted. */
		const script = new vm.Script('(async function (exports, require, module, __filename, __dirname' +
			`${loader ? '' : ', $mport'}) {\n${text.replace(/^#!/, '//')}\n})`,
		{ filename: path, lineOffset: -1, ...(loader && { importModuleDynamically: loader }) });
		const body = script.runInThisContext().bind(module.exports, module.exports, Module.createRequire(path),
			module, path, require('path').dirname(path), ...(loader ? [] : [importFrom.bind(null, path)]));
		return Promise.resolve().then(body).then(() => {
			module.loaded = true;
		});
	});
}

function importFrom(path, name) {
	if (/^\.{0,2}\//.test(name))
		return import(new URL(name, pathToFileURL(path)).href);
	if (Module.isBuiltin(name) || /^[\w+.-]+:/.test(name))
		return import(name);
	return import(pathToFileURL(Module.createRequire(path).resolve(name)).href);
}

/* A module in a file called .js, before node could tell: the loader is told by hooks.mjs. */
function runModule(path, text) {
	if (!Module.register)
		return; /* node then says what it does not like */
	const url = pathToFileURL(path).href;
	Module.register(pathToFileURL(`${__dirname}/hooks.mjs`).href, { data: { url, text } });
	main(() => import(url));
}

module.exports = { runAsync, runModule };
