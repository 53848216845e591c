// SPDX-License-Identifier: MIT
// What the pages leaks, sizes, temporaries and source work out before they draw.
import { squares } from '../src/treemap.js';
import assert from 'node:assert/strict';
import test from 'node:test';
import { advice, innerNames } from '../src/advice.js';
import { Recording } from '../src/data.js';
import {
  callerOf,
  handOvers,
  listing,
  mappingClasses,
  mappingVerdict,
  seepResident,
  ownerTiles,
  temporaryKinds,
  temporaryRows,
  temporaryVerdict,
  threadRows,
} from '../src/findings.js';
import { classes, logScale, median, rangeText, sitePoints, touched } from '../src/histogram.js';
import { chosenSums, foldSteps, growingSites, growthOf, hoursText, leakRows, leakSums, lineBetween, wrongRelease } from '../src/leak-rows.js';
import { fileCosts } from '../src/lines.js';
import { State } from '../src/state.js';
import { view } from '../src/view.js';

/** Rows as objects to a table of columns. */
function table(rows) {
  const out = { count: rows.length };
  for (const row of rows) for (const [key, value] of Object.entries(row)) (out[key] ??= []).push(value);
  return out;
}

/** main (a.c:10) calls load (a.c:20), which calls itself (a.c:21) and xmalloc (x.c:5); main also calls odd, of which nothing is known. */
function recording(more = {}) {
  const strings = ['main', 'load', 'xmalloc', 'odd', '/src/a.c', '/src/x.c', 'leak:load', '{ rule }', '0x10'];
  return new Recording(
    {
      strings,
      kinds: ['malloc', 'mmap'],
      functions: table([
        { name: 0, short: 0, file: 4, module: -1 },
        { name: 1, short: 1, file: 4, module: -1 },
        { name: 2, short: 2, file: 5, module: -1 },
        { name: 3, short: 3, file: -1, module: -1 },
      ]),
      frames: table([
        { function: 0, line: 10, inlined: 0, wrapper: 0 },
        { function: 1, line: 20, inlined: 0, wrapper: 0 },
        { function: 1, line: 21, inlined: 0, wrapper: 0 },
        { function: 2, line: 5, inlined: 0, wrapper: 1 },
        { function: 3, line: 0, inlined: 0, wrapper: 0 },
      ]),
      nodes: table([
        { parent: -1, frame: -1 },
        { parent: 0, frame: 0 }, // 1: main
        { parent: 1, frame: 2 },
        { parent: 2, frame: 2 },
        { parent: 3, frame: 1 },
        { parent: 4, frame: 3 }, // 5: xmalloc in load in load in load
        { parent: 0, frame: 4 }, // 6: odd, not from main
      ]),
      sites: table([
        { id: 1, node: 5, kind: 0, heap: 1, growth: 3, growth_bytes_per_hour: 3600, live_bytes: 300, definite_bytes: 100 },
        { id: 2, node: 1, kind: 0, heap: 1, growth: 3, growth_bytes_per_hour: 7200, live_bytes: 50, definite_bytes: 50 },
        { id: 3, node: 6, kind: 0, heap: 1, growth: 2, growth_bytes_per_hour: 0, live_bytes: 7, definite_bytes: 0 },
      ]),
      slices: table([{ ms: 0 }, { ms: 100 }, { ms: 200 }, { ms: 300 }]),
      changes: table([
        { slice: 0, site: 0, live_bytes: 10, live_blocks: 1 },
        { slice: 1, site: 1, live_bytes: 50, live_blocks: 5 },
        { slice: 2, site: 0, live_bytes: 30, live_blocks: 3 },
        { slice: 3, site: 0, live_bytes: 20, live_blocks: 2 },
      ]),
      leaks: {
        scanned: true,
        ms: 300,
        rows: table([
          {
            site: 1,
            class: 4,
            blocks: 1,
            bytes: 50,
            hanging_blocks: 0,
            hanging_bytes: 0,
            birth_ms: 290,
            address: 8,
            type: -1,
            path: -1,
            lsan: 6,
            valgrind: 7,
          },
          {
            site: 0,
            class: 4,
            blocks: 2,
            bytes: 40,
            hanging_blocks: 3,
            hanging_bytes: 60,
            birth_ms: 100,
            address: 8,
            type: -1,
            path: -1,
            lsan: 6,
            valgrind: 7,
          },
          {
            site: 0,
            class: 3,
            blocks: 3,
            bytes: 60,
            hanging_blocks: 0,
            hanging_bytes: 0,
            birth_ms: 100,
            address: 8,
            type: -1,
            path: -1,
            lsan: 6,
            valgrind: 7,
          },
        ]),
      },
      ...more,
    },
    0,
  );
}

const all = () => true;

test('a line of a range begins with what was live before it, and ends with the range', () => {
  const course = { ms: [0, 100, 200, 300], live_bytes: [10, 60, 80, 70] };
  assert.deepEqual(lineBetween(course, { from: 0, to: Infinity }), { ms: [0, 100, 200, 300], values: [10, 60, 80, 70] });
  assert.deepEqual(lineBetween(course, { from: 150, to: 250 }), { ms: [150, 200], values: [60, 80] });
});

test('rows of leaks come heaviest first, and what hangs on a block counts with it', () => {
  const rows = leakRows(recording(), all, ['definite']);
  assert.deepEqual(
    rows.map((row) => [row.site, row.weight]),
    [
      [0, 100],
      [1, 50],
    ],
  );
  assert.equal(rows[0].ageMs, 200);
});

test('stacks that lose memory in one line are one row, which is of the heaviest and has the sums', () => {
  const [row] = leakRows(recording({ nodes: table([{ parent: 0, frame: -1 }, ...Array(6).fill({ parent: 0, frame: 1 })]) }), all, ['definite']);
  assert.deepEqual([row.site, row.sites, row.rows], [0, [1, 0], [0, 1]]);
  assert.deepEqual([row.bytes, row.blocks, row.hangingBytes, row.weight, row.ageMs], [90, 3, 60, 150, 200]);
});

test('the worst class comes first, however small', () => {
  const rows = leakRows(recording(), all, ['indirect', 'definite']);
  assert.deepEqual(
    rows.map((row) => row.class),
    [4, 4, 3],
  );
});

test('rows of leaks follow the filter', () => {
  assert.deepEqual(
    leakRows(recording(), (site) => site === 1, ['definite', 'indirect']).map((row) => row.site),
    [1],
  );
});

test('sums of leaks have each block once', () => {
  const sums = leakSums(recording(), all);
  assert.deepEqual(sums.definite, { blocks: 3, bytes: 90, places: 2 });
  assert.deepEqual(sums.indirect, { blocks: 3, bytes: 60, places: 1 });
  assert.deepEqual(sums.reachable, { blocks: 0, bytes: 0, places: 0 });
});

test('what the choice leaves out is told, and what the page itself leaves out is not', () => {
  const some = (row) => ({ ...row, hanging_blocks: 0, hanging_bytes: 0, birth_ms: 0, address: 8, type: -1, path: -1, lsan: 6, valgrind: 7 }),
    rows = table([some({ site: 0, class: 4, blocks: 2, bytes: 40 }), some({ site: 1, class: 3, blocks: 1, bytes: 5 })]),
    cut = recording({ leaks: { scanned: true, ms: 300, definite: { blocks: 9, bytes: 900 }, rows } });
  assert.deepEqual(chosenSums(cut, all), { definite: null, indirect: null, possible: null, reachable: null });
  assert.deepEqual(chosenSums(cut, (site) => site === 1).definite, { blocks: 0, bytes: 0, places: 0 });
  assert.equal(chosenSums(cut, (site) => site === 1).indirect, null);
});

test('a site grows at its rate; one that does not has none', () => {
  assert.deepEqual([growthOf(recording(), 0).word, growthOf(recording(), 0).perHour], ['grows', 3600]);
  assert.deepEqual([growthOf(recording(), 2).word, growthOf(recording(), 2).perHour], ['bounded', 0]);
});

test('a time to come is told in the unit that fits', () => {
  assert.deepEqual([0.001, 1 / 3, 5, 728, 9e9].map(hoursText), ['a minute', '20 minutes', '5 hours', '30 days', 'more than a year']);
});

test('what grows and is not all lost is listed apart', () => {
  assert.deepEqual(growingSites(recording(), all), [0]); // all of site 1 is lost, site 2 is bounded
});

test('a invalid free of a kind that is not known keeps its name', () => {
  assert.equal(wrongRelease('double-free').title, 'freed twice');
  assert.equal(wrongRelease('new-kind').title, 'new-kind');
});

test('long runs of one step fold, short ones stay', () => {
  const next = { text: '.next', type: 'node', site: 1 };
  const folded = foldSteps([{ text: '[3]', type: 'node', site: 1 }, next, next, next, next, next]);
  assert.deepEqual(
    folded.map(({ step, more }) => [step.text, more]),
    [
      ['[3]', 0],
      ['.next', 0],
      ['.next', 3],
      ['.next', 0],
    ],
  );
  assert.equal(foldSteps([next, next]).length, 2);
});

test('empty classes at both ends are left out, those between stay', () => {
  const list = classes([0, 5, 0, 1, 0], [0, 1, 2, 4, 8]);
  assert.deepEqual(
    list.map((entry) => [entry.from, entry.to, entry.count]),
    [
      [1, 2, 5],
      [2, 4, 0],
      [4, 8, 1],
    ],
  );
});

test('the last class has no end', () => {
  assert.equal(classes([1, 1], [0, 1])[1].to, Infinity);
  assert.deepEqual(classes([0, 0], [0, 1]), []);
});

test('an interval touches the classes that it overlaps, not those that it borders on', () => {
  const list = classes([1, 1, 1, 1], [0, 1, 2, 4, 8]);
  assert.deepEqual(touched(list, 1, 4), [1, 2]);
  assert.equal(touched(list, 100, 200), null);
});

test('the median is the class in which half of all is reached', () => {
  assert.equal(median(classes([1, 1, 8, 1], [0, 1, 2, 4])).from, 2);
  assert.equal(median([]), null);
});

test('advice goes by the innermost names, then by the size', () => {
  assert.equal(advice(['std::__cxx11::basic_string::_M_create', 'parse'], 'new', 40).id, 'string');
  assert.equal(advice(['std::vector<std::string, std::allocator<std::string> >::_M_realloc_insert', 'parse'], 'new', 40).id, 'vector');
  assert.equal(advice(['std::string::_M_create', 'std::map<int, std::string>::operator[]'], 'new', 40).id, 'string');
  assert.equal(advice(['read_all'], 'realloc', 40).id, 'grow');
  assert.equal(advice(['read_all'], 'malloc', 64).id, 'small');
  assert.equal(advice(['read_all'], 'malloc', 65536).id, 'large');
});

test('names for advice end with the first function that is no wrapper', () => {
  assert.deepEqual(innerNames(recording(), 0), ['xmalloc', 'load']);
});

test('a line counts each stack once, however often it is in it', () => {
  const { files, unknown } = fileCosts(recording(), [300, 50, 7], [3, 5, 1]);
  assert.equal(unknown, 7);
  const a = files[0];
  assert.equal(a.total, 350);
  assert.deepEqual(a.lines, [
    { line: 10, total: 350, own: 50, count: 8 },
    { line: 20, total: 300, own: 300, count: 3 },
    { line: 21, total: 300, own: 0, count: 3 },
  ]);
});

test('what a wrapper allocates is the own cost of the line that called it', () => {
  const { files } = fileCosts(recording(), [300, 0, 0], [3, 0, 0]);
  assert.deepEqual(
    files.map((entry) => [entry.file, entry.total, entry.own]),
    [
      [4, 300, 300],
      [5, 300, 0],
    ],
  );
});

test('a chosen part of the classes is open where it touches an end, and nothing when it is all', () => {
  const list = classes([1, 1, 1, 1], [0, 1, 2, 4, 8]);
  assert.deepEqual(
    [
      [1, 2],
      [0, 1],
      [2, 3],
      [0, 3],
    ].map((part) => rangeText(list, part)),
    ['1..4', '..2', '2..', ''],
  );
});

test('a logarithmic scale and its inverse agree, and ends hold what is beyond', () => {
  const scale = logScale(1, 1024);
  assert.equal(scale.place(32), 0.5);
  assert.equal(scale.value(scale.place(100)).toFixed(6), '100.000000');
  assert.deepEqual([scale.place(0), scale.place(1e9)], [0, 1]);
});

/** A state without a browser. */
function stateOf(values) {
  const state = new State();
  state.set(values);
  return state;
}

/** The recording above with numbers of its calls. */
function busy() {
  const rows = [
    {
      id: 1,
      node: 5,
      kind: 0,
      heap: 1,
      allocs: 100,
      frees: 90,
      alloc_bytes: 6400,
      live_blocks: 10,
      live_bytes: 640,
      temporary: 60,
      lifetime_ms: 180,
    },
    { id: 2, node: 1, kind: 0, heap: 1, allocs: 10, frees: 0, alloc_bytes: 40960, live_blocks: 10, live_bytes: 40960, temporary: 0, lifetime_ms: 0 },
    {
      id: 3,
      node: 6,
      kind: 0,
      heap: 1,
      allocs: 200,
      frees: 200,
      alloc_bytes: 400000,
      live_blocks: 0,
      live_bytes: 0,
      temporary: 150,
      lifetime_ms: 2000,
    },
  ];
  return recording({
    sites: table(rows),
    threads: table([
      { tid: 0, name: -1, allocations: 0, bytes_allocated: 0, live_blocks: 0, live_bytes: 0 },
      { tid: 7, name: 0, allocations: 310, bytes_allocated: 447360, live_blocks: 20, live_bytes: 41600 },
      { tid: 8, name: 3, allocations: 0, bytes_allocated: 0, live_blocks: 0, live_bytes: 0 },
    ]),
    shares: table([
      { site: 0, thread: 1, allocs: 100, alloc_bytes: 6400, frees: 0, free_bytes: 0, temporary: 60 },
      { site: 2, thread: 2, allocs: 0, alloc_bytes: 0, frees: 290, free_bytes: 405760, temporary: 0 },
    ]),
  });
}

test('brushes choose stacks by their average', () => {
  const all3 = busy();
  const chosen = (values) =>
    sitePoints(all3, view(all3, stateOf(values)), 10)
      .points.map((point) => point.site)
      .sort();
  assert.deepEqual(chosen({}), [0, 1, 2]);
  assert.deepEqual(chosen({ size: '..100' }), [0]);
  assert.deepEqual(chosen({ size: '1000..3000' }), [2]);
  assert.deepEqual(chosen({ life: '5..' }), [2]);
});

test('points have the averages of their site, and no lifetime where nothing was freed', () => {
  const { points, left } = sitePoints(busy(), view(busy(), stateOf({ cost: 'allocs' })), 2);
  assert.deepEqual(
    points.map((point) => [point.site, point.size, point.life]),
    [
      [2, 2000, 10],
      [0, 64, 2],
    ],
  );
  assert.equal(left, 1);
});

test('temporaries come most frequent first, with what to do about each', () => {
  const one = busy(),
    rows = temporaryRows(one, view(one, stateOf({})));
  assert.deepEqual(
    rows.map((row) => [row.site, row.temporary, row.average]),
    [
      [2, 150, 2000],
      [0, 60, 64],
    ],
  );
  assert.deepEqual(
    temporaryKinds(one, rows).map((kind) => [kind.id, kind.temporary, kind.places]),
    [
      ['large', 150, 1],
      ['small', 60, 1],
    ],
  );
});

test('temporaries of one line are one place, whatever the library did below it', () => {
  const one = busy(),
    [row, ...others] = temporaryRows(Object.assign(one, { placeKey: () => 'load:7' }), view(one, stateOf({})));
  assert.deepEqual([row.site, row.sites, row.temporary, others], [2, [0, 2], 210, []]);
});

test('temporaries of a thread are its own', () => {
  const one = busy(),
    rows = temporaryRows(one, view(one, stateOf({ thread: 1 })));
  assert.deepEqual(
    rows.map((row) => [row.site, row.temporary]),
    [[0, 60]],
  );
});

test('few temporaries each second are not worth a change', () => {
  assert.match(temporaryVerdict({ temporary: 100, allocs: 200 }, 10), /too few/);
  assert.match(temporaryVerdict({ temporary: 100_000, allocs: 200_000 }, 10), /start with the first/);
  assert.match(temporaryVerdict({ temporary: 100_000, allocs: 2_000_000 }, 10), /small part/);
});

test('threads have the releases that they made, and an idle unknown thread is not listed', () => {
  assert.deepEqual(
    threadRows(busy()).map((row) => [row.tid, row.allocs, row.frees, row.freedBytes]),
    [
      [7, 310, 0, 0],
      [8, 0, 290, 405760],
    ],
  );
});

test('threads that free what others allocate are told of', () => {
  const notes = handOvers(threadRows(busy()));
  assert.equal(notes.length, 2);
  assert.match(notes[0], /^main \(7\) allocates 310 blocks and frees 0: others/);
  assert.match(notes[1], /^odd \(8\) frees 290/);
});

const owners = (rows, texts) =>
  recording({
    strings: texts,
    owners: table(rows.map((row) => ({ where: -1, own_bytes: 0, own_blocks: 0, pointers: 1, ...row }))),
    functions: { count: 0 },
    frames: { count: 0 },
    nodes: { count: 1, parent: [-1], frame: [-1] },
    sites: { count: 0 },
    changes: { count: 0 },
  });

test('tiles of owners add up to all, largest first, and small owners are summed', () => {
  const rows = Array.from({ length: 43 }, (_, i) => ({ name: 0, kind: 1, retained_bytes: 100 - i, retained_blocks: 1 }));
  const { tiles, whole } = ownerTiles(
    owners([{ name: 2, kind: 3, retained_bytes: 500, retained_blocks: 9 }, ...rows], ['table', 'global', 'lost: kept by nothing', 'lost']),
  );
  assert.equal(tiles.length, 42);
  assert.equal(
    tiles.reduce((sum, tile) => sum + tile.bytes, 0),
    whole,
  );
  assert.deepEqual([tiles[0].name, tiles[0].kind, tiles[0].bytes], ['lost: kept by nothing', 'lost', 500]);
  const small = tiles.find((tile) => tile.row < 0);
  assert.deepEqual([small.name, small.bytes], ['3 more owners', 60 + 59 + 58]);
});

test('the rectangles of a treemap have the areas of their values and fill the box', () => {
  const values = [600, 300, 250, 100, 40, 8, 2],
    places = squares(values, 130, 100);
  places.forEach((one, i) => assert.ok(Math.abs(one.width * one.height - (values[i] / 1300) * 13000) < 1e-6, String(i)));
  for (const one of places) assert.ok(one.x >= -1e-9 && one.y >= -1e-9 && one.x + one.width <= 130 + 1e-9 && one.y + one.height <= 100 + 1e-9);
  const overlap = (a, b) =>
    Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) * Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
  places.forEach((a, i) => places.slice(i + 1).forEach((b) => assert.ok(overlap(a, b) < 1e-6)));
  assert.ok(places.every((one) => Math.max(one.width / one.height, one.height / one.width) < 4));
});

const mapped = (rows) =>
  recording({
    strings: ['heap', 'allocator free', 'new class'],
    mappings: { at: 'end', rows: table(rows.map((row) => ({ name: -1, address: -1, blocks: 0, ...row }))) },
    functions: { count: 0 },
    frames: { count: 0 },
    nodes: { count: 1, parent: [-1], frame: [-1] },
    sites: { count: 0 },
    changes: { count: 0 },
  });

test('mappings are summed by class, and a class that is not known is other', () => {
  const sums = mappingClasses(
    mapped([
      { class: 0, bytes: 100, rss_bytes: 50 },
      { class: 0, bytes: 10, rss_bytes: 5 },
      { class: 2, bytes: 7, rss_bytes: 7 },
      { class: 1, bytes: 60, rss_bytes: 40 },
    ]),
  );
  assert.deepEqual(
    sums.map(({ id, part, bytes }) => [id, part, bytes]),
    [
      ['heap', 55, 110],
      ['allocator free', 40, 60],
      ['other', 7, 7],
    ],
  );
  assert.match(mappingVerdict(sums, true), /^102 B are resident\. The largest part: Heap, with 54 %\. The allocator keeps 40 B free/);
});

test('where nothing is known to be resident, what is mapped counts', () => {
  const sums = mappingClasses(mapped([{ class: 0, bytes: 100, rss_bytes: -1 }]));
  assert.deepEqual(
    sums.map(({ id, part }) => [id, part]),
    [['heap', 100]],
  );
  assert.match(mappingVerdict(sums, false), /^100 B are mapped/);
});

test('a listing has all lines of the text with their costs, and without a text the costly lines', () => {
  const costed = [{ line: 3, total: 9, own: 1, count: 2 }];
  assert.deepEqual(listing(costed, null), [{ text: '', line: 3, total: 9, own: 1, count: 2 }]);
  const rows = listing(costed, { first_line: 2, lines: ['a', 'b'] });
  assert.deepEqual(
    rows.map((row) => [row.line, row.text, row.total]),
    [
      [2, 'a', 0],
      [3, 'b', 9],
    ],
  );
});

test('a cost beyond the end of the text is listed, too: the file may have changed', () => {
  assert.deepEqual(
    listing([{ line: 9, total: 1, own: 1, count: 1 }], { first_line: 1, lines: ['a'] }).map((row) => row.line),
    [1, 9],
  );
});

test('the caller of a place is the next function outwards, past recursion', () => {
  const one = recording();
  assert.equal(one.functionName(callerOf(one, 0)), 'main'); // load in load in load
  assert.equal(callerOf(one, 1), -1); // main itself
});

test("functions of the language's library are passed over: the place and its caller are the program's", () => {
  const strings = ['main', 'parse', 'std::string::append', 'std::string::_M_create', '/src/a.c', '/usr/include/c++/12/bits/basic_string.h'];
  const one = recording({
    strings,
    functions: table([
      { name: 0, short: 0, file: 4, module: -1 },
      { name: 1, short: 1, file: 4, module: -1 },
      { name: 2, short: 2, file: 5, module: -1 },
      { name: 3, short: 3, file: 5, module: -1 },
    ]),
    frames: table([0, 1, 2, 3].map((f) => ({ function: f, line: 1, inlined: 0, wrapper: f === 3 ? 1 : 0, library: f >= 2 ? 1 : 0 }))),
    nodes: table([
      { parent: -1, frame: -1 },
      { parent: 0, frame: 0 },
      { parent: 1, frame: 1 },
      { parent: 2, frame: 2 },
      { parent: 3, frame: 3 },
    ]),
    sites: table([{ id: 1, node: 4, kind: 0, heap: 1 }]),
    changes: { count: 0 },
    leaks: {},
  });
  assert.equal(one.siteName(0), 'parse');
  assert.equal(one.functionName(callerOf(one, 0)), 'main');
  assert.deepEqual(innerNames(one, 0), ['std::string::_M_create', 'std::string::append', 'parse']);
});

test('what seep needs itself is told apart and is in no sum', () => {
  const one = recording({
    strings: ['stack', 'seep', 'seep itself'],
    mappings: {
      at: 'end',
      rows: table([
        { class: 0, name: 0, address: -1, bytes: 8192, rss_bytes: 1024, blocks: 0 },
        { class: 1, name: 2, address: -1, bytes: 2 ** 38, rss_bytes: 4096, blocks: 0 },
      ]),
    },
    functions: { count: 0 },
    frames: { count: 0 },
    nodes: { count: 1, parent: [-1], frame: [-1] },
    sites: { count: 0 },
    changes: { count: 0 },
    leaks: {},
  });
  assert.deepEqual(
    mappingClasses(one).map(({ id, part, bytes }) => [id, part, bytes]),
    [['stack', 1024, 8192]],
  );
  assert.equal(seepResident(one), 4096);
});
