// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * The guard's look at JavaScript and TypeScript: `node check.js FILE`. Nothing of it is run.
 *
 * Node has no parser to offer, so the text is cut into tokens as the language does it: comments,
 * strings, templates with the code in them, regular expressions told from divisions by what stands
 * before them. The rules look at tokens that follow each other. What a program hides behind computed
 * names they do not see; that is told where it is evident, and the cell holds it in any case.
 */

const fs = require('fs');
const { builtinModules } = require('module');

const FINDINGS_MAX = 256;
const TEXT_MAX = 400;
const NOTED_MAX = 4096; /* places are counted in bytes, which takes time in long lines */

/* rule -> how grave in `standard` and in `strict` */
const RULES = {
	'import-blocked': ['block', 'block'],
	'import-dangerous': ['warn', 'block'],
	'import-unlisted': [null, 'block'],
	'import-dynamic': ['info', 'block'],
	'dynamic-code': ['info', 'block'],
	'process-access': ['warn', 'block'],
	'introspection': ['warn', 'block'],
	'network': [null, 'block'],
	'not-analysed': ['warn', 'block'],
};

/* What reaches outside of the interpreter, and how. */
const DANGEROUS = {
	child_process: 'starts other programs', fs: 'files and directories', net: 'talks to the network',
	cluster: 'starts processes', dgram: 'talks to the network', dns: 'talks to the network',
	http: 'talks to the network', http2: 'talks to the network', https: 'talks to the network',
	inspector: 'looks into the interpreter', repl: 'makes code of text', tls: 'talks to the network',
	v8: 'looks into the interpreter', vm: 'makes code of text', wasi: 'reaches the system',
	worker_threads: 'starts threads', module: 'changes how modules are loaded',
};
/* What a program of `strict` may load. */
const LISTED = new Set(['assert', 'buffer', 'crypto', 'events', 'path', 'perf_hooks', 'punycode',
	'querystring', 'readline', 'stream', 'string_decoder', 'test', 'timers', 'url', 'util', 'zlib']);
const PROCESS = new Set(['binding', '_linkedBinding', 'dlopen', 'kill', 'mainModule', 'chdir', 'setuid',
	'setgid', 'abort', 'reallyExit', '_kill', 'initgroups', 'getBuiltinModule']);
const BEFORE_REGEX = new Set(['return', 'typeof', 'case', 'in', 'of', 'delete', 'void', 'throw', 'new',
	'instanceof', 'else', 'do', 'yield', 'await']);

/* ---- tokens ------------------------------------------------------------------------------- */

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\d[\w.]*/y;
const LINE_END = /[\n\r\u2028\u2029]/g;
const ESCAPES = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', 0: '\0' };

/* What a string says, escapes resolved; what cannot be is left as it is. */
function plain(text) {
	return text.replace(/\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r?\n|[^])/g, (all, what) => {
		const code = /^[ux]\{?([0-9a-fA-F]+)\}?$/.exec(what);
		if (code && what.length > 1) {
			const number = parseInt(code[1], 16);
			return number <= 0x10ffff ? String.fromCodePoint(number) : all;
		}
		return what in ESCAPES ? ESCAPES[what] : what.endsWith('\n') ? '' : what;
	});
}

/* After these a bracket holds a condition, and a statement follows it. */
const BEFORE_CONDITION = new Set(['if', 'while', 'for', 'with']);

/* Cuts the text into tokens; the list's `isLost`: something begins in it that does not end. */
function tokenize(text) {
	const tokens = [];
	const open = []; /* brackets and what they mean, and templates that go on when theirs closes */
	let at = 0;
	let closed = null; /* what the last bracket that closed was */
	const push = (kind, value, from) => tokens.push({ kind, value, at: from });

	/* A brace where a statement can begin is a block; one where a value is due is that value. */
	function isBlock() {
		const last = tokens[tokens.length - 1];
		if (!last)
			return true;
		if (last.kind === 'word')
			return ['else', 'do', 'try', 'finally'].includes(last.value) || isName(tokens.length - 1);
		if (last.kind !== 'mark')
			return false;
		if (last.value === ')')
			return closed !== 'value-call' && !isExpressionHead();
		return [';', '{', '}'].includes(last.value) && !(last.value === '}' && closed === 'value') ||
			last.value === ':' && !isInValue();
	}

	/* class A { and class A extends B { */
	function isName(i) {
		for (let j = i; j >= 0 && j > i - 8 && tokens[j].kind !== 'string'; j--) {
			if (tokens[j].value === 'class')
				return startsStatement(j);
			if (tokens[j].kind === 'mark' && tokens[j].value !== '.')
				return false;
		}
		return false;
	}

	/* The word at i is where a statement begins: before it nothing that wants a value. */
	function startsStatement(i) {
		const before = tokens[i - 1];
		if (before?.kind === 'word' && (before.value === 'async' || before.value === 'export' || before.value === 'default'))
			return startsStatement(i - 1);
		return !before || before.kind === 'mark' && [';', '{', '}', ')'].includes(before.value) ||
			before.kind !== 'mark' && !BEFORE_REGEX.has(before.value) ||
			before.kind === 'word' && ['else', 'do'].includes(before.value);
	}

	/* f = function (a) { and (a) { after a method's name are bodies; the first of them is a value's. */
	function isExpressionHead() {
		let i = tokens.length - 1;
		for (let level = 0; i >= 0; i--) {
			if (tokens[i].kind !== 'mark')
				continue;
			level += (tokens[i].value === ')') - (tokens[i].value === '(');
			if (level === 0)
				break;
		}
		let j = i - 1;
		if (tokens[j]?.kind === 'mark' && tokens[j].value === '*')
			j--;
		if (tokens[j]?.kind === 'word' && tokens[j].value !== 'function' && tokens[j - 1]?.value === 'function')
			j--;
		else if (tokens[j - 1]?.value === '*' && tokens[j - 2]?.value === 'function')
			j -= 2;
		return tokens[j]?.value === 'function' && !startsStatement(j);
	}

	function isInValue() {
		return open[open.length - 1] === 'value' || tokens.some((token, i) => i > tokens.length - 12 && token.value === '?');
	}

	function string(quote) {
		const from = at++;
		while (at < text.length && text[at] !== quote && text[at] !== '\n')
			at += text[at] === '\\' ? 2 : 1;
		push('string', plain(text.slice(from + 1, at)), from);
		at++;
	}

	function template(from) {
		const begin = at;
		while (at < text.length && text[at] !== '`' && !text.startsWith('${', at))
			at += text[at] === '\\' ? 2 : 1;
		const value = plain(text.slice(begin, at));
		if (text.startsWith('${', at)) {
			push('template', value, from);
			open.push('`');
			at += 2;
			push('mark', '${', at - 2);
		} else {
			push(text[from] === '`' ? 'string' : 'template', value, from);
			at++;
		}
	}

	function canBeRegex() {
		const last = tokens[tokens.length - 1];
		if (!last)
			return true;
		if (last.kind === 'word')
			return BEFORE_REGEX.has(last.value) && tokens[tokens.length - 2]?.value !== '.';
		if (last.kind !== 'mark' || last.value === ']')
			return false;
		if (last.value === ')')
			return closed === 'condition';
		if (last.value === '}')
			return closed === 'block';
		const isTwice = tokens[tokens.length - 2]?.value === last.value && tokens[tokens.length - 2].at === last.at - 1;
		return !(isTwice && '+-'.includes(last.value) && hasValueBefore(tokens.length - 3));
	}

	/* a++ / b */
	function hasValueBefore(i) {
		const token = tokens[i];
		return token && (token.kind !== 'mark' || ')]}'.includes(token.value)) && !BEFORE_REGEX.has(token.value);
	}

	function bracket(char) {
		const last = tokens[tokens.length - 1];
		if (char === '(')
			open.push(last?.kind === 'word' && BEFORE_CONDITION.has(last.value) &&
				tokens[tokens.length - 2]?.value !== '.' ? 'condition' : 'value');
		else if (char === '{')
			open.push(isBlock() ? 'block' : 'value');
		else if (char === '[')
			open.push('value');
		else
			closed = open.pop() ?? null;
	}

	/* <!-- and, where a line begins, --> are comments in scripts. */
	function isHtmlComment() {
		if (text.startsWith('<!--', at))
			return true;
		return text.startsWith('-->', at) && /(^|[\n\r\u2028\u2029])(\s|\/\*[^]*?\*\/)*$/.test(text.slice(Math.max(0, at - 2000), at));
	}

	function skipLine() {
		LINE_END.lastIndex = at;
		at = LINE_END.exec(text)?.index ?? text.length;
	}

	function regex() {
		const from = at++;
		let isClass = false;
		while (at < text.length && text[at] !== '\n' && (isClass || text[at] !== '/')) {
			if (text[at] === '[')
				isClass = true;
			else if (text[at] === ']')
				isClass = false;
			at += text[at] === '\\' ? 2 : 1;
		}
		push('regex', text.slice(from, at), from);
		at++;
	}

	if (text.startsWith('#!'))
		at = (text.indexOf('\n') + 1) || text.length;
	while (at < text.length) {
		const char = text[at];
		if (char === '/' && text[at + 1] === '/' || '<-'.includes(char) && isHtmlComment()) {
			skipLine();
		} else if (char === '/' && text[at + 1] === '*') {
			const end = text.indexOf('*/', at + 2);
			tokens.isLost ||= end < 0;
			at = end < 0 ? text.length : end + 2;
		} else if (char === '"' || char === "'") {
			string(char);
		} else if (char === '`') {
			at++;
			template(at - 1);
		} else if (char === '}' && open[open.length - 1] === '`') {
			open.pop();
			push('mark', '}', at);
			at++;
			template(at - 1);
		} else if (char === '/' && canBeRegex()) {
			regex();
		} else if (/\s/.test(char)) {
			at++;
		} else {
			WORD.lastIndex = NUMBER.lastIndex = at;
			const word = WORD.exec(text);
			const number = word ? null : NUMBER.exec(text);
			if (char === '\\' && /^\\u/.test(text.slice(at, at + 2))) {
				/* an identifier may be written with escapes */
				const found = /(?:\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4}|[\w$])+/y;
				found.lastIndex = at;
				const value = found.exec(text)?.[0] ?? char;
				push('word', plain(value), at);
				at += value.length;
			} else if (word) {
				let value = word[0];
				const rest = /(?:\\u\{[0-9a-fA-F]+\}|\\u[0-9a-fA-F]{4}|[\w$])+/y;
				rest.lastIndex = at + value.length;
				if (text[at + value.length] === '\\')
					value += rest.exec(text)?.[0] ?? '';
				push('word', plain(value), at);
				at += value.length;
			} else if (number) {
				push('number', number[0], at);
				at += number[0].length;
			} else {
				const mark = text.startsWith('?.', at) ? '.' : char;
				if ('()[]{}'.includes(mark))
					bracket(mark);
				push('mark', mark, at);
				at += text.startsWith('?.', at) ? 2 : 1;
			}
		}
	}
	tokens.isLost ||= open.length > 0 || at > text.length;
	return tokens;
}

/* ---- the rules ---------------------------------------------------------------------------- */

class Check {
	constructor(text, policy) {
		this.text = text;
		this.policy = policy;
		this.isStrict = policy.profile === 'strict';
		this.findings = [];
		this.noted = { block: 0, warn: 0, info: 0 };
		this.imports = new Set();
		this.starts = [0];
		for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
			this.starts.push(at + 1);
		this.tokens = tokenize(text);
	}

	place(at) {
		let low = 0;
		let high = this.starts.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (this.starts[middle] <= at)
				low = middle;
			else
				high = middle - 1;
		}
		return [low + 1, Buffer.byteLength(this.text.slice(this.starts[low], at)) + 1];
	}

	say(rule, token, reason, module) {
		let severity = RULES[rule][this.isStrict ? 1 : 0];
		if (rule === 'import-dangerous' && this.policy.block_imports)
			severity = 'block';
		if (rule === 'not-analysed' && (this.policy.block_imports || this.policy.block?.length))
			severity = 'block'; /* where something may be refused, nothing passes unseen */
		if (!severity || this.noted[severity]++ >= NOTED_MAX)
			return; /* of each: what is grave must not drown in what is not */
		const [line, column] = this.place(token.at);
		const made = { rule, severity, line, column, reason: reason.slice(0, TEXT_MAX) };
		if (module)
			made.module = module.slice(0, TEXT_MAX);
		this.findings.push(made);
	}

	import(token, name) {
		const bare = name.replace(/^node:/, '');
		const top = bare.split('/')[0];
		const isBuiltin = name.startsWith('node:') || builtinModules.includes(bare);
		const has = (list) => list?.some((entry) => entry === name || entry === bare || entry === top);
		this.imports.add(bare);
		if (has(this.policy.block))
			this.say('import-blocked', token, `imports ${bare}, which the policy blocks`, bare);
		else if (has(this.policy.allow))
			return;
		else if (isBuiltin && top in DANGEROUS)
			this.say('import-dangerous', token, `imports ${bare}: ${DANGEROUS[top]}`, top);
		else if (!(isBuiltin && LISTED.has(top)))
			this.say('import-unlisted', token, `imports ${bare}, which is not on the list of strict`, bare);
	}

	run() {
		const { tokens } = this;
		if (tokens.isLost)
			this.say('not-analysed', { at: 0 }, 'something begins in it that does not end');
		for (let i = 0; i < tokens.length; i++) {
			const token = tokens[i];
			if (token.kind === 'word')
				this.word(token, i);
			else if (token.kind === 'mark' && token.value === '[')
				this.computed(i);
		}
		return this;
	}

	/* obj["constructor"], and names put together from pieces */
	computed(i) {
		const text = this.constant(i + 1, ']');
		if (text === null || !this.isMember(i))
			return;
		if (text === 'constructor' || text === '__proto__')
			this.member({ ...this.tokens[i + 1], value: text }, i, true);
		else if (PROCESS.has(text) && this.tokens[i - 1]?.value === 'process')
			this.say('process-access', this.tokens[i + 1], `uses process.${text}`);
		else if ((text === 'eval' || text === 'Function') &&
				['globalThis', 'global', 'window', 'self'].includes(this.tokens[i - 1]?.value))
			this.say('dynamic-code', this.tokens[i + 1], `${text} makes code of text`);
	}

	isMember(i) {
		const before = this.tokens[i - 1];
		return before && (before.kind === 'word' || before.kind === 'string' ||
			before.kind === 'mark' && ')]}'.includes(before.value));
	}

	/* "ch" + "ild" up to the closing mark; null when it is more than that */
	constant(i, end) {
		let text = '';
		for (let j = i; j < this.tokens.length; j += 2) {
			if (this.tokens[j].kind !== 'string')
				return null;
			text += this.tokens[j].value;
			const next = this.tokens[j + 1];
			if (next?.kind === 'mark' && (next.value === end || next.value === ','))
				return text;
			if (next?.kind !== 'mark' || next.value !== '+')
				return null;
		}
		return null;
	}

	word(token, i) {
		const { tokens } = this;
		const before = tokens[i - 1];
		const after = tokens[i + 1];
		const isCall = after?.kind === 'mark' && after.value === '(';
		if (before?.kind === 'mark' && before.value === '.' && tokens[i - 2]?.value !== '.') {
			this.member(token, i, false);
			return;
		}
		if (after?.kind === 'mark' && after.value === ':' && ['{', ','].includes(before?.value))
			return; /* a key */
		switch (token.value) {
		case 'require':
			if (isCall)
				this.load(token, i + 2);
			break;
		case 'import':
			if (isCall)
				this.load(token, i + 2);
			else if (after?.kind === 'string')
				this.import(token, after.value);
			else
				this.from(token, i + 1);
			break;
		case 'export':
			if (['{', '*'].includes(after?.value))
				this.from(token, i + 1);
			break;
		case 'eval':
			this.say('dynamic-code', token, 'eval makes code of text');
			break;
		case 'Function':
			if (isCall || before?.value === 'new')
				this.say('dynamic-code', token, 'Function makes code of text');
			break;
		case 'setTimeout': case 'setInterval':
			if (isCall && tokens[i + 2]?.kind === 'string')
				this.say('dynamic-code', token, `${token.value} makes code of text`);
			break;
		case 'fetch': case 'WebSocket': case 'XMLHttpRequest': case 'EventSource':
			if (isCall || before?.value === 'new')
				this.say('network', token, `${token.value} talks to the network`);
			break;
		case '__proto__':
			this.say('introspection', token, 'uses __proto__');
			break;
		}
	}

	load(token, i) {
		const name = this.constant(i, ')');
		if (name === null)
			this.say('import-dynamic', token, 'imports a module whose name is only known when it runs');
		else
			this.import(token, name);
	}

	/* import … from "name" */
	from(token, i) {
		const end = Math.min(this.tokens.length - 1, i + 400);
		for (let j = i; j < end; j++) {
			const { kind, value } = this.tokens[j];
			if (kind === 'mark' && !'{},*'.includes(value))
				return;
			if (kind === 'word' && value === 'from' && this.tokens[j + 1].kind === 'string') {
				this.import(token, this.tokens[j + 1].value);
				return;
			}
		}
	}

	member(token, i, isComputed) {
		const { tokens } = this;
		const owner = tokens[isComputed ? i - 1 : i - 2];
		const later = tokens.slice(i + 1, i + 8);
		if (owner?.value === 'process' && PROCESS.has(token.value))
			this.say('process-access', token, `uses process.${token.value}`);
		else if (token.value === 'constructor' &&
				later.some((next, j) => next.value === 'constructor' && j < 6 &&
					['.', '['].includes(later[j - 1]?.value)))
			this.say('introspection', token, 'constructor.constructor leads to Function, which makes code of text');
		else if (token.value === 'constructor' && later[isComputed ? 2 : 0]?.value === '(' && owner?.value !== 'this')
			this.say('introspection', token, 'calls a constructor that it looked up');
		else if (token.value === '__proto__')
			this.say('introspection', token, 'uses __proto__');
		else if (['eval', 'Function'].includes(token.value) &&
				['globalThis', 'global', 'window', 'self'].includes(owner?.value))
			this.say('dynamic-code', token, `${token.value} makes code of text`);
		else if (token.value === 'require' && later[0]?.value === '(')
			this.load(token, i + 2);
		else if (token.value === '_load' && owner?.value === 'Module')
			this.say('import-dynamic', token, 'loads modules past require');
	}
}

/* ---- the channel -------------------------------------------------------------------------- */

function readPolicy() {
	const size = Buffer.alloc(4);
	try {
		if (fs.readSync(3, size, 0, 4) !== 4)
			return {};
		const text = Buffer.alloc(size.readUInt32BE());
		for (let at = 0; at < text.length;)
			at += fs.readSync(3, text, at, text.length - at);
		return JSON.parse(text).guard;
	} catch {
		return {};
	}
}

function tell(check) {
	const order = ['block', 'warn', 'info'];
	let { findings } = check;
	if (findings.length > FINDINGS_MAX)
		findings = [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
	const text = Buffer.from(JSON.stringify({
		event: 'report', findings: findings.slice(0, FINDINGS_MAX),
		imports: [...check.imports].sort().slice(0, FINDINGS_MAX).map((name) => name.slice(0, 200)),
		left_out: Math.max(findings.length - FINDINGS_MAX, 0),
	}).replace(/\\u0000|\\ud[89a-f][0-9a-f]{2}/g, '?'));
	const frame = Buffer.alloc(4 + text.length);
	frame.writeUInt32BE(text.length);
	text.copy(frame, 4);
	for (let at = 0; at < frame.length;)
		at += fs.writeSync(3, frame, at);
}

if (require.main === module) {
	const policy = readPolicy();
	tell(new Check(fs.readFileSync(process.argv[2], 'utf8'), policy).run());
}

module.exports = { Check, tokenize };
