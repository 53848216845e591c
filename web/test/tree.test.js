// SPDX-License-Identifier: MIT
// Trees are compared with sums over whole stacks, made here by names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../src/data.js';
import { State } from '../src/state.js';
import { buildTree, childrenOf, nameOf, pathTo, treeOf } from '../src/tree.js';
import { view } from '../src/view.js';
import { bareRecording, hugeRecording, page, smallRecording } from './sample.mjs';

const [recording] = decode(page(smallRecording())).recordings;
const viewOf = (choice, of = recording) => {
  const state = new State();
  state.set(choice);
  return view(of, state);
};
const whole = viewOf({ cost: 'total' });

/** Names of a site's stack from main inwards, as a tree with these options shows it. */
function namesOf(site, { wrappers, inverted, mergeRecursion }) {
  let frames = recording.framesOf(recording.sites.node[site]);
  if (!wrappers) while (frames.length > 1 && recording.frames.wrapper[frames[0]]) frames = frames.slice(1);
  let names = frames.map((f) => recording.functionName(f));
  if (!inverted) names.reverse();
  if (mergeRecursion) names = names.filter((name, i) => names.indexOf(name) === i);
  return names;
}

/** "main/serve" -> weight of all stacks that pass there. */
function expected(v, options) {
  const sums = new Map();
  for (const site of v.order) {
    if (!(v.weight[site] > 0)) continue;
    const names = namesOf(site, options);
    for (let n = 1; n <= names.length; n++) {
      const path = names.slice(0, n).join('/');
      sums.set(path, (sums.get(path) ?? 0) + v.weight[site]);
    }
  }
  return sums;
}

const actual = (tree) =>
  new Map(
    Array.from({ length: tree.count - 1 }, (_, i) => [
      pathTo(tree, i + 1)
        .map((n) => nameOf(tree, n))
        .join('/'),
      tree.total[i + 1],
    ]),
  );
const sorted = (map) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

for (const [claim, options] of [
  ['top-down', {}],
  ['top-down with wrappers', { wrappers: true }],
  ['bottom-up', { inverted: true, openShare: 0 }],
  ['bottom-up with wrappers', { inverted: true, wrappers: true, openShare: 0 }],
  ['bottom-up with recursion merged', { inverted: true, mergeRecursion: true, openShare: 0 }],
]) {
  test(`a ${claim} tree has the sums of the stacks`, () =>
    assert.deepEqual(sorted(actual(buildTree(whole, options))), sorted(expected(whole, options))));
}

test('a function that allocates itself is shown with the line that allocates most', () => {
  // main calls f; f allocates in the lines of frames 1 and 2
  const forged = { frames: { function: [0, 1, 1] }, nodes: { count: 4, parent: [-1, 0, 1, 1], frame: [-1, 0, 1, 2] }, sites: { count: 2, node: [2, 3] } };
  const numbers = [10, 30],
    columns = { frees: [0, 0], lifetime_ms: [0, 0] };
  const tree = buildTree({ recording: forged, weight: numbers, bytes: numbers, count: numbers, columns }, { wrappers: true });
  assert.deepEqual([...tree.frame], [-1, 0, 2]);
  assert.deepEqual([...tree.self], [0, 0, 40]);
});

test('recursion is one node when it is merged, and its calls are counted once', () => {
  const plain = buildTree(whole, {}),
    merged = buildTree(whole, { mergeRecursion: true });
  const walks = (tree) => Array.from({ length: tree.count }, (_, n) => n).filter((n) => nameOf(tree, n) === 'walk');
  assert.equal(walks(plain).length, 4);
  assert.equal(walks(merged).length, 1);
  assert.equal(merged.total[walks(merged)[0]], plain.total[walks(plain)[0]]);
  assert.equal(merged.total[0], whole.totals.weight);
});

function assertSound(tree) {
  for (let n = 1; n < tree.count; n++) {
    assert.ok(tree.parent[n] < n);
    assert.equal(tree.depth[n], tree.depth[tree.parent[n]] + 1);
  }
  for (let n = 0; n < tree.count; n++) {
    const totals = childrenOf(tree, n).map((child) => tree.total[child]),
      sum = totals.reduce((a, b) => a + b, 0);
    assert.deepEqual(
      totals,
      [...totals].sort((a, b) => b - a),
    );
    assert.ok(sum <= tree.total[n] * (1 + 1e-9));
  }
}

test('children add up to no more than their parent and come largest first', () => {
  for (const options of [{}, { inverted: true }, { mergeRecursion: true }, { lines: true }]) assertSound(buildTree(whole, options));
});

test('self and children are the total', () => {
  const tree = buildTree(whole, {});
  for (let n = 0; n < tree.count; n++) {
    const sum = childrenOf(tree, n).reduce((a, child) => a + tree.total[child], tree.self[n]);
    assert.ok(Math.abs(sum - tree.total[n]) < 1e-6 * tree.total[n] + 1e-6);
  }
});

test('lines keep calls of one function apart', () => {
  assert.ok(buildTree(whole, { lines: true }).count >= buildTree(whole, {}).count);
});

test('what the view does not include is not in the tree', () => {
  const tree = buildTree(viewOf({ cost: 'total', filter: 'fn:worker_loop' }), {});
  assert.deepEqual(
    childrenOf(tree, 0).map((n) => nameOf(tree, n)),
    ['start_thread'],
  );
});

test('stacks that hold less at the end of a range are not drawn', () => {
  const v = viewOf({ cost: 'live', range: '40000..60000' }),
    tree = buildTree(v, {});
  assert.equal(tree.total[0], v.totals.weight);
  assert.ok([...tree.total].every((n) => n > 0));
});

test('small bottom-up nodes are not opened, and that is told', () => {
  const tree = buildTree(whole, { inverted: true, openShare: 0.2 });
  assert.ok(tree.cut > 0);
  assertSound(tree);
});

test('the same view and options give the same tree', () => {
  assert.equal(treeOf(whole, {}), treeOf(whole, {}));
  assert.notEqual(treeOf(whole, {}), treeOf(whole, { inverted: true }));
});

test('an empty recording has a tree with a root alone', () => {
  const [bare] = decode(page(bareRecording())).recordings;
  for (const inverted of [false, true]) assert.equal(buildTree(view(bare, new State()), { inverted }).count, 1);
});

test('large trees are sound in both directions', () => {
  const [big] = decode(page(hugeRecording({ siteCount: 4000, nodeCount: 9000, slices: 4 }))).recordings;
  const v = viewOf({ cost: 'total' }, big);
  for (const inverted of [false, true]) {
    const tree = buildTree(v, { inverted });
    assertSound(tree);
    assert.equal(tree.total[0], v.totals.weight);
  }
});
