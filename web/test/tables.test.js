// SPDX-License-Identifier: MIT
// Rows of the pages Table and Diff, compared with sums made here from the sites and stacks themselves.
import assert from 'node:assert/strict';
import test from 'node:test';
import { toCsv } from '../src/csv.js';
import { Recording, decode } from '../src/data.js';
import { changeOf, changedStacks, mergeTrees, stateWith } from '../src/differ.js';
import { functionTerm } from '../src/explain.js';
import { groupFrames, groupSizes, groupThreads } from '../src/groups.js';
import { parseFilter } from '../src/filter.js';
import { commonCosts, momentsToChoose, sidesOf, viewOfSide } from '../src/sides.js';
import { State } from '../src/state.js';
import { treeOf } from '../src/tree.js';
import { Unfolded, nodeOfStack } from '../src/unfold.js';
import { view } from '../src/view.js';
import { KINDS } from './sample.mjs';

const load = (name) => decode(JSON.parse(JSON.stringify(KINDS[name]()))).recordings;
const stateOf = (values) => {
  const state = new State(null);
  state.set(values);
  return state;
};
const [SMALL] = load('small');
const WRAPPERS = { wrappers: true };
const TOTAL = view(SMALL, stateOf({ cost: 'total' }));
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b)), `${a} is not ${b}`);

/** Bytes allocated in stacks with a frame for which HOLDS, each stack once. */
function bytesWith(recording, holds) {
  let sum = 0;
  const { sites } = recording;
  for (let s = 0; s < sites.count; s++) if (sites.heap[s] && recording.framesOf(sites.node[s]).some(holds)) sum += sites.alloc_bytes[s];
  return sum;
}

test('a function has the bytes of all stacks with it, each once', () => {
  const rows = groupFrames(TOTAL, 'function', WRAPPERS);
  assert.ok(rows.length > 5);
  for (const row of rows) near(row.total, bytesWith(SMALL, (frame) => SMALL.functionName(frame) === row.name));
});

test('what functions have for themselves is everything together', () => {
  for (const kind of ['function', 'file', 'module']) {
    near(groupFrames(TOTAL, kind, WRAPPERS).reduce((sum, row) => sum + row.self, 0), TOTAL.totals.weight);
  }
});

test('a recursive function is not counted twice', () => {
  const walk = groupFrames(TOTAL, 'function', WRAPPERS).find((row) => row.name === 'walk');
  near(walk.total, bytesWith(SMALL, (frame) => SMALL.functionName(frame) === 'walk'));
  assert.ok(walk.total <= TOTAL.totals.weight);
});

test('modules have the bytes of all stacks that pass through them', () => {
  for (const row of groupFrames(TOTAL, 'module', WRAPPERS)) near(row.total, bytesWith(SMALL, (frame) => SMALL.moduleOf(frame) === row.name));
});

test('sizes add up to the whole and know their filter', () => {
  const rows = groupSizes(TOTAL);
  near(rows.reduce((sum, row) => sum + row.total, 0), TOTAL.totals.weight);
  for (const row of rows) {
    const narrowed = view(SMALL, stateOf({ cost: 'total', filter: row.filter }));
    near(narrowed.totals.weight, row.total);
  }
});

test('threads have what their shares say; costs of no thread have no rows', () => {
  const rows = groupThreads(TOTAL);
  const { shares, sites } = SMALL;
  let sum = 0;
  for (let i = 0; i < shares.count; i++) if (sites.heap[shares.site[i]]) sum += shares.alloc_bytes[i];
  near(rows.reduce((total, row) => total + row.total, 0), sum);
  assert.equal(groupThreads(view(SMALL, stateOf({ cost: 'peak' }))), null);
});

test('a chosen thread is the only row', () => {
  const thread = SMALL.shares.thread[0];
  const rows = groupThreads(view(SMALL, stateOf({ cost: 'total', thread: String(thread) })));
  assert.deepEqual(rows.map((row) => row.thread), [thread]);
});

test('a tree shows the children of open rows only', () => {
  const rows = new Unfolded(treeOf(TOTAL));
  const first = rows.rows();
  assert.ok(first.every((row) => row.level === 1));
  rows.toggle(first[0]);
  assert.ok(rows.rows().some((row) => row.level === 2));
  rows.openAll();
  assert.equal(rows.rows().length, rows.tree.count - 1);
  rows.closeAll();
  assert.equal(rows.rows().length, first.length);
});

test('of the largest rows none is opened that has hardly anything', () => {
  const tree = treeOf(TOTAL),
    rows = new Unfolded(tree);
  rows.openLargest(tree.count);
  const opened = rows.rows().filter((row) => row.open ?? rows.isOpen(row));
  assert.ok(opened.length > 0);
  assert.ok(opened.every((row) => tree.total[row.node] >= tree.total[0] / 100));
  const tiny = rows.rows().filter((row) => tree.total[row.node] < tree.total[0] / 100 && tree.firstChild[row.node] >= 0);
  assert.ok(tiny.length > 0, 'there are such rows');
});

test('rows of a tree come in the order of siblings', () => {
  const rows = new Unfolded(treeOf(TOTAL));
  rows.openAll();
  const byName = rows.rows((a, b) => (a.name < b.name ? -1 : 1));
  const siblings = new Map();
  for (const row of byName) {
    const parent = rows.tree.parent[row.node];
    assert.ok((siblings.get(parent) ?? '') <= row.name);
    siblings.set(parent, row.name);
  }
});

test('the row of a site is found by its stack', () => {
  const tree = treeOf(TOTAL, WRAPPERS);
  for (let s = 0; s < SMALL.sites.count; s++) {
    if (!(TOTAL.weight[s] > 0)) continue;
    const frames = SMALL.framesOf(SMALL.sites.node[s]);
    assert.equal(tree.function[nodeOfStack(tree, SMALL.sites.node[s])], SMALL.frames.function[frames[0]]);
  }
});

test('only exactly the function is meant where its name is part of another one', () => {
  const strings = ['walk', 'walk_all', 'operator"" _s'];
  const none = [-1, -1, -1];
  const recording = new Recording({ strings, functions: { count: 3, name: [0, 1, 2], short: [0, 1, 2], file: none, module: none } }, 0);
  for (const name of strings) {
    const [term] = parseFilter(functionTerm(recording, name)).terms;
    assert.deepEqual(strings.filter((other) => term.matches(other)), [name]);
  }
});

test('nothing differs from itself', () => {
  const tree = mergeTrees(TOTAL, TOTAL, {});
  assert.deepEqual(changedStacks(tree), []);
  near(tree.sides[0][0], TOTAL.totals.weight);
});

test('changes of all stacks are the change of the whole', () => {
  const [before, after] = load('pair').map((recording) => view(recording, stateOf({ cost: 'total' })));
  const tree = mergeTrees(before, after, {});
  near(changeOf(tree, 0), after.totals.weight - before.totals.weight);
  near(changedStacks(tree).reduce((sum, row) => sum + row.change, 0), changeOf(tree, 0));
});

test('between two moments a stack that began in between is new, and the other way round gone', () => {
  const state = stateOf({ cost: 'live' });
  const sides = ['0', String(SMALL.meta.duration_ms)].map((at) => view(SMALL, stateWith(state, { at, range: '' })));
  const forth = changedStacks(mergeTrees(...sides, WRAPPERS)), back = changedStacks(mergeTrees(...[...sides].reverse(), WRAPPERS));
  assert.ok(forth.some((row) => row.status === 'new'));
  assert.equal(forth.filter((row) => row.status === 'new').length, back.filter((row) => row.status === 'gone').length);
  for (const row of forth) assert.equal(row.change, row.after - row.before);
});

test('stacks of two recordings are matched by names, not by numbers', () => {
  const one = (names, bytes) => new Recording({
    strings: names,
    functions: { count: 2, name: [0, 1], short: [0, 1], file: [-1, -1], module: [-1, -1] },
    frames: { count: 2, function: [0, 1], line: [1, 2], inlined: [0, 0], wrapper: [0, 0] },
    nodes: { count: 3, parent: [-1, 0, 1], frame: [-1, names.indexOf('main'), names.indexOf('load')] },
    sites: { count: 1, id: [1], node: [2], heap: [1], live_bytes: [bytes], live_blocks: [1], allocs: [1], alloc_bytes: [bytes] },
  }, 0);
  const views = [one(['main', 'load'], 100), one(['load', 'main'], 250)].map((recording) => view(recording, stateOf({ cost: 'live' })));
  const rows = changedStacks(mergeTrees(...views, {}));
  assert.deepEqual(rows.map(({ status, before, after, change }) => [status, before, after, change]), [['more', 100, 250, 150]]);
});

test('values with commas, quotes and new lines stay one field', () => {
  const columns = [{ id: 'name', value: (row) => row.name }, { id: 'count', csv: 'n', value: (row) => row.n }];
  assert.equal(toCsv(columns, [{ name: 'f(int, "x")\n', n: NaN }]), 'name,n\r\n"f(int, ""x"")\n",\r\n');
});

/* ---- which moments are compared */

const contextOf = (name, values = {}, compare = null) => ({ recordings: load(name), state: stateOf(values), compare });

test('what was chosen is compared; else the ends of the range; else the first mark and the end', () => {
  assert.deepEqual(sidesOf(contextOf('small', { from: '0@peak', to: '0@1500' })), [{ index: 0, when: 'peak' }, { index: 0, when: '1500' }]);
  assert.deepEqual(sidesOf(contextOf('small', { range: '1000..2000' })), [{ index: 0, when: '1000' }, { index: 0, when: '2000' }]);
  assert.deepEqual(sidesOf(contextOf('small')), [{ index: 0, when: 'm0' }, { index: 0, when: 'end' }]);
  assert.deepEqual(sidesOf(contextOf('pair')), [{ index: 0, when: 'end' }, { index: 1, when: 'end' }]);
  const compare = { old: { recording: 0, ms: 302, word: 'between' }, new: { recording: 0, ms: 841, word: 'end' } };
  assert.deepEqual(sidesOf(contextOf('small', {}, compare)), [{ index: 0, when: '302' }, { index: 0, when: 'end' }]);
  compare.old.mark = 1;
  assert.deepEqual(sidesOf(contextOf('small', {}, compare))[0], { index: 0, when: 'm1' });
});

test('a side that the page does not have is not taken from the URL', () => {
  assert.deepEqual(sidesOf(contextOf('small', { from: '7@end', to: '0@nonsense' })), sidesOf(contextOf('small')));
});

test('every moment that is compared can be found in its list', () => {
  for (const values of [{}, { range: '1000..2000' }, { from: '0@1234', to: '0@peak' }]) {
    const context = contextOf('small', values);
    for (const side of sidesOf(context)) {
      assert.ok(momentsToChoose(context, side).some(([value]) => value === `${side.index}@${side.when}`), JSON.stringify(side));
    }
  }
});

test('of one recording only costs that change are compared, of two recordings all', () => {
  const ids = (context) => commonCosts(context, sidesOf(context)).map((cost) => cost.id);
  assert.deepEqual(ids(contextOf('small')), ['live', 'total', 'allocs']);
  assert.ok(ids(contextOf('pair')).includes('peak'));
});

test('a chosen thread is not meant where two recordings are compared', () => {
  const context = contextOf('pair', { thread: '1', cost: 'total' });
  assert.equal(viewOfSide(context, { index: 1, when: 'end' }, 'total').threads, null);
});
