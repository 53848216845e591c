// SPDX-License-Identifier: MIT
// What a view says is compared with sums over the rows of the forged data, made here in another way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costAt, costsOf } from '../src/costs.js';
import { decode } from '../src/data.js';
import { State } from '../src/state.js';
import { momentOf, parseRange, wordOfMoment } from '../src/moments.js';
import { columnsAt, courseOf, view } from '../src/view.js';
import { bareRecording, page, smallRecording } from './sample.mjs';

const json = smallRecording();
const [recording] = decode(page(json)).recordings;
const viewOf = (choice) => {
  const state = new State();
  state.set(choice);
  return view(recording, state);
};
/** The value of a site at a slice: its last change up to then. */
const valueAt = (key, site, slice) => {
  let value = 0;
  for (let i = 0; i < json.changes.count; i++) if (json.changes.site[i] === site && json.changes.slice[i] <= slice) value = json.changes[key][i];
  return value;
};
const sum = (values) => values.reduce((a, b) => a + b, 0);
const heapSites = Array.from({ length: json.sites.count }, (_, s) => s).filter((s) => json.sites.heap[s]);

test('the whole run has the numbers of the recording, without mapped memory', () => {
  const v = viewOf({ cost: 'live' });
  assert.equal(v.totals.value, json.totals.live_bytes);
  assert.equal(v.totals.count, json.totals.live_blocks);
  assert.equal(v.totals.alloc_bytes, json.totals.bytes_allocated);
  assert.equal(v.moment.of, 'run');
});

test('the peak of all stacks adds up to the peak of the program', () => {
  assert.equal(viewOf({ cost: 'peak' }).totals.value, json.totals.peak_bytes);
});

test('a moment has what was live then', () => {
  const slice = 100,
    v = viewOf({ at: json.slices.ms[slice], cost: 'live' });
  assert.equal(v.totals.value, json.slices.live_bytes[slice]);
  for (const s of heapSites) assert.equal(v.bytes[s], valueAt('live_bytes', s, slice));
});

test('a range has what happened between, with its sign', () => {
  const [a, b] = [150, 220],
    range = `${json.slices.ms[a]}..${json.slices.ms[b]}`;
  assert.equal(viewOf({ range, cost: 'allocs' }).totals.value, json.slices.allocs[b] - json.slices.allocs[a]);
  const live = viewOf({ range, cost: 'live' });
  assert.equal(live.totals.value, json.slices.live_bytes[b] - json.slices.live_bytes[a]);
  assert.ok(live.value.some((n) => n < 0));
  assert.ok(live.weight.every((n) => n >= 0));
});

test('a range wins over a moment', () => assert.equal(viewOf({ at: 5, range: '0..9' }).moment.of, 'range'));

test('moments asked for in any order have the same numbers', () => {
  for (const slice of [200, 3, 120, 121, 3, -1, 239]) {
    const { live_bytes: live } = columnsAt(recording, slice);
    assert.equal(sum([...live]), slice < 0 ? 0 : json.slices.live_bytes[slice]);
  }
});

test('the course of a site follows its changes', () => {
  const course = courseOf(recording, 5);
  assert.equal(course.ms.length, json.slices.count);
  for (const slice of [0, 60, 150, 239]) assert.equal(course.live_bytes[slice], valueAt('live_bytes', 5, slice));
});

test('the course of several sites is their sum', () => {
  const course = courseOf(recording, 5, 6, 7);
  for (const slice of [0, 60, 150, 239]) assert.equal(course.live_bytes[slice], sum([5, 6, 7].map((site) => valueAt('live_bytes', site, slice))));
});

test('a cost that is not known of a moment gives way to one that is, and a note says so', () => {
  const v = viewOf({ at: 30000, cost: 'temporary' });
  assert.equal(v.cost.id, 'live');
  assert.ok(v.notes.length > 0);
  assert.equal(viewOf({ cost: 'temporary' }).cost.id, 'temporary');
});

test('leaks are a cost only where they were searched for', () => {
  const [bare] = decode(page(bareRecording())).recordings;
  assert.ok(costsOf(recording, 'run').some((cost) => cost.id === 'leaked'));
  assert.ok(!costsOf(bare, 'run').some((cost) => cost.id === 'leaked'));
  assert.equal(costAt(bare, 'leaked', 'run').id, 'live');
});

test('lost is definitely and indirectly lost', () => {
  assert.equal(viewOf({ cost: 'leaked' }).totals.value, json.leaks.definite.bytes + json.leaks.indirect.bytes);
});

test('a thread has its own allocations and the blocks it made', () => {
  const rows = json.shares.thread.flatMap((thread, i) => (thread === 2 ? [i] : []));
  const v = viewOf({ thread: '2', cost: 'total' });
  assert.equal(v.moment.of, 'threads');
  assert.equal(v.totals.value, sum(rows.map((i) => json.shares.alloc_bytes[i])));
  assert.equal(v.totals.live_bytes, sum(rows.map((i) => json.shares.live_bytes[i])));
});

test('a name of threads in the filter chooses the same', () => {
  assert.deepEqual([...viewOf({ filter: 'thread:worker-1', cost: 'total' }).bytes], [...viewOf({ thread: '2', cost: 'total' }).bytes]);
});

test('brushes keep sites by average size and lifetime', () => {
  const v = viewOf({ size: '4096..', cost: 'total' });
  const big = heapSites.filter((s) => json.sites.alloc_bytes[s] / json.sites.allocs[s] >= 4096);
  assert.deepEqual(
    [...v.included].flatMap((one, s) => (one ? [s] : [])),
    big,
  );
  const brief = viewOf({ life: '..500', cost: 'total' });
  assert.ok(brief.order.length > 0 && [...brief.order].every((s) => json.sites.lifetime_ms[s] / json.sites.frees[s] < 500));
});

test('mapped memory is shown only when asked for', () => {
  assert.deepEqual([...viewOf({ mapped: '1', cost: 'live' }).order], [json.sites.heap.indexOf(0)]);
});

test('both is the sum of the heap and of mapped memory', () => {
  const values = (mapped) => viewOf({ mapped, cost: 'total' }).totals.value;
  assert.equal(values('both'), sum(json.sites.alloc_bytes));
  assert.equal(values(''), sum(heapSites.map((s) => json.sites.alloc_bytes[s])));
  assert.ok(values('1') > 0);
});

test('the order is by value, and the top is its beginning', () => {
  const v = viewOf({ cost: 'allocs' }),
    values = [...v.order].map((s) => v.value[s]);
  assert.deepEqual(
    values,
    [...values].sort((a, b) => b - a),
  );
  assert.deepEqual(
    v.top(5).map((s) => v.value[s]),
    values.slice(0, 5),
  );
  assert.equal(v.top(100).length, v.order.length);
});

test('the same choice gives the same object', () => {
  const state = new State();
  assert.equal(view(recording, state), view(recording, state));
  state.set({ page: 'flame' });
  const before = view(recording, state);
  state.set({ filter: 'main' });
  assert.notEqual(view(recording, state), before);
});

test('an empty recording has an empty view', () => {
  const [bare] = decode(page(bareRecording())).recordings,
    v = view(bare, new State());
  assert.equal(v.totals.value, 0);
  assert.deepEqual(v.top(5), []);
  assert.equal(v.order.length, 0);
});

test('ranges are read with open ends, and refused when they are none', () => {
  assert.deepEqual(parseRange('1..2'), [1, 2]);
  assert.deepEqual(parseRange('1.5..'), [1.5, Infinity]);
  assert.deepEqual(parseRange('..7'), [-Infinity, 7]);
  for (const text of ['', '5', '2..1', 'a..b', '1...2...3']) assert.equal(parseRange(text), null, text);
});

test('a moment outside of the run, or none at all, does no harm', () => {
  const at = (value) => {
    const state = new State();
    state.set({ at: value });
    return momentOf(recording, state).of;
  };
  assert.deepEqual(['', 'peak', '5', 'nonsense'].map(at), ['run', 'peak', 'time', 'run']);
  assert.equal(viewOf({ at: '99999999', cost: 'live' }).totals.value, json.totals.live_bytes);
});

test('a mark has the numbers of its own slice, whatever the milliseconds say', () => {
  const forged = smallRecording();
  Object.assign(forged.marks, { ms: forged.marks.ms.map(() => 5000), slice: forged.marks.slice.map((_, i) => 10 + 20 * i), seq: forged.marks.seq });
  const [marked] = decode(page(forged)).recordings;
  const shown = (choice) => {
    const state = new State();
    state.set({ cost: 'live', ...choice });
    return view(marked, state);
  };
  assert.ok(forged.marks.count > 1);
  for (let m = 0; m < forged.marks.count; m++) assert.equal(shown({ at: `m${m}` }).totals.value, forged.slices.live_bytes[10 + 20 * m]);
  assert.equal(shown({ range: 'm0..m1' }).totals.value, forged.slices.live_bytes[30] - forged.slices.live_bytes[10]);
  assert.deepEqual([shown({ range: 'm1..m0' }).moment.of, shown({ at: `m${forged.marks.count}` }).moment.of], ['run', 'run']);
});

test('a moment has a word that seep report understands', () => {
  const forged = smallRecording(),
    text = (words) => forged.strings.push(words) - 1,
    [begin, none] = [text('begin'), text('')];
  forged.marks = { count: 4, ms: [1, 2, 3, 4], slice: [0, 1, 2, 3], type: 0, seq: [0, 7, 0, 0], label: [begin, begin, begin, none], thread: 0 };
  const [marked] = decode(page(forged)).recordings;
  assert.deepEqual(
    ['m0', 'm1', 'm2', 'm3', '1500', ''].map((when) => wordOfMoment(marked, when)),
    ['begin:1', '7', 'begin:3', '4ms', '1500ms', ''],
  );
});

test('at the peak it is known what was live, of all threads, and nothing else', () => {
  assert.deepEqual(costsOf(recording, 'peak').map((cost) => cost.id), ['peak', 'live']);
  const whole = viewOf({ at: 'peak' }),
    one = viewOf({ at: 'peak', thread: '2' }),
    met = new Set(json.shares.site.filter((_, i) => json.shares.thread[i] === 2));
  assert.equal(one.moment.of, 'peak');
  assert.ok(one.notes.some((note) => /by thread/.test(note)));
  for (const s of heapSites) assert.equal(one.value[s], met.has(s) ? whole.value[s] : 0);
});
