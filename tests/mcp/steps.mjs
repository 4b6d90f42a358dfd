// SPDX-License-Identifier: Apache-2.0
// What both official clients do with hotcell. `call` takes a tool, its arguments and options.
import assert from 'node:assert/strict';

const text = result => result.content[0].text;

export async function steps(client, call) {
  assert.equal(client.getServerVersion().name, 'hotcell');
  const names = (await client.listTools()).tools.map(tool => tool.name);
  assert.ok(names.includes('run_code') && names.includes('session_exec'), names.join());

  const result = await call('run_code', { code: 'print(6 * 7)' });
  assert.equal(text(result), '42\n');
  assert.equal(result.structuredContent.status, 'ok');

  const failed = await call('run_code', { code: '1 / 0' });
  assert.equal(failed.isError, true);
  assert.match(text(failed), /ZeroDivisionError/);

  const told = [];
  await call('run_code',
    { code: "import time\nfor i in range(3):\n  print('line', i, flush=True)\n  time.sleep(0.2)" },
    { onprogress: progress => told.push(progress.message) });
  assert.ok(told.includes('line 0'), told.join());

  const leaving = new AbortController();
  const long = call('run_code', { code: "import time\nprint('on', flush=True)\ntime.sleep(50)" },
    { signal: leaving.signal, onprogress: progress => progress.message === 'on' && leaving.abort() });
  await assert.rejects(long);
  assert.equal(text(await call('run_code', { code: "print('after')" })), 'after\n');

  const { name } = (await call('session_new', {})).structuredContent;
  await call('session_exec', { session: name, code: 'x = 5' });
  assert.equal(text(await call('session_exec', { session: name, code: 'x + 1' })), '=> 6\n');
  await call('session_kill', { session: name });

  const picture = await call('run_code', {
    code: "import base64\nclass P:\n  def _repr_png_(self):\n" +
      "    return base64.b64decode('iVBORw0KGgo=')\nP()" });
  assert.equal(picture.content[1].type, 'image');
}
