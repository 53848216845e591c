// SPDX-License-Identifier: MIT
// The template that is built into seep; meson gives its path in SEEP_PAGE.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';

const skip = process.env.SEEP_PAGE ? false : 'SEEP_PAGE does not name a built template';
const html = skip ? '' : readFileSync(process.env.SEEP_PAGE, 'utf8');
const here = new URL('.', import.meta.url);
const policy = () => /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)[1];
const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const code = () => gunzipSync(Buffer.from(/id="seep-script">([^<]*)</.exec(html)[1], 'base64')).toString();

test('the template has at most 200,000 bytes', { skip }, () => assert.ok(Buffer.byteLength(html) <= 200_000));

test('the place for the data is there once, and empty', { skip }, () => {
  assert.equal(html.split('<script type="application/octet-stream" id="seep-data"></script>').length, 2);
});

test('the policy allows its own style and scripts by their hashes, and no eval', { skip }, () => {
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((found) => found[1]);
  assert.equal(scripts.length, 1);
  for (const text of [scripts[0], code()]) assert.ok(policy().includes(hashOf(text)));
  assert.ok(policy().includes(`style-src ${hashOf(/<style>([\s\S]*?)<\/style>/.exec(html)[1])};`));
  assert.ok(policy().startsWith("default-src 'none';"));
  assert.doesNotMatch(policy(), /unsafe|https?:|\*|blob:/);
});

test('nothing comes from elsewhere', { skip }, () => {
  const addresses = [...`${html}${code()}`.matchAll(/https?:\/\/[^\s"'`)]+/g)].map((found) => found[0]);
  assert.deepEqual(
    addresses.filter((address) => address !== 'http://www.w3.org/2000/svg'),
    [],
  );
});

test('the script uses no eval and writes no markup', { skip }, () =>
  assert.doesNotMatch(code(), /\beval\(|new Function\(|\.innerHTML\s*=[^=]|insertAdjacentHTML|document\.write/),
);

test('every test of the modules is listed for meson', () => {
  const listed = readFileSync(new URL('../meson.build', here), 'utf8');
  for (const file of readdirSync(here))
    if (file.endsWith('.test.js')) assert.ok(listed.includes(`'${file.replace('.test.js', '')}'`), `${file} is not in web/meson.build`);
});
