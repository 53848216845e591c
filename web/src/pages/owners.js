// SPDX-License-Identifier: MIT
// owners.js -- the page of who holds the memory: what would be freed if a variable, a thread's stack, a mapping let go.
import { meter } from '../charts.js';
import { h } from '../dom.js';
import { ownerBars, ownerRows } from '../findings.js';
import { bytes, number, share } from '../format.js';
import { command, drawnPage, emptyState, fileArgument, keptTable, lead } from '../parts.js';

function picture(recording) {
  const { bars, whole } = ownerBars(recording),
    most = Math.max(...bars.map((bar) => bar.bytes), 1);
  return h(
    'table',
    { class: 'long-bars' },
    h('caption', null, `${bytes(whole)} by owner`),
    h(
      'thead',
      { class: 'unseen' },
      h(
        'tr',
        null,
        ['Owner', 'Retained', 'Share'].map((label) => h('th', { scope: 'col' }, label)),
      ),
    ),
    h(
      'tbody',
      null,
      bars.map((bar) =>
        h(
          'tr',
          null,
          h('th', { scope: 'row' }, h('code', null, bar.name), ' ', h('span', { class: 'place' }, bar.about)),
          h(
            'td',
            { class: 'long' },
            h('span', { class: 'long-fill', 'aria-hidden': 'true', style: { width: `${(100 * bar.bytes) / most}%` } }),
            h('span', null, bytes(bar.bytes)),
          ),
          h('td', { class: 'num' }, share(bar.bytes, whole)),
        ),
      ),
    ),
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
    columns: [
      { id: 'name', label: 'Owner', value: text('name'), cell: (i) => h('code', null, text('name')(i) || '(no name)') },
      {
        id: 'retained',
        label: 'Retained',
        title: 'What would be freed if it let go',
        numeric: true,
        value: (i) => owners.retained_bytes[i],
        cell: (i) => meter(owners.retained_bytes[i], whole, bytes(owners.retained_bytes[i])),
      },
      {
        id: 'share',
        label: 'Of the heap',
        numeric: true,
        value: (i) => owners.retained_bytes[i],
        cell: (i) => share(owners.retained_bytes[i], whole),
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
    picture(recording),
    h('section', null, h('h2', null, 'All owners'), keep(list(context)).element),
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
