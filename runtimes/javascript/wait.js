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

/*
 * Most jobs are alike. The one that is most probable is taken over before it comes, and when it
 * comes as it was foreseen, byte by byte, it is not even read.
 */
const foreseen = { job: null, frame: null, path: null };

function foresee(job, pack) {
	adopt(job);
	foreseen.job = job;
	foreseen.frame = pack({ run: job });
	foreseen.path = path.resolve(process.cwd(), job.argv[0]);
}

/*
 * Reads one frame, which most often comes in one piece; null when nobody will send one any more. An
 * empty one before it only wakes us up, so that we are here when the job comes.
 */
const first = Buffer.alloc(64 << 10);

function receive(readSync) {
	let bytes = first;
	let length = readSync(CHANNEL, bytes, 0, bytes.length);
	while (length >= 4 && bytes.readUInt32BE() === 0) {
		bytes.copyWithin(0, 4, length);
		length -= 4;
		if (length === 0)
			length = readSync(CHANNEL, bytes, 0, bytes.length);
	}
	if (length === foreseen.frame.length && foreseen.frame.compare(bytes, 0, length) === 0)
		return foreseen.job;
	const readTo = (wanted) => {
		while (length < wanted) {
			const count = readSync(CHANNEL, bytes, length, bytes.length - length);
			if (count === 0)
				return false;
			length += count;
		}
		return true;
	};
	if (length === 0 || !readTo(4))
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
	env: environment(),
};

function environment() {
	return Object.entries(process.env).map((pair) => pair.join('='));
}

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
		const { program, readSync } = stage.now;
		const job = receive(readSync);
		if (!job)
			return reallyExit(1);
		if (job === foreseen.job)
			program.known = foreseen.path;
		else
			adopt(job);
		const given = program.path = process.argv[1];
		if (stage.servant && !program.isRehearsal && !/\.[cm]?tsx?$/.test(given))
			stage.servant.dismiss(); /* it is of no use */
		const found = execute(program);
		if (found)
			show(given, found);
		/^/.exec(''); /* as node leaves it before a program */
		return Module.runMain === runMain ? runMain.bind(Module, given) : Module.runMain;
	};
	return () => define({ get: begin });
}

/* Node would look for the program and follow its links, as was just done. */
function show(given, found) {
	const { realpathSync } = fs;
	Module._pathCache[`${given}\0`] = found;
	fs.realpathSync = function (file) {
		fs.realpathSync = realpathSync;
		return file === found ? found : realpathSync.apply(this, arguments);
	};
}

/* An esbuild that was started with us: see servant.js. */
function employ(pid, load) {
	const servant = load('servant');
	servant.enlist(pid);
	load('typescript').employ(servant);
	return servant;
}

function wait(program, channel, execute, load) {
	if (!channel)
		return reallyExit(1);
	const { pack } = load('report');
	const ended = pack({ event: 'done', exit_code: 0 });
	const done = (code) => code === 0 ? ended : pack({ event: 'done', exit_code: code });
	const stage = { now: null, servant: null };
	const arm = redirect(stage, execute);
	const [, , name, pid] = process.argv;
	if (pid)
		stage.servant = employ(Number(pid), load);
	watchEnd(stage);
	const enter = ({ program: own, readSync }) => {
		stage.now = { program: own, readSync, send: channel.send, done };
	};
	channel.mute(true);
	load('rehearse').rehearse(load, { arm, enter, foresee, tell: channel.send });
	channel.mute(false);
	foreseeHome(name, pack);
	enter({ program, readSync: fs.readSync });
	arm();
	channel.send({ event: 'status', state: 'waiting' });
}

/* A program of the usual name, at home. */
function foreseeHome(name, pack) {
	try {
		foresee({ argv: [name], env: now.env, cwd: process.env.HOME }, pack);
	} catch { /* there is none: the job says where */ }
}

module.exports = { wait };
