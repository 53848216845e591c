// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { decode, load, unpack } from '../src/data.js';
import { bareRecording, page, smallRecording } from './sample.mjs';

const small = () => decode(page(smallRecording())).recordings[0];
/** What the browser gives for the tag with the data. */
const documentWith = (text, live) => ({ getElementById: () => ({ textContent: text, dataset: live ? { live } : {} }) });

test('columns become typed arrays with the same numbers', () => {
  const json = smallRecording(),
    recording = small();
  assert.ok(recording.sites.live_bytes instanceof Float64Array);
  assert.ok(recording.nodes.parent instanceof Int32Array);
  assert.deepEqual([...recording.sites.live_bytes], json.sites.live_bytes);
  assert.deepEqual([...recording.nodes.parent], json.nodes.parent);
});

test('a number stands for a column of it', () => {
  const json = smallRecording();
  json.sites.temporary = 7;
  const { sites } = decode(page(json)).recordings[0];
  assert.deepEqual([...sites.temporary], new Array(sites.count).fill(7));
});

test('what a recording does not have is an empty table', () => {
  const [recording] = decode(page(bareRecording())).recordings;
  assert.equal(recording.sites.count, 0);
  assert.equal(recording.leaks.rows.count, 0);
  assert.equal(recording.owners, null);
  assert.equal(recording.sliceAt(5), -1);
});

test('a column of the wrong length is told, with its table', () => {
  const json = smallRecording();
  json.sites.live_bytes = json.sites.live_bytes.slice(1);
  assert.throws(() => decode(page(json)), /table sites: the column live_bytes has 14 entries instead of 15/);
});

test('an index that points nowhere is refused', () => {
  for (const [table, column, value] of [
    ['nodes', 'parent', 99999],
    ['nodes', 'frame', 99999],
    ['frames', 'function', 5000],
    ['sites', 'node', -2],
    ['changes', 'site', 77],
    ['changes', 'slice', -1],
  ]) {
    const json = smallRecording();
    json[table][column][json[table].count - 1] = value;
    assert.throws(() => decode(page(json)), Error, `${table}.${column}`);
  }
});

test('data of another version are refused', () => {
  assert.throws(() => decode({ seep_page: 2, recordings: [] }), /version/);
  assert.throws(() => decode(null), /not the data/);
});

test('the text in the page is unpacked', async () => {
  const packed = gzipSync(JSON.stringify(page(smallRecording()))).toString('base64');
  const data = await load(documentWith(`\n${packed}\n`, '/secret/data'));
  assert.equal(data.recordings[0].meta.program, './server');
  assert.equal(data.path, '/secret/data');
  assert.equal((await load(documentWith(packed))).path, null);
});

test('a page without data, or with damaged ones, says so', async () => {
  await assert.rejects(load(documentWith('  ')), /no data/);
  await assert.rejects(unpack(gzipSync('{"a":1}').subarray(0, 12)));
});

test('a stack is listed from the inside, and begins with the first own function', () => {
  const recording = small(),
    site = 0;
  assert.deepEqual(
    recording.framesOf(recording.sites.node[site]).map((f) => recording.functionName(f)),
    ['xmalloc', 'session_new', 'accept_client', 'serve', 'main'],
  );
  assert.equal(recording.siteName(site), 'session_new');
  assert.match(recording.placeOf(recording.siteFrame(site)), /^session\.c:\d+$/);
});

test('frames of the library of the language are passed over where there is room for one name', () => {
  const json = smallRecording(),
    [before] = decode(page(json)).recordings,
    site = 7;
  assert.match(before.siteName(site), /push_back/);
  json.frames.library = json.frames.function.map((f) => (/^std::/.test(json.strings[json.functions.short[f]]) ? 1 : 0));
  const [recording] = decode(page(json)).recordings;
  assert.equal(recording.siteName(site), 'json::Value::append');
  recording.frames.library.fill(1);
  assert.match(recording.siteName(site), /push_back/, 'where all are, the innermost stands for it');
});

test('a function without a source is placed by its module', () => {
  const recording = small(),
    frame = [...recording.frames.function].findIndex((_, f) => recording.functionName(f) === 'inflateInit2_');
  assert.equal(recording.placeOf(frame), 'libz.so.1');
});

test('the slice of a moment is the last that is not later', () => {
  const recording = small(),
    { ms } = recording.slices;
  assert.equal(recording.sliceAt(-1), -1);
  assert.equal(recording.sliceAt(0), 0);
  assert.equal(recording.sliceAt(ms[7]), 7);
  assert.equal(recording.sliceAt(ms[8] - 1), 7);
  assert.equal(recording.sliceAt(1e12), ms.length - 1);
});

test('a row of all the rest has no stack', () => {
  const json = smallRecording();
  json.sites.id[3] = 0;
  json.sites.node[3] = 0;
  const [recording] = decode(page(json)).recordings;
  assert.equal(recording.siteName(3), '(all others)');
  assert.deepEqual(recording.framesOf(0), []);
});
