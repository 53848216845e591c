// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../src/data.js';
import { parseFilter, sitesNamed, sitesNumbered, threadsOf } from '../src/filter.js';
import { page, smallRecording } from './sample.mjs';

const [recording] = decode(page(smallRecording())).recordings;
const stackOf = (site) => recording.framesOf(recording.sites.node[site]);
const shown = (text) => {
  const { terms, error } = parseFilter(text);
  assert.equal(error, '');
  return [...sitesNamed(recording, terms)].flatMap((one, site) => (one ? [site] : []));
};
const sitesWhere = (test) => Array.from({ length: recording.sites.count }, (_, site) => site).filter(test);

test('no filter shows everything', () => assert.equal(shown('').length, recording.sites.count));

test('a function anywhere in the stack counts', () => {
  const expected = sitesWhere((site) => stackOf(site).some((f) => recording.functionFullName(f).includes('open_page')));
  assert.ok(expected.length > 2);
  assert.deepEqual(shown('fn:open_page'), expected);
  assert.deepEqual(shown('FN:OPEN_PAGE'), expected);
});

test('a plain word looks into functions, files and modules', () => {
  assert.deepEqual(
    shown('libz'),
    sitesWhere((site) => stackOf(site).some((f) => recording.moduleOf(f).includes('libz'))),
  );
  assert.deepEqual(
    shown('image.c'),
    sitesWhere((site) => stackOf(site).some((f) => recording.fileOf(f).includes('image.c'))),
  );
  assert.ok(shown('libz').length > 0 && shown('image.c').length > 0);
});

test('mod: and file: look nowhere else', () => {
  assert.deepEqual(shown('mod:render'), []);
  assert.deepEqual(shown('file:libz'), []);
});

test('every word must fit, and a minus turns a word round', () => {
  const both = shown('open_page -load_image');
  assert.deepEqual(
    both,
    shown('open_page').filter((site) => !shown('load_image').includes(site)),
  );
  assert.ok(both.length > 0 && both.length < shown('open_page').length);
});

test('kind: looks at the function that gave the memory', () => {
  assert.deepEqual(
    shown('kind:calloc'),
    sitesWhere((site) => recording.kindOf(site) === 'calloc'),
  );
});

test('slashes make a regular expression, quotes keep words together', () => {
  assert.deepEqual(shown('fn:/^render$/'), shown('fn:render'));
  assert.deepEqual(shown('"Row, std::allocator"'), [7]);
});

test('names with colons are words', () => {
  assert.deepEqual(
    shown('json::Value'),
    sitesWhere((site) => stackOf(site).some((f) => recording.functionName(f).startsWith('json::Value'))),
  );
});

test('a wrong filter is told and filters nothing', () => {
  assert.match(parseFilter('size>big').error, /size>big: big is no number/);
  assert.match(parseFilter('/(/').error, /\/\(\//);
  assert.deepEqual(parseFilter('size>').terms, []);
});

test('threads are chosen by name or number', () => {
  const wanted = (text) => [...(threadsOf(recording, parseFilter(text).terms) ?? [])];
  assert.deepEqual(wanted('thread:worker'), [0, 0, 1, 1]);
  assert.deepEqual(wanted('thread:worker -thread:worker-2'), [0, 0, 1, 0]);
  assert.deepEqual(wanted('thread:4711'), [0, 1, 0, 0]);
  assert.equal(threadsOf(recording, parseFilter('worker').terms), null);
});

test('numbers are compared in their unit', () => {
  const rows = [
    { size: 100, count: 1, average: 10, lifetime: 5 },
    { size: 2 ** 21, count: 50, average: 64, lifetime: 3000 },
  ];
  const left = (text) => {
    const mask = Uint8Array.from([1, 1]);
    sitesNumbered(mask, parseFilter(text).terms, (site) => rows[site]);
    return [...mask];
  };
  assert.deepEqual(left('size>1M'), [0, 1]);
  assert.deepEqual(left('size<=100'), [1, 0]);
  assert.deepEqual(left('-size>1M'), [1, 0]);
  assert.deepEqual(left('count>10 lifetime>2s'), [0, 1]);
  assert.deepEqual(left('average<64'), [1, 0]);
});
