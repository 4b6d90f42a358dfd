// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * A session of JavaScript, below hotcell-relay: node's own prompt without the prompt. Descriptor 3
 * brings frames; {"turn":N,"stdin":PATH} begins a turn, one request follows, and {"event":"done"} is
 * the last word of the turn. Code runs in the main context, in cells (cells.js).
 *
 * A turn ends with its code and what that awaits. What a timer does later it does between turns or
 * in a later one, as behind a prompt; what it prints waits in the pipe until somebody reads.
 */
const fs = require('fs');
const net = require('net');
const util = require('util');
const { Writable } = require('stream');
const report = require('./report');
const cells = require('./cells');
const ask = require('./ask');
const input = require('./input');
const prompt = require('./prompt');

const CHANNEL = 3;
const FRAME_MAX = 8 << 20;
const INTERRUPTED = 130;
const FULL_MS = 2;
const PART = 65536;
const nothing = new Int32Array(new SharedArrayBuffer(4));

const { writeSync } = fs;
const send = (message) => report.send(message, (bytes, at, end) => writeSync(CHANNEL, bytes, at, end - at));

/* ---- what is shown -------------------------------------------------------------------------------- */

function addDisplay() {
	const define = (target, name, value) => Object.defineProperty(target, name,
		{ value, writable: true, configurable: true, enumerable: target === console });
	define(globalThis, 'display', function display(value, mime) {
		send({ event: 'display', data: report.display(value, mime), metadata: {} });
	});
	const { table, log } = console;
	define(console, 'table', function (...args) {
		const shown = report.table(args[0], args[1]);
		if (!shown)
			return table.apply(this, args);
		log.call(this, shown['text/plain']);
		send({ event: 'display', data: shown, metadata: { printed: true } });
	});
	Object.defineProperty(console.table, 'name', { value: 'table' });
}

/* ---- output ------------------------------------------------------------------------------------ */

/* Writes at once and keeps nothing, as node's own does for pipes. */
class Output extends Writable {
	constructor(fd) {
		super({ decodeStrings: true });
		this.fd = fd;
		this._type = 'pipe';
	}

	_write(data, encoding, done) {
		for (let at = 0; at < data.length;) {
			try {
				at += writeSync(this.fd, data, at);
			} catch (error) {
				if (error.code !== 'EAGAIN')
					return done(error);
				Atomics.wait(nothing, 0, 0, FULL_MS); /* somebody has made the pipe so */
			}
		}
		done();
	}

	_destroy(error, done) {
		done(error); /* the descriptor stays */
	}
}

/* A stream that was interrupted in the middle of a write believes for ever that it is writing. */
function renewOutput() {
	for (const [name, fd] of [['stdout', 1], ['stderr', 2]]) {
		const stream = new Output(fd);
		Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
		console[`_${name}`] = stream;
	}
}

/* ---- the stdin of a turn ----------------------------------------------------------------------- */

/* Whoever opens a file gets the lowest free number: node has no other way to choose one. */
let stdin = null;

function takeInput(path) {
	try {
		fs.closeSync(0);
	} catch { /* its stream has closed it */ }
	fs.openSync(path, 'r');
	stdin = null;
}

function dropInput() {
	stdin?.destroy();
	stdin = null;
	input.begin(null);
}

Object.defineProperty(process, 'stdin', {
	configurable: true,
	enumerable: true,
	get() {
		if (!stdin) {
			stdin = fs.fstatSync(0).isFIFO() ? new net.Socket({ fd: 0, readable: true, writable: false }) :
				new fs.ReadStream(null, { fd: 0 });
			stdin.fd = 0;
			stdin.pause?.();
			/* Reading does not keep a prompt from coming back. */
			stdin.unref?.();
		}
		return stdin;
	},
});

/* ---- turns --------------------------------------------------------------------------------------- */

const state = {
	last: null, /* of the prompt: what _ and _error are */
	turn: null,
	executions: 0,
};

function showError(error, cell) {
	try {
		process.stderr.write(cells.explain(error, cell));
	} catch {
		process.stderr.write('Uncaught [an error that cannot be shown]\n');
	}
}

function lookAt(error, cell) {
	try {
		return cells.failure(error, cell);
	} catch {
		return null; /* it is printed */
	}
}

/* Rejections nobody handles are told before the end is, and an interrupt that has just come. */
function finish(turn, exitCode) {
	if (turn !== state.turn || turn.isOver)
		return;
	turn.isOver = true;
	dropInput();
	setImmediate(() => setImmediate(() => {
		state.turn = null;
		const code = turn.isInterrupted ? INTERRUPTED : turn.hasFailed && exitCode === 0 ? 1 : exitCode;
		send({ event: 'done', exit_code: code, execution_count: state.executions, interrupted: Boolean(turn.isInterrupted) });
	}));
}

function fail(turn, error) {
	const told = lookAt(error, turn.cell);
	state.last.setLastError(error);
	showError(error, turn.cell);
	if (told)
		send(told);
	turn.hasFailed = true;
}

function interrupt(turn) {
	turn.isInterrupted = true;
	if (turn.isOver)
		return;
	renewOutput();
	process.stderr.write('Uncaught Error: interrupted\n');
	send({ event: 'error', kind: 'runtime', name: 'Interrupted', value: 'the code was interrupted', traceback: [] });
	finish(turn, INTERRUPTED);
}

function tellValue(value) {
	state.last.setLast(value);
	if (value === undefined)
		return;
	try {
		send({ event: 'result', data: { ...report.value(value), 'text/plain': util.inspect(value, { showProxy: true }) }, metadata: {} });
	} catch (error) {
		process.stderr.write(`[cannot be shown: ${error}]\n`);
	}
}

async function execute(turn, { code, name, env, accepts_input: isAnswering }) {
	state.executions++;
	input.begin(isAnswering ? askClient : null);
	for (const item of env ?? []) {
		const at = item.indexOf('=');
		if (at > 0)
			process.env[item.slice(0, at)] = item.slice(at + 1);
	}
	const ended = await cells.run(String(code ?? ''), name, (cell) => {
		turn.cell = cell;
	});
	if (turn !== state.turn || turn.isOver || ended.isInterrupted)
		return;
	if ('error' in ended)
		fail(turn, ended.error);
	else
		tellValue(ended.value);
	finish(turn, 0);
}

async function answer(turn, kind, request) {
	try {
		send(await ask[kind](request));
	} catch (error) {
		send(ask.nothing(kind, request, error));
	}
	finish(turn, 0);
}

const KINDS = ['complete', 'inspect', 'is_complete'];

function take(message) {
	if ('turn' in message) {
		takeInput(message.stdin);
		state.turn = {};
		return;
	}
	const turn = state.turn;
	const kind = KINDS.find((name) => name in message);
	if (!turn || turn.isTaken)
		return; /* one request a turn */
	turn.isTaken = true;
	if (message.execute)
		execute(turn, message.execute);
	else if (kind)
		answer(turn, kind, message[kind]);
	else
		finish(turn, 1);
}

/* An error of something that runs on by itself ends the turn it happens in. */
function uncaught(error) {
	const turn = state.turn;
	if (!turn)
		return showError(error, null);
	fail(turn, error);
	finish(turn, 1);
}

/* ---- interrupts -------------------------------------------------------------------------------- */

/*
 * SIGINT is heard here, between two callbacks. Code that gives no callback a chance is ended by a
 * thread of its own (watch.js), which learns of the interrupt from the relay, waits a moment for us to
 * have heard of it, and then stops whatever runs: so that we hear of it.
 */
const heard = new Int32Array(new SharedArrayBuffer(4));

function watchInterrupts() {
	const { Worker } = require('worker_threads');
	process.on('SIGINT', () => {
		Atomics.store(heard, 0, 1);
		Atomics.notify(heard, 0);
		if (state.turn)
			interrupt(state.turn);
	});
	new Worker(`${__dirname}/watch.js`, { workerData: heard, execArgv: [], stdin: false }).unref();
}

/* ---- the channel ------------------------------------------------------------------------------- */

let received = Buffer.alloc(0);

function receive(data) {
	received = received.length ? Buffer.concat([received, data]) : data;
}

/* The next whole message; null: there is none yet. */
function nextMessage() {
	const size = received.length < 4 ? Infinity : 4 + received.readUInt32BE();
	if (size > 4 + FRAME_MAX && size !== Infinity)
		process.reallyExit(1);
	if (received.length < size)
		return null;
	const message = JSON.parse(received.subarray(4, size).toString());
	received = received.subarray(size);
	return message;
}

/* Nothing else happens until the answer is here: the event loop stands, and we read in its place. */
function askClient(text) {
	send({ event: 'input_request', prompt: text, password: false });
	const part = Buffer.alloc(PART);
	for (;;) {
		const message = nextMessage();
		if (message && 'input' in message)
			return typeof message.input === 'string' ? message.input : null;
		if (message)
			continue;
		try {
			const count = fs.readSync(CHANNEL, part);
			if (count === 0)
				return null;
			receive(Buffer.from(part.subarray(0, count)));
		} catch (error) {
			if (error.code !== 'EAGAIN')
				return null;
			Atomics.wait(nothing, 0, 0, FULL_MS); /* an interrupt ends it here */
		}
	}
}

function listen() {
	const socket = new net.Socket({ fd: CHANNEL, readable: true, writable: false });
	socket.on('data', (data) => {
		receive(data);
		for (let message = nextMessage(); message; message = nextMessage())
			take(message);
	});
	socket.on('end', () => process.reallyExit(0));
	socket.on('error', () => process.reallyExit(1));
}

function start() {
	process.argv.length = 1;
	for (const path of Object.keys(require.cache))
		delete require.cache[path];
	state.last = prompt.open();
	cells.open();
	addDisplay();
	input.open();
	process.on('uncaughtException', uncaught);
	watchInterrupts();
	renewOutput();
	ask.open();
	listen();
	send({ event: 'ready' });
}

start();
