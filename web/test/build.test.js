// SPDX-License-Identifier: MIT
// A machine where the packages cannot be had: the rest of seep is built all the same.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('..', import.meta.url));
const skip = existsSync(join(web, 'node_modules')) ? 'the packages are in the tree' : false;

/** Run build.mjs with an npm that fails; "" for none at all. */
function build(npm, ...words) {
  const folder = mkdtempSync(join(tmpdir(), 'seep-build-'));
  try {
    if (npm) {
      writeFileSync(join(folder, 'npm'), npm);
      chmodSync(join(folder, 'npm'), 0o755);
    }
    const done = spawnSync(process.execPath, [join(web, 'build.mjs'), '--modules', join(folder, 'm'), ...words, '--depfile', join(folder, 'd'), join(folder, 'out.html')], {
      env: { ...process.env, PATH: folder },
      encoding: 'utf8',
    });
    const written = (name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : null);
    return { status: done.status, said: done.stderr, page: written('out.html'), depfile: written('d') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const [what, npm] of [
  ['is missing', ''],
  ['fails', '#!/bin/sh\nexit 1\n'],
]) {
  test(`npm ${what}: an optional page is left out, and a line says how to get it`, { skip }, () => {
    const done = build(npm, '--optional');
    assert.equal(done.status, 0);
    assert.equal(done.page, '');
    assert.match(done.depfile, /build\.mjs/);
    assert.equal(done.said.trim().split('\n').length, 1);
    assert.match(done.said, /the page is left out/);
  });

  test(`npm ${what}: a page that was asked for is an error`, { skip }, () => {
    const done = build(npm);
    assert.equal(done.status, 1);
    assert.equal(done.page, null);
  });
}
