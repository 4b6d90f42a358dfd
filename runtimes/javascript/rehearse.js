// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * The rehearsal of a run, while nobody waits: node compiles a function when it is first called, so
 * all that lies between a job and its end is called before there is a job. Everything happens as
 * it will happen then, in the same order, or V8 would have to think again at the worst moment.
 * What a rehearsal says goes nowhere, and what it leaves behind is taken away.
 */
const fs = require('fs');
const Module = require('module');
const v8 = require('v8');

/*
 * A program's end waits for V8's threads, so its time must not be the one in which V8 begins to optimize
 * something of node's. What node calls most is hot at the twelfth plain script or so, and the reader of
 * source maps at the third program with types: before, and never.
 */
const ROUNDS = 5;
const TYPED_ROUNDS = 1;
const ROUNDS_AFTER = 2; /* the collector empties V8's caches, too */
const TYPED_AFTER = 1;
const SETTLE_MS = 5;
const PLACE = `${__dirname}/rehearsal`;
const SHORT = ['0', 'a + 1', 'a = 1', 'f(1);']; /* programs that end without the end of a line */
const STREAMS = { stdout: 1, stderr: 2 };

function rehearse(load, stage) {
	const streams = Object.keys(STREAMS).filter(isPipe).map(openStream);
	const perform = (rounds, ...names) => {
		for (let i = 0; i < rounds; i++)
			for (const name of names)
				run(name, load('report').pack, stage, streams);
	};
	/* A module runs but once, and only where its promises can be carried on from here. */
	if (process._tickCallback) {
		perform(1, 'module.mjs', 'async.js');
		if (load('capture').detectsModules())
			perform(1, 'detected.js');
	}
	const typed = fs.existsSync(`${__dirname}/typescript.js`) ? ['typed.ts'] : [];
	perform(ROUNDS, 'script.js', 'line.js');
	perform(TYPED_ROUNDS, ...typed);
	SHORT.forEach((text) => load('capture').patch(text, 'script'));
	load('report').failure(new Error('rehearsed'), { path: __filename });
	const sweep = collector();
	sweep();
	perform(TYPED_AFTER, ...typed);
	perform(ROUNDS_AFTER, 'script.js', 'line.js');
	settle();
	sweep({ type: 'minor' });
	/*
	 * V8 begins to learn of a function only when that was called some times, but here each is shown just a
	 * few times: node was started so that V8 learns at once. What the program brings is as usual.
	 */
	v8.setFlagsFromString('--lazy-feedback-allocation');
}

/* Stands in for reading the channel: a word that wakes up, the job, then its end. */
function jobReader(pack, job) {
	const frames = [Buffer.alloc(4), pack({ run: job })];
	return (_, bytes) => {
		const fd = fs.openSync(__filename);
		fs.readSync(fd, bytes, 0, 1);
		fs.closeSync(fd);
		return frames.shift()?.copy(bytes) ?? 0;
	};
}

/* A program, from its job and node's own door to its end. */
function run(name, pack, stage, streams) {
	const { _findPath } = Module;
	const file = `${PLACE}/${name}`;
	const env = Object.entries(process.env).map((pair) => pair.join('='));
	const job = { argv: [name, 'argument'], env, cwd: PLACE };
	stage.foresee(job, pack);
	stage.enter({ program: { path: null, patch: null, tell: stage.tell, known: null, isRehearsal: true },
		readSync: jobReader(pack, job) });
	stage.arm();
	Module.runMain(file);
	for (const stream of streams)
		stream.rehearse();
	process._tickCallback?.();
	process.emit('beforeExit', 0);
	delete process.mainModule;
	delete Module._cache[file];
	for (const key of Object.keys(Module._pathCache)) {
		if (key.startsWith(file))
			delete Module._pathCache[key];
	}
	if (Module._findPath !== _findPath)
		forgetTypescript(_findPath);
}

/* What typescript.js has set up for its program. */
function forgetTypescript(findPath) {
	Module._findPath = findPath;
	for (const ending of Object.keys(Module._extensions)) {
		if (/ts/.test(ending))
			delete Module._extensions[ending];
	}
	process.setSourceMapsEnabled(false);
}

/* ---- streams --------------------------------------------------------------------------------- */

function isPipe(name) {
	try {
		return fs.fstatSync(STREAMS[name], { bigint: true }).isFIFO();
	} catch {
		return false;
	}
}

/*
 * A stream on a pipe makes it non-blocking, also for those who write to the descriptor itself. So
 * it is opened, and put back as it was until the program uses it.
 */
function openStream(name) {
	const own = Object.getOwnPropertyDescriptor(process, name);
	const stream = process[name];
	const { _handle: handle } = stream;
	const { write } = stream;
	const define = (get) => Object.defineProperty(process, name, { ...own, get });
	const hide = () => {
		handle.setBlocking(true);
		handle.unref();
		define(use);
	};
	const use = () => {
		handle.setBlocking(false);
		handle.ref();
		define(own.get);
		return stream;
	};
	Object.defineProperty(use, 'name', { value: own.get.name });
	hide();
	return {
		rehearse() {
			stream.write = (text, done) => write.call(stream, '', done);
			for (const method of name === 'stdout' ? ['log', 'info'] : ['error', 'warn']) {
				console[method]('text');
				console[method]('text', 1, true, null, [1, 'two'], { three: 3 });
			}
			process._tickCallback?.(); /* until the console knows that all is written */
			delete stream.write;
			console[`_${name}`] = undefined; /* it will look for its stream once more */
			hide();
		},
	};
}

/* ---- leaving nothing behind -------------------------------------------------------------------- */

/* What the rehearsal left in memory is not to be cleared away on the program's time, */
function collector() {
	v8.setFlagsFromString('--expose-gc');
	const collect = require('vm').runInNewContext('gc');
	v8.setFlagsFromString('--no-expose-gc');
	return collect;
}

/* nor what V8's threads are still compiling to be taken over then. */
function settle() {
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SETTLE_MS);
}

module.exports = { rehearse };
