// SPDX-License-Identifier: Apache-2.0
/* Loader hooks for node before 20.19: a .js file with import or export in it is a module. */
import { readFile } from 'node:fs/promises';

let program;

export function initialize(data) {
	program = data;
}

export async function load(url, context, next) {
	if (url === program.url)
		return { format: 'module', source: program.text, shortCircuit: true };
	if (context.format !== 'commonjs' || !url.endsWith('.js') || url.includes('/node_modules/'))
		return next(url, context);
	const text = await readFile(new URL(url), 'utf8');
	if (!/^\s*(?:import\s*[\w{*"'$]|export\s+[\w{*])/m.test(text))
		return next(url, context);
	return { format: 'module', source: text, shortCircuit: true };
}
