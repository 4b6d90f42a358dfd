// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * Runs in a cell, with the runtimes at /mnt/guard: reads many mutated JavaScript programs.
 *
 *	others.js javascript FIRST COUNT
 *
 * As others.py does it: to what node can compile a statement is added that it can compile, too, and
 * the analysis must see that, or say that it lost its way.
 */
const fs = require('fs');
const vm = require('vm');
const { Check } = require('/mnt/guard/javascript/check.js');

const [first, count] = process.argv.slice(-2).map(Number);
const seeds = JSON.parse(fs.readFileSync('/mnt/in/seeds', 'utf8'));
const PIECES = ["'", '"', '`', '${', '}', '{', '(', ')', '[', ']', '/', '/*', '*/', '//', '\n', ';', '<!--', '-->', '\\', '/a/',
	'++', '=>', 'return ', 'typeof ', 'if (a) ', 'x', ' / ', 'class A {}\n', 'function f() {}\n', '#', '?.', 'é', '\u2028',
	'async ', 'await ', 'of ', 'in ', ': ', ', ', '...', '=', '!', '"use strict";\n', 'yield ', '\t', '\r\n'];
const PLANT = "\n;require('child_process');\n";

/* Small and good enough: the same numbers each time. */
function dice(seed) {
	let state = (seed * 2654435761 + 12345) >>> 0;
	return (below) => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		state >>>= 0;
		return state % below;
	};
}

function mutate(draw) {
	let text = seeds[draw(seeds.length)];
	if (text.length > 800) {
		const begin = draw(text.length - 600);
		text = text.slice(text.indexOf('\n', begin) + 1, begin + 600);
	}
	for (let left = draw(4); left > 0; left--) {
		const at = draw(text.length + 1);
		const piece = PIECES[draw(PIECES.length)];
		switch (draw(5)) {
		case 0: text = text.slice(0, at) + piece + text.slice(at); break;
		case 1: text = text.slice(0, at) + text.slice(at + 1 + draw(10)); break;
		case 2: text = text.slice(0, at) + String.fromCharCode(32 + draw(95)) + text.slice(at + 1); break;
		case 3: text = text + '\n' + seeds[draw(seeds.length)].slice(0, 400); break;
		default: text = text.replace(PIECES[draw(PIECES.length)], () => piece);
		}
	}
	return text;
}

function isProgram(text) {
	try {
		new vm.Script(text);
		return true;
	} catch {
		return false;
	}
}

function one(text) {
	const policy = { profile: 'strict' };
	new Check(text, policy).run();
	if (!isProgram(text) || !isProgram(text + PLANT))
		return [false, null];
	const line = (text + PLANT).trimEnd().split('\n').length;
	const { findings } = new Check(text + PLANT, policy).run();
	const isSeen = findings.some((item) => item.rule === 'not-analysed' ||
		item.line === line && item.module === 'child_process');
	return [true, isSeen ? null : `what was added is not seen in line ${line}`];
}

const failures = [];
let accepted = 0;
for (let number = first; number < first + count && failures.length < 10; number++) {
	const text = mutate(dice(number + 1));
	const began = Date.now();
	let [isRight, wrong] = [false, null];
	try {
		[isRight, wrong] = one(text);
	} catch (error) {
		wrong = String(error);
	}
	if (Date.now() - began > 20000)
		wrong = 'it took too long';
	accepted += isRight;
	if (wrong)
		failures.push([number, wrong, text.slice(-400)]);
}
console.log(JSON.stringify({ count, accepted, failures }));
