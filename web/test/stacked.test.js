// SPDX-License-Identifier: MIT
// The layers of the timeline are compared with sums over the changes of the forged data; rises with curves drawn by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../src/data.js';
import { nearMarks } from '../src/moments.js';
import { namedRises, risesOf } from '../src/rises.js';
import { LAYERS, layersOf, peakBetween, slicesOf, valuesWithPeak } from '../src/stacked.js';
import { bareRecording, page, smallRecording } from './sample.mjs';

const json = smallRecording();
const [recording] = decode(page(json)).recordings;
const sites = Array.from({ length: json.sites.count }, (_, s) => s);

/** What the sites held together at a slice: the last change of each up to then. */
function heldAt(slice, which, key = 'live_bytes') {
  const last = new Map();
  for (let i = 0; i < json.changes.count; i++) if (json.changes.slice[i] <= slice) last.set(json.changes.site[i], json.changes[key][i]);
  return which.reduce((sum, s) => sum + (last.get(s) ?? 0), 0);
}

for (const by of ['place', 'module', 'thread']) {
  test(`the layers by ${by} add up to all that was live`, () => {
    const layers = layersOf(recording, by, '');
    assert.ok(layers.length > 0 && layers.length <= LAYERS + 1);
    for (const slice of [0, 7, 100, json.slices.count - 1]) {
      assert.equal(layers.reduce((sum, one) => sum + one.values[slice], 0), heldAt(slice, sites.filter((s) => json.sites.heap[s])));
    }
  });
}

test('a layer has what the stacks of its function held', () => {
  const slice = 100;
  for (const { name, values, rest } of layersOf(recording, 'place', '').filter((one) => !one.rest)) {
    assert.equal(rest, false);
    assert.equal(values[slice], heldAt(slice, sites.filter((s) => json.sites.heap[s] && recording.siteName(s) === name)), name);
  }
});

test('mapped memory has layers of its own, and both have all', () => {
  const slice = json.slices.count - 1, mapped = sites.filter((s) => !json.sites.heap[s]);
  const sum = (which) => layersOf(recording, 'module', which).reduce((all, one) => all + one.values[slice], 0);
  assert.equal(sum('1'), heldAt(slice, mapped));
  assert.equal(sum('both'), heldAt(slice, sites));
  assert.equal(slicesOf(recording, '1').live_bytes[slice], heldAt(slice, mapped));
  assert.equal(slicesOf(recording, 'both').live_bytes[slice], json.slices.live_bytes[slice] + heldAt(slice, mapped));
  assert.equal(slicesOf(recording, 'both').allocs[slice], json.slices.allocs[slice] + heldAt(slice, mapped, 'allocs'));
  assert.equal(slicesOf(recording, ''), recording.slices);
});

test('address space of which little is used is in no sum of heap and mappings', () => {
  const [reserved] = decode(page({ ...json, sites: { ...json.sites, reserved: json.sites.heap.map((heap) => 1 - heap) } })).recordings, slice = json.slices.count - 1;
  assert.equal(slicesOf(reserved, 'both').live_bytes[slice], json.slices.live_bytes[slice]);
  assert.equal(slicesOf(reserved, '1').live_bytes[slice], slicesOf(recording, '1').live_bytes[slice]);
  const sum = (which) => layersOf(reserved, 'module', which).reduce((all, one) => all + one.values[slice], 0);
  assert.equal(sum('both'), sum(''));
  assert.deepEqual(layersOf(reserved, 'module', '1'), layersOf(recording, 'module', '1'));
});

test('a peak between two slices is a point of its own, of the sum and of each layer', () => {
  const { ms, live_bytes: live } = recording.slices, at = 8, most = Math.max(...live) + 1000, when = (ms[at - 1] + ms[at]) / 2,
    withPeak = (bytes) => decode(page({ ...json, totals: { ...json.totals, peak_ms: when, peak_bytes: bytes, peak_blocks: 77 } })).recordings[0],
    peaked = withPeak(most), peak = peakBetween(peaked, ''), column = json.sites.peak_bytes;
  assert.deepEqual(peak, { at, ms: when, live_bytes: most, live_blocks: 77 });
  assert.equal(peakBetween(peaked, 'both').live_bytes, most + sites.reduce((sum, s) => sum + (json.sites.heap[s] ? 0 : column[s]), 0));
  assert.equal(peakBetween(peaked, '1'), null);
  assert.equal(peakBetween(withPeak(live[at]), ''), null, 'the slices show more');
  assert.deepEqual(valuesWithPeak(live, ms, peak, most).slice(at - 1, at + 2), [live[at - 1], most, live[at]]);
  assert.equal(valuesWithPeak(live, ms, peak)[at], (live[at - 1] + live[at]) / 2);
  assert.equal(valuesWithPeak(live, ms, null, most), live);
  for (const layer of layersOf(peaked, 'place', '').filter((one) => !one.rest)) {
    assert.equal(layer.peak, sites.reduce((sum, s) => sum + (json.sites.heap[s] && peaked.siteName(s) === layer.name ? column[s] : 0), 0), layer.name);
  }
});

test('a recording without a course has no layers and no rises', () => {
  const [bare] = decode(page(bareRecording())).recordings;
  assert.deepEqual(layersOf(bare, 'place', ''), []);
  assert.deepEqual(namedRises(bare, bare.slices.live_bytes, ''), []);
});

/** A curve with one point each 10 ms. */
const rises = (...values) => risesOf(values, values.map((_, i) => 10 * i)).map(({ from, to, more }) => [from, to, more]);

test('a rise goes from a minimum to the maximum behind it', () => assert.deepEqual(rises(0, 40, 100, 60, 20, 50, 90, 10), [[-1, 2, 100], [4, 6, 70]]));

test('small falls do not end a rise', () => assert.deepEqual(rises(0, 30, 28, 60, 58, 100), [[-1, 5, 100]]));

test('a level stretch parts two rises', () => {
  const level = Array.from({ length: 10 }, () => 50);
  const found = rises(0, 50, ...level, 70, 100);
  assert.equal(found.length, 2);
  assert.deepEqual(found.map(([, , more]) => more).sort((a, b) => a - b), [50, 50]);
  assert.ok(found[1][0] >= 1 && found[1][1] === 13);
});

test('the three largest are told, and none of a flat line', () => {
  assert.deepEqual(rises(10, 0, 20, 0, 30, 0, 40, 0).map(([, , more]) => more), [40, 30, 20]);
  assert.deepEqual(rises(0, 0, 0), []);
  assert.deepEqual(rises(), []);
});

test('a rise has the name of the function that grew the most in it', () => {
  const [rise] = namedRises(recording, recording.slices.live_bytes, ''), grown = new Map();
  for (const s of sites.filter((one) => json.sites.heap[one])) {
    const more = heldAt(json.changes.slice.find((one) => one >= rise.to), [s]) - (rise.from < 0 ? 0 : heldAt(rise.from, [s]));
    grown.set(recording.siteName(s), (grown.get(recording.siteName(s)) ?? 0) + more);
  }
  const [[name, part]] = [...grown].sort((a, b) => b[1] - a[1]);
  assert.deepEqual([rise.name, rise.part], [name, part]);
});

/** The small recording with the changes of every tenth slice only: the others have totals. */
function sparse() {
  const thin = smallRecording(),
    out = { slice: [], site: [], live_bytes: [], live_blocks: [], allocs: [], alloc_bytes: [] };
  for (let slice = 0; slice < thin.slices.count; slice += 10) {
    for (const site of sites) {
      out.slice.push(slice);
      out.site.push(site);
      for (const key of ['live_bytes', 'live_blocks', 'allocs', 'alloc_bytes']) out[key].push(heldAt(slice, [site], key));
    }
  }
  thin.changes = { count: out.slice.length, ...out };
  return decode(page(thin)).recordings[0];
}

test('between slices that tell of sites the layers go as the sum does, and never above it', () => {
  const thin = sparse(),
    layers = layersOf(thin, 'place', ''),
    sumAt = (slice) => layers.reduce((sum, one) => sum + one.values[slice], 0);
  let straight = 0;
  for (let slice = 20; slice + 10 < thin.slices.count; slice++) {
    assert.ok(sumAt(slice) <= thin.slices.live_bytes[slice] * (1 + 1e-9), `slice ${slice}`);
    const { values } = layers[0],
      [from, to] = [values[10 * Math.floor(slice / 10)], values[10 * Math.floor(slice / 10) + 10]];
    if (values[slice] > Math.min(from, to) && values[slice] < Math.max(from, to)) straight++;
  }
  assert.ok(straight > 20, `${straight} of ${thin.slices.count}`);
});

test('a rise that begins between two looks is told from the nearer one', () => {
  const made = { ...smallRecording(), marks: { count: 0, ms: [], slice: [], type: [], seq: [], label: [], thread: [] } };
  const live = [0, 0, 400, 400, 400, 900];
  made.slices = { ...Object.fromEntries(['live_blocks', 'allocs', 'alloc_bytes', 'frees', 'rss_bytes'].map((key) => [key, live.map(() => 0)])), count: 6, ms: [0, 100, 110, 190, 191, 200], live_bytes: [100, 100, 400, 0, 10, 900] };
  made.changes = { count: 3, slice: [0, 4, 5], site: [5, 5, 5], live_bytes: [100, 10, 900], live_blocks: [1, 1, 1], allocs: [1, 1, 1], alloc_bytes: [1, 1, 1] };
  const [one] = decode(page(made)).recordings;
  assert.deepEqual(namedRises(one, one.slices.live_bytes, '').map(({ from, to, more, part }) => [from, to, more, part])[0], [3, 5, 900, 890]);
});

test('a snapshot beside the peak keeps its name', () => {
  const marks = [
    { x: 10, letter: 'N', type: 'thread' },
    { x: 100, letter: 'P', type: 'peak' },
    { x: 104, letter: 'S', name: 'loaded', type: 'snapshot' },
    { x: 105, letter: 'S', name: 'again', type: 'snapshot' },
    { x: 111, letter: 'T', name: 'end', type: 'tag' },
  ];
  assert.deepEqual(nearMarks(marks, 10), [
    { x: 10, letters: 'N', text: 'N', type: 'thread' },
    { x: 100, letters: 'PS', text: 'PS loaded, again', type: 'snapshot' },
    { x: 111, letters: 'T', text: 'T end', type: 'tag' },
  ]);
});

test('a layer that was freed at the end stands until the sum falls', () => {
  const made = { ...smallRecording(), marks: { count: 0, ms: [], slice: [], type: [], seq: [], label: [], thread: [] } };
  const zeros = [0, 0, 0, 0];
  made.slices = { count: 4, ms: [0, 10, 90, 100], live_bytes: [800, 900, 880, 100], live_blocks: zeros, allocs: zeros, alloc_bytes: zeros, frees: zeros, rss_bytes: zeros };
  made.changes = { count: 2, slice: [0, 3], site: [5, 5], live_bytes: [800, 100], live_blocks: [1, 1], allocs: [1, 1], alloc_bytes: [1, 1] };
  const [one] = decode(page(made)).recordings;
  assert.deepEqual([...layersOf(one, 'place', '')[0].values], [800, 800, 800, 100]);
});
