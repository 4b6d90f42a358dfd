// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * The JavaScript runner: loaded with `node -r` before the program, so that node itself runs the
 * program, as it would without us, and no stack has a frame of ours in it.
 *
 * What is added: descriptor 3 is the channel, over which frames go to the supervisor. The value of
 * the last expression is caught by a few characters that capture.js puts after it, where neither
 * a line nor a column nor the meaning of anything changes; node receives that text when it reads
 * the program. Errors are told by a monitor that node offers for the purpose. Code that node
 * alone would refuse because it mixes `require` with a top-level `await`, or because its `import`
 * is in a file called .js (before 20.19), is run by ways of our own: see ways.js.
 *
 * This file is read at every start: what is not always needed lives in the files beside it.
 */

const CHANNEL = 3;
/* What was last found in other numbers than these, node takes for the kind of a directory. */
const EXACT = { bigint: true };

function start() {
	const fs = require('fs');
	const channel = openChannel(fs);
	const program = { path: process.argv[1], patch: null, tell: channel?.send, known: null, isRehearsal: false };
	const run = (given) => execute(fs, given, channel);
	if (channel)
		addFrames(channel, program);
	if (program.path === `${__dirname}/wait.js`)
		load('wait').wait(program, channel, run, load);
	else if (program.path)
		run(program);
}

/* Other files of the runner; they leave no trace in what node remembers of files. */
const loaded = new Map();

function load(name) {
	if (!loaded.has(name)) {
		const path = `${__dirname}/${name}.js`;
		loaded.set(name, require(path));
		forget(path);
	}
	return loaded.get(name);
}

function forget(path) {
	delete require.cache[path];
	delete require('module')._pathCache[`${path}\0`];
}

/* ---- the channel ------------------------------------------------------------------------ */

/*
 * Node marks every inherited descriptor close-on-exec as it starts, so no child meets the channel.
 * It cannot be moved to a higher number from here; before each frame its identity is checked.
 */
function openChannel(fs) {
	const { writeSync, fstatSync } = fs;
	let inode;
	try {
		const stat = fstatSync(CHANNEL, EXACT);
		if (!stat.isSocket())
			return null;
		inode = stat.ino;
	} catch {
		return null;
	}
	let isLost = false;
	let isMute = false;
	const write = (bytes, at, end) => {
		const count = writeSync(CHANNEL, bytes, at, isMute ? 0 : end - at);
		return isMute ? end - at : count;
	};
	return {
		/* In a rehearsal all is done but the saying. */
		mute(wanted) {
			isMute = wanted;
		},
		send(message) {
			if (isLost)
				return false;
			try {
				const stat = fstatSync(CHANNEL, EXACT);
				if (!stat.isSocket() || stat.ino !== inode)
					throw new Error('the channel is gone');
				load('report').send(message, write);
			} catch {
				isLost = true; /* half a frame may be out: nothing more can follow it */
			}
			return !isLost;
		},
	};
}

/* ---- what the program may use, and what is told of it ------------------------------------ */

function addFrames(channel, program) {
	const define = (target, name, value) => Object.defineProperty(target, name,
		{ value, writable: true, configurable: true, enumerable: target === console });

	/* display(value[, mime]) */
	define(globalThis, 'display', function display(value, mime) {
		channel.send({ event: 'display', data: load('report').display(value, mime), metadata: {} });
	});
	const { table, log } = console;
	define(console, 'table', function (...args) {
		const shown = load('report').table(args[0], args[1]);
		if (!shown)
			return table.apply(this, args);
		log.call(this, shown['text/plain']);
		channel.send({ event: 'display', data: shown, metadata: { printed: true } });
	});
	Object.defineProperty(console.table, 'name', { value: 'table' });

	process.on('uncaughtExceptionMonitor', (error) => {
		if (process.listenerCount('uncaughtException') > 0 ||
			process.hasUncaughtExceptionCaptureCallback())
			return;
		try {
			channel.send(load('report').failure(error, program));
		} catch { /* an error that cannot be looked at is still printed by node */ }
		try {
			load('report').mend(error, program);
		} catch { /* the line is then shown as it ran */ }
	});
}

/* ---- running ------------------------------------------------------------------------------ */

/*
 * Programs whose text holds none of these words are CommonJS, and their last statement cannot
 * have a value worth telling when it is a call of console.
 */
const MODULE_WORDS = /\b(?:import|export|await)\b/;
const NO_VALUE = /(?:^|[\n;])[ \t]*console\.\w+\([^\n;]*\)?;?\s*$|\}\s*$/;

/* Returns the path of a program that node is left to find, and to run in its own way. */
function execute(fs, program, channel) {
	let path;
	let text;
	try {
		text = readKnown(fs, program);
		path = program.path = text === null ? fs.realpathSync.native(program.path) : program.known;
		text ??= fs.readFileSync(path, 'utf8');
	} catch {
		return; /* node tells */
	}
	if (/\.[cm]?tsx?$/.test(path) && fs.existsSync(`${__dirname}/typescript.js`))
		return load('typescript').execute(program, (code, goal) =>
			channel && !NO_VALUE.test(code) ? capture({}, code, goal, channel) : code,
		load, feed.bind(null, fs));
	let goal = path.endsWith('.mjs') ? 'module' : 'script';
	if (goal === 'script' && !path.endsWith('.cjs') && MODULE_WORDS.test(text))
		goal = load('capture').goal(text);
	let fed = text;
	if (channel && !NO_VALUE.test(text))
		fed = capture(program, text, goal, channel);
	if (goal === 'async')
		load('ways').runAsync(path, fed);
	else if (goal === 'module' && path.endsWith('.js') && !load('capture').detectsModules())
		load('ways').runModule(path, fed);
	else
		return feed(fs, path, fed, goal);
}

/* Of a file in a directory that is known to be no link, and then is none itself. */
function readKnown(fs, { known }) {
	const { O_RDONLY, O_NOFOLLOW } = fs.constants;
	try {
		return known ? fs.readFileSync(known, { encoding: 'utf8', flag: O_RDONLY | O_NOFOLLOW }) : null;
	} catch {
		return null;
	}
}

/*
 * The text with the capture in it, and the place its value arrives at: a property that no program
 * has a name for, gone as soon as it was used.
 */
function capture(program, text, goal, channel) {
	const patch = load('capture').patch(text, goal);
	if (!patch)
		return text;
	program.patch = patch;
	const place = Object.getPrototypeOf(async () => {});
	Object.defineProperty(place, 'hotcell', {
		configurable: true,
		get() {
			delete place.hotcell;
			return { [Symbol.hasInstance]: (value) => tell(value, channel) };
		},
	});
	return patch.text;
}

function tell(value, channel) {
	if (value === undefined)
		return false;
	try {
		const data = load('report').result(value);
		if (data)
			channel.send({ event: 'result', data, metadata: {} });
	} catch { /* a value that cannot be shown */ }
	return false;
}

/*
 * Node reads the program by these functions, looked up at that moment: a script with its path, a
 * module with its URL. What it reads is then ours, and the functions are as they were.
 */
function feed(fs, path, text, goal) {
	const { readFileSync } = fs;
	const { readFile } = fs.promises;
	const isProgram = (file) => file === path || file.href === require('url').pathToFileURL(path).href;
	const restore = () => {
		fs.readFileSync = readFileSync;
		fs.promises.readFile = readFile;
	};
	const hand = (file, options) => {
		if (goal === 'script' || typeof file !== 'string')
			restore();
		return options === 'utf8' ? text : Buffer.from(text);
	};
	fs.readFileSync = function (file, options) {
		return isProgram(file) ? hand(file, options) : readFileSync.apply(this, arguments);
	};
	fs.promises.readFile = async function (file, options) {
		return isProgram(file) ? hand(file, options) : readFile.apply(this, arguments);
	};
	return path;
}

/* The program cannot tell that it was not the first; what it forks runs without us. */
process.execArgv.splice(0, process.execArgv.indexOf(__filename) + 1);
process._preload_modules.length = 0;
forget(__filename);
/* A worker thread loads what the main one did, but has no part in this. */
if (process.chdir.disabled !== true)
	start();
