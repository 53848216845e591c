// SPDX-License-Identifier: MIT
// fragmentation.js -- the page of the heap as a map: blocks, holes between them, and what keeps free memory from the system.
import { meter } from '../charts.js';
import { siteLink } from '../controls.js';
import { h } from '../dom.js';
import { bytes, count, number, share } from '../format.js';
import { drawnPage, emptyState, keptTable, lead, section } from '../parts.js';

/** What returns the memory behind the last blocks: malloc_trim() does not, of arenas of threads. */
function topAdvice({ total, heaps: t }) {
  const ofMain = t.main.reduce((sum, main, i) => sum + (main ? t.top_bytes[i] : 0), 0);
  return total.top_bytes - ofMain > total.top_bytes / 2 ? 'a free() of 64 KiB returns it' : 'malloc_trim(0) returns it';
}

/** What the heaps are made of; the colours are those of Mappings where these mean the same. */
const partsOf = ({ total: t, ...f }) => [
  { label: 'live blocks', bytes: t.live_bytes, piece: 0, about: count(t.blocks, 'block') },
  { label: 'headers and rounding', short: 'headers', bytes: t.taken_bytes - t.live_bytes + t.own_bytes, piece: 1, about: 'what malloc adds' },
  { label: 'free in holes', bytes: t.hole_bytes, piece: 2, about: `${count(t.holes, 'hole')}; malloc_trim(0) would give ${bytes(t.whole_bytes)} back` },
  { label: 'free at the top', bytes: t.top_bytes, piece: 3, about: topAdvice({ total: t, ...f }) },
];

function sums(f) {
  const { total } = f,
    parts = partsOf(f).filter((part) => part.bytes > 0);
  return [
    h(
      'div',
      { class: 'stacked', role: 'img', 'aria-label': parts.map((part) => `${part.label} ${bytes(part.bytes)}`).join(', ') },
      parts.map((part) =>
        h(
          'div',
          { class: `piece piece-${part.piece}`, title: `${part.label}: ${bytes(part.bytes)}`, style: { 'flex-grow': String(part.bytes / total.bytes) } },
          part.bytes / total.bytes > 0.09 && h('span', null, part.short ?? part.label, h('br'), share(part.bytes, total.bytes)),
        ),
      ),
    ),
    h(
      'table',
      { class: 'kinds' },
      h(
        'tbody',
        null,
        parts.map((part) =>
          h(
            'tr',
            null,
            h('th', { scope: 'row' }, h('span', { class: `swatch piece-${part.piece}`, 'aria-hidden': 'true' }), ' ', part.label),
            h('td', { class: 'num' }, bytes(part.bytes)),
            h('td', { class: 'num' }, meter(part.bytes, total.bytes)),
            h('td', { class: 'place' }, part.about),
          ),
        ),
      ),
    ),
  ];
}

/** One row of cells for each part of a heap; how full a cell is, is how dark it is. */
function map(cells, each) {
  return h(
    'div',
    { class: 'heap-map', role: 'img', 'aria-label': `A cell is ${bytes(each)}; ${cells.filter((full) => !full).length} of ${cells.length} are free` },
    cells.map((full) => h('i', { style: { opacity: full ? String(Math.max(0.18, Math.min(full, 100) / 100)) : null }, class: full ? 'used' : null, title: `${bytes(each)}, ${full} % in blocks` })),
  );
}

/** A map of each heap; those that hold nothing have none to draw. */
function heaps({ recording }) {
  const { heaps: t, cells } = recording.fragmentation,
    all = Array.from({ length: t.count }, (_, i) => i),
    empty = all.filter((i) => !t.blocks[i] && !t.holes[i]);
  const drawn = all.filter((i) => !empty.includes(i)).map((i) => {
    const shown = cells[i] ?? [];
    return h(
      'div',
      { class: 'part' },
      h(
        'p',
        null,
        h('strong', null, t.main[i] ? 'Main arena' : 'Arena of threads'),
        ' ',
        h('code', { class: 'place' }, recording.text(t.address[i])),
        ` ${bytes(t.bytes[i])}: ${bytes(t.taken_bytes[i])} in ${count(t.blocks[i], 'block')}, ${bytes(t.hole_bytes[i])} in ${count(t.holes[i], 'hole')}`,
      ),
      map(shown, Math.ceil(t.bytes[i] / Math.max(shown.length, 1))),
    );
  });
  const bytesOfEmpty = bytes(empty.reduce((sum, i) => sum + t.bytes[i], 0));
  return [...drawn, empty.length ? h('p', null, `${count(empty.length, drawn.length ? 'more heap' : 'heap')} of ${bytesOfEmpty} without a block.`) : null];
}

const place = (context, site) => (site >= 0 ? siteLink(context, site) : 'a small place');

function holes(context) {
  const { recording, state } = context,
    { holes: t } = recording.fragmentation,
    most = t.bytes.reduce((a, b) => Math.max(a, b), 1);
  return keptTable(state, 'holes', {
    caption: 'The largest holes',
    rows: Array.from({ length: t.count }, (_, i) => i),
    height: t.count > 12 ? 'min(44vh, 400px)' : null,
    sort: { id: 'bytes', descending: true },
    columns: [
      { id: 'bytes', label: 'Hole', numeric: true, value: (i) => t.bytes[i], cell: (i) => meter(t.bytes[i], most, bytes(t.bytes[i])) },
      { id: 'above', label: 'Blocks above', title: 'It can go back to the system when these are freed', numeric: true, value: (i) => t.above[i], cell: (i) => number(t.above[i]) },
      { id: 'with', label: 'With', numeric: true, value: (i) => t.above_bytes[i], cell: (i) => bytes(t.above_bytes[i]) },
      { id: 'size', label: 'The lowest of them', numeric: true, value: (i) => t.block_bytes[i], cell: (i) => bytes(t.block_bytes[i]) },
      { id: 'site', label: 'Allocated by', value: (i) => (t.site[i] >= 0 ? recording.siteName(t.site[i]) : ''), cell: (i) => place(context, t.site[i]) },
    ],
  });
}

/** What stacks of one place keep together: [{ site (that keeps most), pinned, blocks, live, taken }]. */
function pinsByPlace(recording) {
  const { pins: t } = recording.fragmentation,
    places = new Map();
  for (let i = 0; i < t.count; i++) {
    const key = t.site[i] >= 0 ? recording.placeKey(t.site[i]) : '',
      row = places.get(key) ?? { site: t.site[i], pinned: 0, blocks: 0, live: 0, taken: 0 };
    row.pinned += t.pinned_bytes[i];
    row.blocks += t.blocks[i];
    row.live += t.live_bytes[i];
    row.taken += t.taken_bytes[i];
    places.set(key, row);
  }
  return [...places.values()];
}

function pins(context) {
  const { recording, state } = context,
    rows = pinsByPlace(recording),
    most = rows.reduce((most, row) => Math.max(most, row.pinned), 1);
  const sized = (id, label, value) => ({ id, label, numeric: true, value, cell: (row) => bytes(value(row)) });
  return keptTable(state, 'pins', {
    caption: 'Free memory on pages that a block of these places keeps',
    rows,
    height: rows.length > 12 ? 'min(44vh, 400px)' : null,
    sort: { id: 'pinned', descending: true },
    columns: [
      { id: 'site', label: 'Place', value: ({ site }) => (site >= 0 ? recording.siteName(site) : ''), cell: ({ site }) => place(context, site) },
      { id: 'pinned', label: 'Keeps free', numeric: true, value: (row) => row.pinned, cell: (row) => meter(row.pinned, most, bytes(row.pinned)) },
      { id: 'blocks', label: 'Blocks', numeric: true, value: (row) => row.blocks, cell: (row) => number(row.blocks) },
      sized('live', 'Live', (row) => row.live),
      sized('extra', 'Headers, rounding', (row) => row.taken - row.live),
    ],
  });
}

function classes({ recording, state }) {
  const { classes: t } = recording.fragmentation;
  return keptTable(state, 'size-classes', {
    caption: 'Blocks and holes by size',
    rows: Array.from({ length: t.count }, (_, i) => i),
    sort: { id: 'up', descending: false },
    columns: [
      { id: 'up', label: 'Up to', numeric: true, value: (i) => t.up_to[i], cell: (i) => bytes(t.up_to[i]) },
      { id: 'blocks', label: 'Blocks', numeric: true, value: (i) => t.blocks[i], cell: (i) => number(t.blocks[i]) },
      { id: 'live', label: 'Live', numeric: true, value: (i) => t.live_bytes[i], cell: (i) => bytes(t.live_bytes[i]) },
      { id: 'extra', label: 'Headers, rounding', numeric: true, value: (i) => t.taken_bytes[i] - t.live_bytes[i], cell: (i) => bytes(t.taken_bytes[i] - t.live_bytes[i]) },
      { id: 'holes', label: 'Holes', numeric: true, value: (i) => t.holes[i], cell: (i) => number(t.holes[i]) },
      { id: 'free', label: 'Free in them', numeric: true, value: (i) => t.hole_bytes[i], cell: (i) => bytes(t.hole_bytes[i]) },
    ],
  });
}

/** The larger part first: behind the last block much can be free, too. */
function freeWords({ bytes: all, hole_bytes: holes, top_bytes: top }) {
  const free = [
    [holes, 'in holes'],
    [top, 'at the top'],
  ].sort(([a], [b]) => b - a);
  return `${share(free[0][0], all)} of ${bytes(all)} is free ${free[0][1]}, ${share(free[1][0], all)} ${free[1][1]}`;
}

function draw(context, keep) {
  const { recording } = context,
    { fragmentation: f } = recording;
  const sentence = lead('The heaps of malloc as a map: where blocks are, which holes lie between them, and which blocks keep free memory from going back to the system.');
  if (!f)
    return [
      sentence,
      emptyState('The map is not known.', `Why: ${(recording.fragmentation_why_not || 'the recording does not tell where blocks lie').replace(/\.$/, '')}.`),
    ];
  const { total } = f;
  return [
    sentence,
    h(
      'p',
      null,
      h('strong', null, freeWords(total)),
      ` ${f.exact ? 'at the end' : 'at the last look'}; ${bytes(total.rss_bytes)} of the heaps are resident.`,
      total.mapped_bytes ? ` Beside them ${bytes(total.mapped_bytes)} are in large blocks with mappings of their own.` : '',
      total.unrecorded_bytes ? ` In the holes are ${bytes(total.unrecorded_bytes)} of blocks that were not recorded.` : '',
    ),
    sums(f),
    section('Heaps, the one with most in holes first', heaps(context)),
    f.holes.count ? section('What keeps the holes', h('p', null, 'A hole can go back to the system when all blocks above it are freed.'), keep(holes(context)).element) : null,
    f.pins.count ? section('Which places scatter their blocks', keep(pins(context)).element) : null,
    section('By size', keep(classes(context)).element),
  ];
}

export default drawnPage('fragmentation', 'Heap map', draw, { filter: false, memory: false });
