// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * Started ahead of time: node stands where it would run a program, with everything loaded and
 * tried once (rehearse.js), and reads from the channel which one. From there on all is as after a
 * start with it; only the end is told, so that nobody has to wait until node has taken itself
 * apart.
 *
 * Node remembers what it has not found, and looks for a package.json where it is started: that is
 * therefore not the directory of the program, and nothing here looks into that one.
 */
const fs = require('fs');
const Module = require('module');
const path = require('path');

const CHANNEL = 3;
const FRAME_MAX = 8 << 20;

/* ---- the job ------------------------------------------------------------------------------ */

/* Reads one frame, which most often comes in one piece; null when nobody will send one any more. */
const first = Buffer.alloc(64 << 10);

function receive(readSync) {
	let bytes = first;
	let length = 0;
	const readTo = (wanted) => {
		while (length < wanted) {
			const count = readSync(CHANNEL, bytes, length, bytes.length - length);
			if (count === 0)
				return false;
			length += count;
		}
		return true;
	};
	if (!readTo(4))
		return null;
	const size = 4 + bytes.readUInt32BE();
	if (size > FRAME_MAX)
		return null;
	if (size > bytes.length) {
		bytes = Buffer.alloc(size);
		first.copy(bytes, 0, 0, length);
	}
	return readTo(size) ? JSON.parse(bytes.utf8Slice(4, size)).run : null;
}

/* Takes over argv, environment and directory; they become what they would be after a start. */
const now = { /* what a job is compared with */
	cwd: process.cwd(),
	env: Object.entries(process.env).map((pair) => pair.join('=')),
};

function adopt({ argv, env, cwd }) {
	if (cwd !== now.cwd)
		process.chdir(cwd);
	if (env.length !== now.env.length || env.some((item, i) => item !== now.env[i])) {
		for (const name of Object.keys(process.env))
			delete process.env[name];
		for (const item of env) {
			const at = item.indexOf('=');
			process.env[item.slice(0, at)] = item.slice(at + 1);
		}
	}
	Object.assign(now, { cwd, env });
	process.argv.length = 1;
	process.argv.push(path.resolve(cwd, argv[0]), ...argv.slice(1));
}

/* Where the program will be, most probably. */
function goHome() {
	try {
		process.chdir(process.env.HOME);
		now.cwd = process.env.HOME;
	} catch { /* the job says where */ }
}

/* ---- the end ------------------------------------------------------------------------------ */

/*
 * The last frame. Then nothing happens any more until the supervisor has ended the cell. What
 * node or an addon would still do while it leaves must not be missed: such a program leaves by
 * itself.
 */
const LEAVES_BY_ITSELF = ['NativeModule trace_events', 'NativeModule sqlite'];
const { moduleLoadList, reallyExit } = process;
const { _cache } = Module;

function announce(code, { done, send, readSync }) {
	if (LEAVES_BY_ITSELF.some((name) => moduleLoadList.includes(name)))
		return;
	for (const file in _cache) {
		if (file.endsWith('.node'))
			return;
	}
	if (!send(done(code & 0xff)))
		return;
	try {
		while (readSync(CHANNEL, Buffer.alloc(1)) > 0);
	} catch { /* it is gone */ }
}

function watchEnd(stage) {
	const { emit } = process;
	process.reallyExit = function (code) {
		announce(code, stage.now);
		return reallyExit.apply(process, arguments);
	};
	Object.defineProperty(process.reallyExit, 'name', { value: 'reallyExit' });
	/* A program that has nothing left to do ends here, if nobody else wants to have a word. */
	process.on('beforeExit', () => {
		if (process.listenerCount('exit') === 0 && process.listenerCount('beforeExit') === 1 && process.emit === emit)
			announce(process.exitCode ?? 0, stage.now);
	});
}

/* ---- waiting ------------------------------------------------------------------------------- */

/*
 * Node has made up its mind to run what it was started with. At the last moment, when it asks how,
 * the job is awaited and node given the program instead.
 */
function redirect(stage, execute) {
	const { runMain } = Module;
	const define = (how) => Object.defineProperty(Module, 'runMain',
		{ configurable: true, enumerable: true, ...how });
	const begin = () => {
		define({ value: runMain, writable: true });
		const { program, send, readSync } = stage.now;
		const job = receive(readSync);
		if (!job)
			return reallyExit(1);
		adopt(job);
		program.path = process.argv[1];
		execute(program, { send });
		/^/.exec(''); /* as node leaves it before a program */
		return Module.runMain === runMain ? runMain.bind(Module, process.argv[1]) : Module.runMain;
	};
	return () => define({ get: begin });
}

function wait(program, channel, execute, load) {
	if (!channel)
		return reallyExit(1);
	const { pack } = load('report');
	const ended = pack({ event: 'done', exit_code: 0 });
	const done = (code) => code === 0 ? ended : pack({ event: 'done', exit_code: code });
	const stage = { now: null };
	const arm = redirect(stage, execute);
	watchEnd(stage);
	const enter = (part) => {
		stage.now = { ...part, done };
	};
	load('rehearse').rehearse(load, arm, enter);
	goHome();
	enter({ program, send: channel.send, readSync: fs.readSync });
	arm();
}

module.exports = { wait };
