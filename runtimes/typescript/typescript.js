// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * TypeScript on node: esbuild takes the types out, inside the cell, and node runs what is left as
 * CommonJS under the file's own name. Types are not checked.
 *
 * The program and the files it imports by a relative name are given to one run of esbuild; a file
 * that was not foreseen gets a run of its own. Each file is handed to node at the moment node
 * reads it, as for JavaScript, with its source map inside, so node itself tells the positions of
 * the source in stacks and reports. An `await` at the top level, for which CommonJS has no place,
 * is run in an async function around the program.
 *
 * Where an esbuild stands ready (servant.js), the program is given to that one. What it complains of
 * is found once more by one that is started: its words are what people know.
 */
const fs = require('fs');
const Module = require('module');
const path = require('path');

const ESBUILD = '/usr/bin/esbuild';
const ENDINGS = ['.ts', '.tsx', '.mts', '.cts'];
const FILES_MAX = 256;
const OUTPUT_MAX = 64 << 20;
const NOWHERE = '/hotcell-nowhere'; /* for files that are never written */
const isTypescript = (file) => ENDINGS.includes(path.extname(file)) && !file.endsWith('.d.ts');

/* The first line of what esbuild writes is kept free for us. */
const FIRST_LINE = '//\n';
const META_URL = 'import_meta_url';
const NO_AWAIT = /Top-level await is (?:currently )?not supported with the "cjs" output format/;
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(["'])(\.[^"'\n]*)\1/g;
const MAP = /\n\/\/# sourceMappingURL=[^\n]*\s*$/;

/* ---- esbuild ----------------------------------------------------------------------------- */

let servant = null; /* servant.js, where there is one */

function employ(given) {
	servant = given;
}

function flagsFor(format, more = []) {
	const [major, minor] = process.versions.node.split('.');
	return [`--format=${format}`, '--platform=node',
		`--target=node${major}.${minor}`, '--sourcemap=inline', '--charset=utf8',
		`--banner:js=${FIRST_LINE.trim()}`, `--define:import.meta.url=${META_URL}`,
		'--define:import.meta.filename=__filename', '--define:import.meta.dirname=__dirname',
		'--log-limit=1', '--color=false', ...more];
}

function esbuild(files, format, more) {
	const { spawnSync } = require('child_process');
	servant?.dismiss(); /* one at a time */
	const ran = spawnSync(ESBUILD, [...files, ...flagsFor(format, more), '--log-level=error'],
		{ encoding: 'utf8', maxBuffer: OUTPUT_MAX, stdio: ['ignore', 'pipe', 'pipe'] });
	if (ran.error)
		throw ran.error;
	if (ran.status !== 0)
		throw complaint(ran.stderr);
	return ran.stdout;
}

/* From who stands ready: text by path, or null. Throws the one complaint that is no end. */
function askServant(files, format, more) {
	const { texts, error } = servant?.build(files, flagsFor(format, more)) ?? {};
	if (error && NO_AWAIT.test(error.text) && error.location)
		throw { message: error.text, file: path.resolve(error.location.file) };
	return texts?.size === files.length && !error ? texts : null;
}

/* What esbuild complains of: text, and the place when it names one. */
function complaint(text) {
	const match = /^✘ \[ERROR\] ([^]*?)\n(?:\n +(.+):(\d+):(\d+):\n)?/m.exec(text);
	if (!match)
		return { message: text.trim() || 'esbuild failed' };
	const [, message, file, line, column] = match;
	const found = { message };
	if (file) {
		/* Its columns count bytes, from 0. */
		const source = fs.readFileSync(file, 'utf8').split('\n')[line - 1] ?? '';
		Object.assign(found, { file: path.resolve(file), line: Number(line), source,
			column: Buffer.from(source).subarray(0, Number(column)).toString().length + 1 });
	}
	return found;
}

/* The files a program consists of, as far as relative imports tell; itself first. */
function reach(program) {
	const found = [program];
	for (let i = 0; i < found.length && found.length < FILES_MAX; i++) {
		let text;
		try {
			text = fs.readFileSync(found[i], 'utf8');
		} catch {
			continue;
		}
		for (const [, , name] of text.matchAll(IMPORT)) {
			const file = findSource(path.resolve(path.dirname(found[i]), name));
			if (file && !found.includes(file))
				found.push(file);
		}
	}
	return found;
}

/* './a' may be a.ts or a/index.ts, and './a.js' is how TypeScript calls a.ts. */
function findSource(base) {
	const bare = base.replace(/\.([cm]?)js(x?)$/, '');
	const tries = [base, ...ENDINGS.map((ending) => base + ending),
		...(bare === base ? [] : ENDINGS.map((ending) => bare + ending)),
		...ENDINGS.map((ending) => path.join(base, `index${ending}`))];
	return tries.find((file) => isTypescript(file) && isFile(file));
}

function isFile(file) {
	try {
		return fs.statSync(file).isFile();
	} catch {
		return false;
	}
}

/* JavaScript by file; throws a complaint. */
function transpile(files) {
	if (files.length === 1) {
		const text = askServant(files, 'cjs')?.values().next().value ?? esbuild(files, 'cjs');
		return new Map([[files[0], finish(text, files[0], process.cwd())]]);
	}
	const flags = (out) => [`--outdir=${out}`, `--outbase=${path.parse(files[0]).root}`, '--out-extension:.js=.js'];
	const made = (out, read) => new Map(files.map((file) =>
		[file, finish(read(`${out}${file.replace(/\.[^.]+$/, '.js')}`), file, out)]));
	const texts = askServant(files, 'cjs', flags(NOWHERE));
	if (texts)
		return made(NOWHERE, (name) => texts.get(name));
	const out = fs.mkdtempSync(path.join(require('os').tmpdir(), 'hotcell-'));
	try {
		esbuild(files, 'cjs', flags(out));
		return made(out, (name) => fs.readFileSync(name, 'utf8'));
	} finally {
		fs.rmSync(out, { recursive: true, force: true });
	}
}

/* ---- the text that runs -------------------------------------------------------------------- */

/* The source in the source map has the name of the text itself; esbuild knows it by its own place. */
function finish(text, file, from) {
	const first = text.includes(META_URL) ?
		`const ${META_URL} = require("url").pathToFileURL(__filename).href;\n` : FIRST_LINE;
	const rest = text.slice(FIRST_LINE.length);
	return first + (path.dirname(file) === from ? rest :
		rest.replace(MAP, (line) => renameSource(line, file)));
}

function renameSource(line, file) {
	const [head, data] = line.trimEnd().split(';base64,');
	const map = JSON.parse(Buffer.from(data, 'base64'));
	map.sources = [path.basename(file)];
	return `${head};base64,${Buffer.from(JSON.stringify(map)).toString('base64')}\n`;
}

/* The text without its source map, handed to `change`, and both together again. */
function aroundMap(text, change) {
	const map = MAP.exec(text)?.[0] ?? '';
	return change(text.slice(0, text.length - map.length)) + map;
}

const ANNOTATION = /\n\/\/ Annotate the CommonJS export names for ESM import in node:\n[^]*$/;

function captureIn(text, capture) {
	return aroundMap(text, (code) => {
		const rest = ANNOTATION.exec(code)?.[0] ?? '';
		return `${capture(code.slice(0, code.length - rest.length), 'script')}\n;${rest}`;
	});
}

/*
 * The program as an async function: made as a module, its imports then taken with require, as
 * they are in every other file.
 */
function makeAsync(file, capture, load) {
	const text = askServant([file], 'esm')?.values().next().value ?? esbuild([file], 'esm');
	return aroundMap(finish(text, file, process.cwd()), (code) => {
		const { scan, maskModule } = load('capture');
		const first = code.indexOf('\n') + 1;
		const body = requireImports(code.slice(first), scan, maskModule);
		return `(async () => {${code.slice(0, first).replace(/^\/\/\n/, '\n')}${capture(body, 'async')}\n})();`;
	});
}

/* import main, * as space, { names } from "name" */
const STATEMENT = new RegExp(/^import\s*(?:([\w$]+)\s*,?\s*)?(?:\*\s*as\s+([\w$]+)\s*)?/.source +
	/(?:(\{[^}]*\})\s*)?(?:from\s*)?(["'][^\n]*?["'])/.source);

function requireImports(code, scan, maskModule) {
	const tokens = scan(code) ?? [];
	const { masked } = maskModule(code, tokens);
	let made = '';
	let from = 0;
	tokens.forEach((token, i) => {
		if (token.text !== 'import' || ['(', '.'].includes(tokens[i + 1]?.text) || token.start < from)
			return;
		const statement = STATEMENT.exec(code.slice(token.start));
		if (!statement)
			return;
		const [all, main, space, names, name] = statement;
		const parts = [
			main && `${main} = ((m) => m?.__esModule ? m.default : m)(require(${name}))`,
			space && `${space} = ((m) => m?.__esModule ? m : { ...m, default: m })(require(${name}))`,
			names && `${names.replace(/\bas\b/g, ':').replace(/"([^"]*)"/g, '["$1"]')} = require(${name})`,
		].filter(Boolean);
		made += masked.slice(from, token.start) + (parts.length ? `const ${parts.join(', ')}` : `require(${name})`);
		from = token.start + all.length;
	});
	return made + masked.slice(from);
}

/* ---- sessions --------------------------------------------------------------------------------- */

/* An import that this cell does not use may be for the next one. */
const KEEPS_IMPORTS = '{"compilerOptions":{"importsNotUsedAsValues":"preserve","preserveValueImports":true}}';

/* The code of a cell without its types, and where its parts came from; throws a SyntaxError. */
function strip(code) {
	const { spawnSync } = require('child_process');
	const [major, minor] = process.versions.node.split('.');
	const ran = spawnSync(ESBUILD, ['--loader=ts', `--target=node${major}.${minor}`, '--sourcemap=inline', '--charset=utf8',
		`--tsconfig-raw=${KEEPS_IMPORTS}`, '--log-level=error', '--log-limit=1', '--color=false'],
	{ input: code, encoding: 'utf8', maxBuffer: OUTPUT_MAX });
	if (ran.error)
		throw ran.error;
	if (ran.status !== 0)
		throw syntaxError(code, ran.stderr);
	const map = MAP.exec(ran.stdout)?.[0] ?? '';
	const data = map.trim().split(';base64,')[1];
	return { text: ran.stdout.slice(0, ran.stdout.length - map.length),
		map: data ? new Module.SourceMap(JSON.parse(Buffer.from(data, 'base64'))) : null };
}

function syntaxError(code, said) {
	const [, message, line, column] = /^✘ \[ERROR\] ([^]*?)\n(?:\n +.+:(\d+):(\d+):\n)?/m.exec(said) ?? [null, said.trim()];
	const error = new SyntaxError(message);
	if (!line)
		return error;
	const source = code.split('\n')[line - 1] ?? '';
	const place = { line: Number(line), column: Buffer.from(source).subarray(0, Number(column)).toString().length + 1 };
	const blank = source.slice(0, place.column - 1).replace(/[^\t]/g, ' ');
	error.stack = `${source}\n${blank}^\n\nSyntaxError: ${message}`;
	return Object.defineProperties(error, { place: { value: place }, code: { value: undefined },
		isAtEnd: { value: place.line >= code.trimEnd().split('\n').length && place.column > source.trimEnd().length } });
}

/* Files that a session requires may be TypeScript, too. */
function hook() {
	process.setSourceMapsEnabled(true);
	for (const ending of ENDINGS)
		Module._extensions[ending] = (module, file) => module._compile(transpile([file]).get(file), file);
}

/* ---- running --------------------------------------------------------------------------------- */

function execute(program, capture, load, feed) {
	const main = program.path;
	const texts = new Map();
	process.setSourceMapsEnabled(true);

	/* A file in the words of node, as soon as it is known to be the next that node reads. */
	const prepare = (file) => {
		if (!texts.has(file)) {
			for (const [name, text] of transpile(file === main ? reach(file) : [file]))
				texts.set(name, text);
		}
		return texts.get(file);
	};
	const prepareMain = () => {
		try {
			return findMain();
		} finally {
			if (!program.isRehearsal)
				servant?.dismiss();
		}
	};
	const findMain = () => {
		try {
			const text = prepare(main);
			if (!program.isRehearsal)
				servant?.strike(); /* it leaves while we are at work */
			return captureIn(text, capture);
		} catch (error) {
			if (!NO_AWAIT.test(error.message) || error.file !== main)
				throw error;
		}
		const rest = reach(main).slice(1);
		if (rest.length > 0)
			for (const [name, text] of transpile(rest))
				texts.set(name, text);
		return makeAsync(main, capture, load);
	};

	for (const ending of ENDINGS)
		Module._extensions[ending] = Module._extensions['.js'];
	/* Where node looks for a file; that it found none is node's own to say. */
	const { _findPath } = Module;
	Module._findPath = function (name, paths, isMain) {
		const found = _findPath.call(this, name, paths, isMain);
		const file = found || (/^\.{0,2}\//.test(name) && findSource(path.resolve(paths?.[0] || '/', name)));
		if (file && isTypescript(file) && !Module._cache[file]) {
			try {
				feed(file, file === main ? prepareMain() : prepare(file), 'script');
			} catch (error) {
				refuse(error, load, program);
			}
		}
		return file || false;
	};
	/* Bound, so that no frame of ours is below the program's. */
	Module.runMain = Module._load.bind(Module, main, null, true);
}

/* Code that esbuild cannot read does not run at all: say so as node does. */
function refuse(error, load, program) {
	const { message, file, line, column, source } = error;
	const { frame } = load('report');
	const isOurs = typeof message !== 'string' || error instanceof Error;
	const remedy = error.code === 'ENOENT' ? ' (apt-get install esbuild)' : '';
	const text = isOurs ? `cannot run ${ESBUILD}: ${error.message}${remedy}` : message;
	const blank = (source ?? '').slice(0, column - 1).replace(/[^\t]/g, ' ');
	const place = file ? `${file}:${line}:${column}\n${source}\n${blank}^\n\n` : '';
	fs.writeSync(2, `${place}${isOurs ? 'Error' : 'SyntaxError'}: ${text}\n\nNode.js ${process.version}\n`);
	program.tell?.({ event: 'error', kind: isOurs ? 'runtime' : 'syntax',
		name: isOurs ? 'Error' : 'SyntaxError', value: text, ...(file && { line, column }),
		traceback: file ? [frame(file, line, column, '<main>')] : [] });
	process.reallyExit(1);
}

module.exports = { employ, execute, strip, hook, findSource };
