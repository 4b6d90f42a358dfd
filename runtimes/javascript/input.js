// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * What code asks of whoever has the turn: prompt(), as in a browser, and readline's question(). They
 * wait for the answer, so that what is done with it belongs to the turn. Where the client takes no
 * questions, or code reads from somewhere else, they read as ever; prompt() then takes a line of the
 * turn's stdin.
 */
const fs = require('fs');

const PROMPT_MAX = 4096;
const PART = 4096;
const FULL_MS = 5;
const nothing = new Int32Array(new SharedArrayBuffer(4));

let ask = null; /* of the turn that runs: a prompt -> the line, or null at the end of input */
let rest = ''; /* of stdin, read and not asked for yet */

function readPart(fd) {
	const part = Buffer.alloc(PART);
	for (;;) {
		try {
			return part.toString('utf8', 0, fs.readSync(fd, part));
		} catch (error) {
			if (error.code !== 'EAGAIN')
				return '';
			Atomics.wait(nothing, 0, 0, FULL_MS);
		}
	}
}

function readLine() {
	let part = ' ';
	while (!rest.includes('\n') && part)
		rest += part = readPart(0);
	const at = rest.indexOf('\n');
	const line = at < 0 ? rest : rest.slice(0, at);
	const isEnd = at < 0 && !rest;
	rest = at < 0 ? '' : rest.slice(at + 1);
	return isEnd ? null : line;
}

function answerOf(text) {
	return ask(String(text ?? '').slice(0, PROMPT_MAX));
}

/* ---- what code sees ------------------------------------------------------------------------------ */

function prompt(message = '', standard = undefined) {
	if (!ask)
		process.stdout.write(String(message));
	const line = ask ? answerOf(message) : readLine();
	return line === '' && standard !== undefined ? String(standard) : line;
}

function patchQuestions(Interface, isPromise) {
	const { question } = Interface.prototype;
	Interface.prototype.question = function (query, options, done) {
		if (!ask || this.input !== process.stdin)
			return question.call(this, query, options, done);
		const then = typeof options === 'function' ? options : done;
		const line = answerOf(query) ?? '';
		if (isPromise)
			return Promise.resolve(line);
		if (typeof then === 'function')
			process.nextTick(then.bind(this), line);
		return undefined;
	};
}

exports.open = () => {
	const define = (name, value) => Object.defineProperty(globalThis, name,
		{ value, writable: true, configurable: true, enumerable: false });
	define('prompt', prompt);
	patchQuestions(require('readline').Interface, false);
	patchQuestions(require('readline/promises').Interface, true);
};

/* A turn begins, or (null) is over. */
exports.begin = (asks) => {
	ask = asks;
	rest = '';
};
