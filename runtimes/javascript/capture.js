// SPDX-License-Identifier: Apache-2.0
'use strict';
/*
 * Finds the last statement of a program and, when it is an expression, has its value told:
 *
 *     const a = 3;                 const a = 3;
 *     a * 2                        a * 2
 *                                  instanceof(async()=>{}).hotcell
 *
 * `E instanceof X` hands the value of E to X and does nothing else to it. It follows on a line of
 * its own, so every line and column of the program stays what it is. An operator that binds less
 * than `instanceof` needs parentheses around E: the first takes the place of a blank before E, or
 * is put at the end of the statement before. A semicolon after E becomes a blank. Where a line of
 * the program looks different for that, `lines` keeps it as it was, for the one place that shows
 * lines: node's report of an uncaught error.
 *
 * There is no parser here. A scanner that knows brackets, strings and comments proposes where the
 * statement begins, and V8 is asked whether the parts on both sides are whole; a proposal that it
 * does not confirm is dropped, and the program runs without being asked for its value.
 */
const vm = require('vm');

const TEXT_MAX = 64 << 10; /* larger programs do not end in a value to look at */
const TRIES_MAX = 24;
const SUFFIX = 'instanceof(async()=>{}).hotcell\n'; /* not `function`, which V8 would compile at once */
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'];

const words = (text) => new Set(text.split(' '));
/* No expression statement begins with these. */
const NOT_FIRST = words('var let const if for while do return throw switch try break continue function ' +
	'class export debugger with else case default catch finally in of instanceof enum ' +
	'. , ; : ? ?. => = ) ] } { * % & | ^ < > == === != !== <= >= && || ?? ** << >> >>> ' +
	'+= -= *= /= %= &= |= ^= <<= >>= >>>= **= &&= ||= ??=');
/* With these in front of it, the line may go on with the statement before. */
const MAY_CONTINUE = words('( [ ` / + -');
/* These bind less than instanceof. */
const BINDS_LESS = words('= , ? : => & | ^ == === != !== && || ?? yield ' +
	'+= -= *= /= %= &= |= ^= <<= >>= >>>= **= &&= ||= ??=');
/* A slash after these begins a regular expression; after any other word or bracket it divides. */
const BEFORE_REGEXP = words('return typeof instanceof in of new delete void throw case do else await yield');
/* Statements whose value nobody asked for. */
const NO_INTEREST = /^(?:console\.\w+\(|(?:module\.)?exports\b|process\.std(?:out|err)\.write\(|(["'])use strict\1)/;

const TOKEN = new RegExp([
	/(?<space>\s+|\/\/.*|\/\*[^]*?\*\/)/,
	/(?<number>\.?\d(?:[eE][-+]|[\w.])*)/,
	/(?<word>[\w$#\\\u0080-\uffff]+)/,
	/(?<string>"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*')/,
	/(?<operator>=>|[=!]==?|\+\+|--|\.\.\.|\?\?=?|\?\.(?!\d)|&&=?|\|\|=?|\*\*=?|<<=?|>>>?=?|[-+*%&|^<>]=?|[~!?:;,.=@])/,
	/(?<bracket>[()[\]{}])/,
].map((part) => part.source).join('|'), 'y');
const REGEXP = /\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(`|\$\{)/y;

/*
 * The tokens outside of all brackets, opening and closing brackets among them; a template is one
 * token. null when the text is not understood. `each` is told of those inside of brackets, too.
 */
function scan(text, each) {
	const found = [];
	const open = []; /* closing brackets still to come; '`' for the inside of a template's ${ */
	let last = null;
	let hasNewline = true;
	let at = text.startsWith('#!') ? text.search(/\n|$/) : 0;
	const read = (pattern) => {
		pattern.lastIndex = at;
		return pattern.exec(text);
	};
	const add = (start, kind) => {
		last = { start, end: at, kind, text: text.slice(start, at), hasNewline };
		hasNewline = false;
		each?.(last);
		if (open.length === 0)
			found.push(last);
	};
	while (at < text.length) {
		const start = at;
		const isValue = last && (last.kind === 'word' ? !BEFORE_REGEXP.has(last.text) :
			last.kind !== 'operator' && !'([{'.includes(last.text[0]));
		const match = read(TOKEN);
		if (match && match.groups.space !== undefined) {
			at += match[0].length;
			hasNewline ||= match[0].includes('\n');
		} else if (match && match.groups.bracket !== undefined) {
			const bracket = match[0];
			at++;
			if ('([{'.includes(bracket)) {
				add(start, 'bracket');
				open.push(')]}'['([{'.indexOf(bracket)]);
			} else if (bracket === '}' && open.at(-1) === '`') {
				open.pop();
				const rest = read(TEMPLATE);
				if (!rest)
					return null;
				at += rest[0].length;
				if (rest[1] === '${')
					open.push('`');
				else
					add(start, 'template');
			} else {
				if (open.pop() !== bracket)
					return null;
				add(start, 'close');
			}
		} else if (match) {
			at += match[0].length;
			const kinds = match.groups;
			add(start, kinds.word !== undefined ? 'word' : kinds.operator !== undefined ? 'operator' : 'value');
		} else if (text[at] === '`') {
			at++;
			const rest = read(TEMPLATE);
			if (!rest)
				return null;
			at += rest[0].length;
			add(start, 'template');
			if (rest[1] === '${')
				open.push('`');
		} else if (text[at] === '/') {
			const regexp = isValue ? null : read(REGEXP);
			at += regexp ? regexp[0].length : text[at + 1] === '=' ? 2 : 1;
			add(start, regexp ? 'value' : 'operator');
		} else {
			return null;
		}
	}
	return open.length === 0 ? found : null;
}

/* ---- asking V8 --------------------------------------------------------------------------- */

/* Whether the text is a whole program, or the beginning of one that ends between statements. */
function parses(text, goal) {
	const { stackTraceLimit } = Error;
	Error.stackTraceLimit = 0; /* most of the time of a no would go into its stack */
	try {
		if (goal === 'script') {
			vm.compileFunction(text, PARAMETERS);
		} else {
			const strict = goal === 'module' ? '"use strict";' : '';
			new vm.Script(`${strict}(async function(${PARAMETERS}){${text.replace(/^#!/, '//')}\n})`);
		}
		return true;
	} catch {
		return false;
	} finally {
		Error.stackTraceLimit = stackTraceLimit;
	}
}

/*
 * A module's text made acceptable inside of a function, position by position: its imports and
 * exports are blanked. Also tells whether there were any.
 */
function maskModule(text, tokens) {
	let masked = text;
	let hasSyntax = false;
	const blank = (from, to, instead = '') => {
		hasSyntax = true;
		masked = masked.slice(0, from) +
			(instead + masked.slice(from + instead.length, to).replace(/[^\n]/g, ' ')) + masked.slice(to);
	};
	/* An import or a re-export ends with the name of a module, and perhaps its attributes. */
	const endOf = (i) => {
		while (i < tokens.length && !/^["']/.test(tokens[i].text))
			i++;
		if (/^(?:with|assert)$/.test(tokens[i + 1]?.text))
			while (i < tokens.length && tokens[i].text !== '}')
				i++;
		return tokens[Math.min(i, tokens.length - 1)].end;
	};
	tokens.forEach((token, i) => {
		const next = tokens[i + 1]?.text;
		if (token.kind !== 'word' || tokens[i - 1]?.text === '.')
			return;
		if (token.text === 'import' && next !== '(' && next !== '.')
			blank(token.start, endOf(i));
		else if (token.text === 'export' && next === 'default')
			blank(token.start, tokens[i + 1].end, 'x=');
		else if (token.text === 'export' && next === '*')
			blank(token.start, endOf(i));
		else if (token.text === 'export' && next === '{')
			blank(token.start, tokens[i + 3]?.text === 'from' ? endOf(i + 4) : tokens[i + 2].end);
		else if (token.text === 'export')
			blank(token.start, token.end);
	});
	masked = masked.replace(/\bimport(?=\s*\.\s*meta\b)/g, () => {
		hasSyntax = true;
		return '$hotcl';
	});
	return { masked, hasSyntax };
}

/* How a .js file is meant: 'script' (CommonJS), 'module', or 'async', a script with await in it. */
function goal(text) {
	if (parses(text, 'script'))
		return 'script';
	const tokens = scan(text);
	if (!tokens)
		return 'script';
	const { masked, hasSyntax } = maskModule(text, tokens);
	if (hasSyntax)
		return parses(masked, 'module') ? 'module' : 'script';
	if (!parses(text, 'async'))
		return 'script';
	return /\b(?:require\s*\(|module\s*\.|exports\s*\.|__filename|__dirname)/.test(text) ||
		!parses(text, 'module') || Number(process.versions.node.split('.')[0]) < 20 ? 'async' : 'module';
}

/* Since 20.19 and 22.7 node itself tells a module by its syntax. */
function detectsModules() {
	const [major, minor] = process.versions.node.split('.').map(Number);
	return major > 22 || (major === 22 && minor >= 7) || (major === 20 && minor >= 19);
}

/* ---- the patch --------------------------------------------------------------------------- */

/*
 * One line of names, numbers, strings and calls between operators that bind no less than instanceof:
 * nobody need be asked whether it is an expression.
 */
const RESERVED = 'async await break case catch class const continue debugger default delete do else enum export extends ' +
	'finally for function if implements import in instanceof interface let new package private protected public return ' +
	'static super switch throw try typeof var void while with yield';
const NAME = `(?!(?:${RESERVED.replaceAll(' ', '|')})\\b)[A-Za-z_$][\\w$]*`;
const PLACE = `${NAME}(?:\\.[A-Za-z_$][\\w$]*)*`;
const VALUE = `(?:(?:0|[1-9]\\d*)(?:\\.\\d+)?|"[^"\\\\\n\r]*"|'[^'\\\\\n\r]*'|${PLACE})`;
const CALLED = `(?:${PLACE}\\((?:${VALUE}(?:, ?${VALUE})*)?\\)|${VALUE})`;
const PLAIN = new RegExp(`^${CALLED}(?: ?[-+*/%<>] ?${CALLED})*\n?$`);
const PLAIN_MAX = 256;

function patchPlain(text) {
	return { text: text.endsWith('\n') ? text + SUFFIX : `${text}\n${SUFFIX}`, lines: new Map() };
}

function patch(text, kind) {
	if (text.length <= PLAIN_MAX && kind === 'script' && PLAIN.test(text) && !NO_INTEREST.test(text) &&
		!text.includes('callee'))
		return patchPlain(text);
	if (text.length > TEXT_MAX || /\bcallee\b/.test(text)) /* which has the text of the program */
		return null;
	const tokens = scan(text);
	if (!tokens)
		return null;
	const plain = kind === 'module' ? maskModule(text, tokens).masked : text;
	let count = tokens.length;
	while (count > 0 && tokens[count - 1].text === ';')
		count--;
	for (let i = count - 1, tries = 0; i >= 0 && tries < TRIES_MAX; i--) {
		const before = tokens[i - 1];
		if (tokens[i].text === ';')
			return null;
		if (before && before.text !== ';' && before.text !== '}' && !tokens[i].hasNewline)
			continue;
		if (NOT_FIRST.has(tokens[i].text) || (tokens[i].text === 'async' && tokens[i + 1]?.text === 'function'))
			continue;
		tries++;
		if (isAlone(tokens, i, count) || isStatement(plain, kind, tokens, i, count))
			return write(text, plain, kind, tokens, i, count);
	}
	return null;
}

/*
 * One line that does not break off where `instanceof` could be a name: when it parses with what is
 * written after it, it is an expression.
 */
const isAlone = (tokens, i, count) => i === 0 && !tokens[count - 1].text.endsWith('.') &&
	!tokens.some((token, at) => at > 0 && at < count && token.hasNewline);

/* Whether an expression statement, the last, begins with token i. */
function isStatement(plain, kind, tokens, i, count) {
	const head = i > 0 ? plain.slice(0, tokens[i - 1].end) : '';
	const expression = plain.slice(tokens[i].start, tokens[count - 1].end);
	if (head) {
		if (parses(`${head} @`, kind)) /* inside of a comment, then */
			return false;
		const isApart = parses(`${head} debugger`, kind);
		if (!isApart && (!tokens[i].hasNewline || MAY_CONTINUE.has(tokens[i].text[0]) ||
			!parses(`${head}\ndebugger`, kind)))
			return false;
		if (!parses(head, kind))
			return false;
	}
	return parses(`return (\n${expression}\n)`, kind);
}

function write(text, plain, kind, tokens, i, count) {
	const { start } = tokens[i];
	const { end } = tokens[count - 1];
	if (NO_INTEREST.test(text.slice(start)))
		return null;
	const edits = []; /* [from, to, instead], in order */
	const touched = [];
	let shift = null;
	if (tokens.slice(i, count).some((token) => BINDS_LESS.has(token.text))) {
		if (start > 0 && ' \t'.includes(text[start - 1])) {
			edits.push([start - 1, start, '(']);
			touched.push(start - 1);
		} else if (i > 0) {
			edits.push([tokens[i - 1].end, tokens[i - 1].end, ';(']);
			touched.push(tokens[i - 1].end);
		} else if (!/=>|function|Error|class/.test(text)) {
			/* Without those, none but the report of an uncaught error can see the shift. */
			edits.push([start, start, '(']);
			touched.push(start);
			shift = start;
		} else {
			return null;
		}
	}
	const isWrapped = edits.length > 0;
	for (const token of tokens.slice(count)) {
		edits.push([token.start, token.end, ' ']);
		touched.push(token.start);
	}
	const lastEnd = tokens.at(-1).end;
	const newline = text.indexOf('\n', lastEnd);
	const suffix = (isWrapped ? ')' : '') + SUFFIX;
	edits.push(newline < 0 ? [text.length, text.length, `\n${suffix}`] : [newline + 1, newline + 1, suffix]);

	const apply = (source) => {
		let made = '';
		let from = 0;
		for (const [begin, stop, instead] of edits) {
			made += source.slice(from, begin) + instead;
			from = stop;
		}
		return made + source.slice(from);
	};
	if (!parses(apply(plain), kind))
		return null;
	const lines = new Map();
	for (const at of touched) {
		const number = text.slice(0, at).split('\n').length;
		const begin = text.lastIndexOf('\n', at - 1) + 1;
		const stop = text.indexOf('\n', at);
		const line = text.slice(begin, stop < 0 ? text.length : stop);
		if (/\bthrow\b/.test(line)) /* what it throws need not tell where it came from */
			return null;
		lines.set(number, { text: line, shift: shift === null ? Infinity : shift - begin });
	}
	return { text: apply(text), lines };
}

module.exports = { goal, detectsModules, patch, scan, maskModule };
