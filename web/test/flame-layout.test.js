// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';
import { firstEndingAfter, matcher, neighbour, place, placeAt, search, textFitter, visit } from '../src/flame-layout.js';
import { link } from '../src/tree.js';

/** A tree from nested [label, self, ...children], as tree.js would make it. */
function treeOf(nested) {
  const rows = [];
  const add = ([label, self, ...children], parent) => {
    const node = rows.push({ label, parent, total: self }) - 1;
    for (const child of children) rows[node].total += add(child, node);
    return rows[node].total;
  };
  add(nested, -1);
  const column = (name) => rows.map((row) => row[name]);
  const tree = { count: rows.length, parent: column('parent'), total: column('total'), label: column('label') };
  link(tree);
  return tree;
}

const TREE = treeOf(['all', 0,
  ['main', 10, ['parse', 20, ['copy', 30]], ['copy', 25, ['copy', 5]]],
  ['worker', 10, ['nothing', 0]]]);
const PLACES = place(TREE);
const labelAt = (at) => TREE.label[PLACES.node[at]];

function seenIn(view, places = PLACES, tree = TREE) {
  const seen = [], rest = [];
  visit(places, { rows: { from: 0, to: 99 }, narrow: 0.5, ...view },
    (at, x, width) => seen.push([tree.label[places.node[at]], x, width]),
    (at, x, width) => rest.push([tree.label[places.node[at]], x, width]));
  return { seen: seen.sort((a, b) => a[1] - b[1] || b[2] - a[2]), rest };
}

test('children lie side by side below their parent, widest first', () => {
  assert.deepEqual(Array.from({ length: PLACES.count }, (_, at) => labelAt(at)),
    ['all', 'main', 'worker', 'parse', 'copy', 'copy', 'copy']);
  assert.deepEqual([...PLACES.begin.slice(0, 7)], [0, 0, 90, 0, 50, 0, 50]);
  assert.deepEqual([...PLACES.width.slice(0, 7)], [100, 90, 10, 50, 30, 30, 5]);
  assert.equal(PLACES.height[0], 3);
});

test('a frame without cost has no place', () => {
  assert.equal(PLACES.placeOf[TREE.label.indexOf('nothing')], -1);
});

test('an empty tree has no places and nothing to draw', () => {
  const none = place({ count: 0 });
  assert.equal(none.count, 0);
  assert.equal(placeAt(none, 0, 0), -1);
  assert.deepEqual(seenIn({ window: { left: 0, right: 1 }, pixels: 100 }, none), { seen: [], rest: [] });
});

test('all frames are seen when there is room', () => {
  const { seen, rest } = seenIn({ window: { left: 0, right: 100 }, pixels: 1000 });
  assert.equal(seen.length, 7);
  assert.deepEqual(rest, []);
  assert.deepEqual(seen.find(([label]) => label === 'worker'), ['worker', 900, 100]);
});

test('in a zoomed window callers are as wide as the window and others are left out', () => {
  const { seen } = seenIn({ window: { left: 0, right: 50 }, pixels: 500 });
  assert.deepEqual(seen.map(([label, , width]) => [label, width]),
    [['all', 500], ['main', 500], ['parse', 500], ['copy', 300]]);
});

test('rows outside of the sight are not drawn', () => {
  const { seen } = seenIn({ window: { left: 0, right: 100 }, pixels: 1000, rows: { from: 2, to: 3 } });
  assert.deepEqual(seen.map(([label]) => label), ['parse', 'copy']);
});

test('frames too narrow to be seen are drawn as one', () => {
  const many = treeOf(['all', 0, ['wide', 9000], ...Array.from({ length: 1000 }, (_, i) => [`narrow${i}`, 1])]);
  const { seen, rest } = seenIn({ window: { left: 0, right: 10000 }, pixels: 1000 }, place(many), many);
  assert.deepEqual(seen.map(([label]) => label), ['all', 'wide']);
  assert.deepEqual(rest, [['all', 900, 100]]);
});

test('the frame under the pointer is found', () => {
  assert.equal(labelAt(placeAt(PLACES, 55, 2)), 'copy');
  assert.equal(labelAt(placeAt(PLACES, 95, 1)), 'worker');
  assert.equal(placeAt(PLACES, 85, 2), -1);
  assert.equal(placeAt(PLACES, 100, 0), -1);
  assert.equal(placeAt(PLACES, 95, 9), -1);
});

test('binary search gives the first frame right of a point', () => {
  assert.equal(firstEndingAfter(PLACES, 3, 5, 49), 3);
  assert.equal(firstEndingAfter(PLACES, 3, 5, 50), 4);
  assert.equal(firstEndingAfter(PLACES, 3, 5, 80), 5);
});

test('arrows lead to caller, widest callee and along the row, and stop at the window', () => {
  const all = { left: 0, right: 100 };
  assert.equal(labelAt(neighbour(PLACES, 0, 'child', all)), 'main');
  assert.equal(labelAt(neighbour(PLACES, 3, 'parent', all)), 'main');
  assert.equal(labelAt(neighbour(PLACES, 1, 'right', all)), 'worker');
  assert.equal(neighbour(PLACES, 2, 'right', all), 2);
  assert.equal(neighbour(PLACES, 1, 'right', { left: 0, right: 90 }), 1);
  assert.equal(neighbour(PLACES, 0, 'parent', all), 0);
  assert.equal(neighbour(PLACES, 2, 'child', all), 2);
});

test('a match below another match is counted once', () => {
  const found = search(PLACES, matcher('COPY'), (node) => TREE.label[node], (node) => TREE.label[node]);
  assert.equal(found.frames, 3);
  assert.equal(found.total, 60);
});

test('a search is plain text unless it stands between slashes', () => {
  assert.ok(matcher('a.c')('main (a.c)'));
  assert.ok(!matcher('a.c')('abc'));
  assert.ok(matcher('/^a.c$/')('ABC'));
  assert.ok(!matcher('/^a.c$/')('xabc'));
  assert.equal(matcher('  '), null);
});

test('a regular expression that is not finished finds nothing and does not throw', () => {
  assert.equal(matcher('/(/')('('), false);
});

test('each label is tested once, however many frames have it', () => {
  let times = 0;
  search(PLACES, () => { times++; return true; }, (node) => TREE.label[node], (node) => TREE.label[node]);
  assert.equal(times, 4);
});

test('a name that is too long for its box loses what it is made of before its end', () => {
  const fit = textFitter((text) => text.length * 10);
  assert.equal(fit('<app::Crop as core::clone::Clone>::clone', 400), '<app::Crop as core::clone::Clone>::clone');
  assert.equal(fit('<app::Crop as core::clone::Clone>::clone', 160), 'app::Crop::clone');
  assert.equal(fit('<app::Crop as core::clone::Clone>::clone', 100), 'app::Crop…');
  assert.equal(fit('Cache<long, std::string>::put', 130), 'Cache<…>::put');
});

test('labels are cut to the room and measured once', () => {
  let measured = 0;
  const fit = textFitter((text) => { measured++; return text.length * 10; });
  assert.equal(fit('function', 80), 'function');
  assert.equal(fit('function', 50), 'func…');
  assert.equal(fit('function', 5), '');
  const before = measured;
  fit('function', 50);
  assert.equal(measured, before);
});
