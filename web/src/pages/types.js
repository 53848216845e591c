// SPDX-License-Identifier: MIT
// types.js -- the page of types: which C, C++ and Rust types the heap is made of, at the end, at the peak, at snapshots, and what changed between two of these.
import { meter } from '../charts.js';
import { siteLink } from '../controls.js';
import { choice, h } from '../dom.js';
import { bytes, count, number, share, signed } from '../format.js';
import { markName } from '../moments.js';
import { command, drawnPage, emptyState, fileArgument, lead, openTable, section } from '../parts.js';
import { treemap } from '../treemap.js';
import { typeDifference, typeMoments, typeRows } from '../type-rows.js';

const TILES = 40,
  COLOURS = 12,
  KNOWN_LEAST = 0.05; /* of the bytes: below it a picture would be one grey box */

const momentName = (recording, at) => (at === -1 ? 'the end' : at === -2 ? 'the peak' : markName(recording, at));

/** The same type has the same colour at each moment. */
function colourOf(name) {
  let sum = 0;
  for (let i = 0; i < name.length; i++) sum = (sum * 31 + name.charCodeAt(i)) >>> 0;
  return 1 + (sum % COLOURS);
}

function choosers({ recording, state }, moments, shown, against) {
  const options = moments.map(({ at }) => ({ value: String(at), label: momentName(recording, at) }));
  return h(
    'div',
    { class: 'brush' },
    h('span', { 'aria-hidden': 'true' }, 'Types at'),
    choice('Types at', options, String(shown.at), (at) => state.set({ types: at })),
    moments.length > 1 && h('span', { 'aria-hidden': 'true' }, 'changes since'),
    moments.length > 1 &&
      choice(
        'Changes since',
        [{ value: '', label: 'none' }, ...options.filter(({ value }) => value !== String(shown.at))],
        against ? String(against.at) : '',
        (at) => state.set({ since: at }),
      ),
  );
}

function picture(rows, whole) {
  const known = rows.filter((row) => row.name && row.bytes > 0),
    seen = known.slice(0, TILES),
    unknown = rows.filter((row) => !row.name).reduce((sum, row) => sum + row.bytes, 0),
    rest = known.slice(seen.length).reduce((sum, row) => sum + row.bytes, 0);
  const tile = (name, size, about, group) => ({ name, about, text: `${bytes(size)}, ${share(size, whole)}`, value: size, group });
  const tiles = seen.map((row) => tile(row.name, row.bytes, count(row.blocks, 'block'), row.by ? colourOf(row.name) : 0));
  if (rest > 0) tiles.push(tile('other types', rest, '', 0));
  if (unknown > 0) tiles.push(tile('not known', unknown, 'no debug information tells', 0));
  return treemap({ label: 'The heap by type; the table below has the same in rows', tiles: tiles.sort((a, b) => b.value - a.value) });
}

/** The stacks that made the blocks of a type. */
function detail(context, row) {
  if (!row.parts.length) return h('p', null, 'Its call stacks are not in this page.');
  return h(
    'div',
    { class: 'part' },
    h('h3', null, 'Allocated by'),
    h(
      'ul',
      { class: 'notes' },
      row.parts.map((part) =>
        h('li', null, `${bytes(part.bytes)} in ${count(part.blocks, 'block')}: `, part.site >= 0 ? siteLink(context, part.site) : 'a small place'),
      ),
      row.sites > row.parts.length ? h('li', { class: 'place' }, `and ${number(row.sites - row.parts.length)} more call stacks`) : null,
    ),
  );
}

const typeCell = (row) => (row.name ? h('code', null, row.name) : h('span', { class: 'place' }, 'not known'));

/** The largest place, beside the type. */
const placeCell = (context, row) => (row.site >= 0 ? [siteLink(context, row.site), row.sites > 1 ? ` +${number(row.sites - 1)}` : ''] : '');

/** A table of types: what each is, COLUMNS, and the place that has most of it. */
function table(context, caption, rows, columns) {
  return openTable({
    caption,
    rows,
    key: (row) => String(row.key),
    state: context.state,
    name: 'type',
    detail: (row) => detail(context, row),
    columns: [{ label: 'Type', cell: typeCell }, ...columns, { label: 'Most of it', cell: (row) => placeCell(context, row) }],
  });
}

const list = (context, rows, whole) =>
  table(context, 'Types, largest first; a row opens its call stacks', rows, [
    { label: 'Bytes', numeric: true, cell: (row) => bytes(row.bytes) },
    { label: 'Share', numeric: true, cell: (row) => meter(row.bytes, whole) },
    { label: 'Blocks', numeric: true, cell: (row) => number(row.blocks) },
    { label: 'Size', numeric: true, title: 'Of one object, where it is known', cell: (row) => (row.size ? bytes(row.size) : '') },
    { label: 'Known by', class: 'place', cell: (row) => h('span', { title: context.recording.type_ways[row.by] ?? null }, row.by) },
  ]);

const changes = (context, rows) =>
  table(context, 'What changed most comes first', rows, [
    { label: 'Change', numeric: true, cell: (row) => h('strong', null, signed(row.change)) },
    { label: 'Blocks', numeric: true, cell: (row) => signed(row.changeBlocks, number) },
    { label: 'Before', numeric: true, cell: (row) => bytes(row.before) },
    { label: 'After', numeric: true, cell: (row) => bytes(row.bytes) },
  ]);

function draw(context) {
  const { recording, state } = context,
    moments = typeMoments(recording),
    sentence = lead('Which types the heap is made of: from debug information, tables of virtual functions, template arguments and the source line of each allocation.');
  if (!moments.length)
    return [
      sentence,
      emptyState(
        'Types are not in this page.',
        'They take too long for a page that is made anew every few seconds, or that shows one view.',
        command(`seep report --types ${fileArgument(recording)}`),
      ),
    ];
  const shown = moments.find(({ at }) => String(at) === state.get('types')) ?? moments[0],
    against = moments.find(({ at }) => String(at) === state.get('since') && at !== shown.at),
    rows = typeRows(recording, shown.at),
    pictured = shown.known_bytes >= KNOWN_LEAST * shown.bytes;
  return [
    sentence,
    choosers(context, moments, shown, against),
    h(
      'p',
      null,
      `At ${momentName(recording, shown.at)}: ${bytes(shown.bytes)} in ${count(shown.blocks, 'block')}; the type of `,
      h('strong', null, share(shown.known_bytes, shown.bytes)),
      ` of the bytes is known, ${shown.exact ? 'block by block' : 'by call stacks'}. Filters do not change this page.`,
    ),
    pictured ? null : h('p', null, 'Types come from debug information: compile with -g, or give the debug files (', h('code', null, '--debug-path'), ') when the page is made.'),
    against
      ? section(`From ${momentName(recording, against.at)} to ${momentName(recording, shown.at)}`, changes(context, typeDifference(recording, against.at, shown.at)))
      : [pictured && picture(rows, shown.bytes), list(context, rows, shown.bytes)],
  ];
}

export default drawnPage('types', 'Types', draw, { filter: false, memory: false });
