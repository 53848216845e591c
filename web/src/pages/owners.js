// SPDX-License-Identifier: MIT
// owners.js -- the page of who holds the memory: what would be freed if a variable, a thread's stack, a mapping let go.
import { meter } from '../charts.js';
import { h } from '../dom.js';
import { ownerRows, ownerTiles } from '../findings.js';
import { bytes, number, share } from '../format.js';
import { command, drawnPage, emptyState, fileArgument, keptTable, lead, section } from '../parts.js';
import { treemap } from '../treemap.js';

const PARTS = 12;

/** Colours by kind of owner; what is no owner has none. */
const KIND_COLOURS = { global: 1, static: 7, 'thread-local': 5, stack: 2, thread: 3, mapping: 8, lost: 4 };

/** The largest places, and the rest. */
function partsOf(tile) {
  const shown = tile.parts.slice(0, PARTS),
    rest = tile.bytes - shown.reduce((sum, one) => sum + one.bytes, 0),
    parts = rest > 0 ? [...shown, { name: 'others', bytes: rest }] : shown;
  return parts.sort((a, b) => b.bytes - a.bytes).map((one) => ({ name: one.name, text: bytes(one.bytes), value: one.bytes }));
}

function picture({ recording, state }) {
  const { tiles, whole } = ownerTiles(recording),
    chosen = state.get('owner');
  return section(
    `${bytes(whole)} by owner, and by the function that allocated it`,
    treemap({
      label: 'Owners by what they retain; the table below has the same in rows',
      tiles: tiles.map((tile) => ({
        ...tile,
        text: `${bytes(tile.bytes)}, ${share(tile.bytes, whole)}`,
        value: tile.bytes,
        parts: partsOf(tile),
        group: KIND_COLOURS[tile.kind] ?? 0,
        chosen: tile.row >= 0 && String(tile.row) === chosen,
      })),
      onopen: (tile) =>
        tile.kind === 'lost' ? state.set({ page: 'leaks' }) : state.set({ owner: tile.row < 0 || String(tile.row) === chosen ? '' : tile.row }),
    }),
  );
}

function list({ recording, state }) {
  const { owners } = recording,
    { rows, whole } = ownerRows(recording);
  const text = (column) => (i) => recording.text(owners[column][i]);
  return keptTable(state, 'owners', {
    caption: 'Owners of the heap',
    rows,
    height: rows.length > 20 ? 'min(60vh, 560px)' : null,
    sort: { id: 'retained', descending: true },
    onopen: (i) => state.set({ owner: String(i) === state.get('owner') ? '' : i }),
    selected: (i) => String(i) === state.get('owner'),
    columns: [
      { id: 'name', label: 'Owner', value: text('name'), cell: (i) => h('code', null, text('name')(i) || '(no name)') },
      {
        id: 'retained',
        label: 'Retained',
        title: 'What would be freed if it let go',
        numeric: true,
        value: (i) => owners.retained_bytes[i],
        cell: (i) => bytes(owners.retained_bytes[i]),
      },
      {
        id: 'share',
        label: 'Of the heap',
        numeric: true,
        value: (i) => owners.retained_bytes[i],
        cell: (i) => meter(owners.retained_bytes[i], whole),
      },
      { id: 'blocks', label: 'Blocks', numeric: true, value: (i) => owners.retained_blocks[i], cell: (i) => number(owners.retained_blocks[i]) },
      {
        id: 'pointers',
        label: 'Pointers',
        title: 'How many pointers it has into the heap',
        numeric: true,
        value: (i) => owners.pointers[i],
        cell: (i) => number(owners.pointers[i]),
      },
      {
        id: 'own',
        label: 'Directly',
        title: 'In blocks that it points to itself',
        numeric: true,
        value: (i) => owners.own_bytes[i],
        cell: (i) => bytes(owners.own_bytes[i]),
      },
      { id: 'kind', label: 'Kind', value: text('kind') },
      { id: 'where', label: 'Where', value: text('where'), cell: (i) => h('span', { class: 'place', title: text('where')(i) }, text('where')(i)) },
    ],
  });
}

function missing(recording) {
  const why = (recording.owners_why_not || 'the recording does not tell who points to whom').replace(/\.$/, '');
  const title = 'Who holds what is not known.',
    reason = `Why: ${why}.`;
  if (recording.meta.running)
    return emptyState(
      title,
      reason,
      'Of one block, or of a typical block of stack number N, a terminal tells it now: ',
      command(`seep why ${recording.meta.pid ?? 'PID'} '#N'`),
    );
  return emptyState(
    title,
    reason,
    'To see it, record with the graph of pointers kept, and let the program end by itself: ',
    command(`seep record --keep-graph ${recording.meta.program ?? 'PROGRAM'}`),
  );
}

function draw(context, keep) {
  const { recording, state } = context,
    { owners, leaks } = recording;
  const sentence = lead(
    'Who keeps the memory alive: for each variable, thread and mapping, what would be freed if it let go of it (its retained size).',
  );
  if (!owners) return [sentence, missing(recording)];
  if (!ownerRows(recording).rows.length)
    return [
      sentence,
      emptyState(
        'Nobody holds anything.',
        `At the search (${leaks.when || 'at exit'}) no block was left that the program could reach.`,
        h('a', { href: state.link({ page: 'leaks' }) }, 'Leaks'),
        ' has what was lost.',
      ),
    ];
  return [
    sentence,
    h('p', null, `As the search (${leaks.when || 'at exit'}) saw it. Filters and moments do not change this page: it knows blocks, not stacks.`),
    picture(context),
    section('All owners', keep(list(context)).element),
    h(
      'p',
      null,
      'The way to one block, or to a typical block of a stack: ',
      command(`seep why ${fileArgument(recording)} ADDRESS`),
      ' By stack instead of by owner: ',
      command(`seep report --retained=sites ${fileArgument(recording)}`),
    ),
  ];
}

export default drawnPage('owners', 'Owners', draw, { filter: false, memory: false });
