// SPDX-License-Identifier: MIT
// The layers of the timeline are compared with sums over the changes of the forged data; rises with curves drawn by hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../src/data.js';
import { namedRises, risesOf } from '../src/rises.js';
import { LAYERS, layersOf, slicesOf } from '../src/stacked.js';
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
