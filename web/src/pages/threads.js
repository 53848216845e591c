// SPDX-License-Identifier: MIT
// threads.js -- the page of threads and processes: who allocates, who frees, and what was recorded beside.
import { meter } from '../charts.js';
import { siteLink } from '../controls.js';
import { h } from '../dom.js';
import { handOvers, threadRows } from '../findings.js';
import { base, bytes, count, moment, number, share } from '../format.js';
import { OTHER_PROCESS } from '../state.js';
import { command, drawnPage, emptyState, keptTable, lead, section } from '../parts.js';

const TOP = 10;

function threadTable({ recording, state }, rows) {
  const most = (key) => Math.max(...rows.map((row) => row[key]), 1);
  const mosts = { bytes: most('bytes'), live: most('live') },
    chosen = state.get('thread');
  const toggle = (row) => state.set({ thread: String(row.thread) === chosen ? '' : row.thread });
  return keptTable(state, 'threads', {
    caption: 'Threads. Enter or a click chooses one for all pages',
    rows,
    height: rows.length > 20 ? 'min(60vh, 560px)' : null,
    sort: { id: 'bytes', descending: true },
    onopen: toggle,
    selected: (row) => String(row.thread) === chosen,
    columns: [
      { id: 'name', label: 'Thread', value: (row) => row.name, cell: (row) => [String(row.thread) === chosen ? '✓ ' : '', row.name] },
      { id: 'tid', label: 'Id', numeric: true, value: (row) => row.tid, cell: (row) => (row.tid > 0 ? String(row.tid) : '–') },
      { id: 'allocs', label: 'Allocations', numeric: true, value: (row) => row.allocs, cell: (row) => number(row.allocs) },
      {
        id: 'bytes',
        label: 'Allocated',
        title: 'All bytes ever allocated by it, mostly freed again',
        numeric: true,
        value: (row) => row.bytes,
        cell: (row) => meter(row.bytes, mosts.bytes, bytes(row.bytes)),
      },
      {
        id: 'frees',
        label: 'Frees',
        title: 'Releases by this thread, whoever allocated',
        numeric: true,
        value: (row) => row.frees,
        cell: (row) => number(row.frees),
      },
      {
        id: 'live',
        label: 'Not freed',
        title: 'Allocated by it and not freed, whoever should have',
        numeric: true,
        value: (row) => row.live,
        cell: (row) => meter(row.live, mosts.live, bytes(row.live)),
      },
      { id: 'blocks', label: 'Blocks', numeric: true, value: (row) => row.liveBlocks, cell: (row) => number(row.liveBlocks) },
      { id: 'start', label: 'From', numeric: true, value: (row) => row.start, cell: (row) => moment(row.start) },
      { id: 'end', label: 'To', numeric: true, value: (row) => row.end || Infinity, cell: (row) => until(row) },
    ],
  });
}

/** When a thread was there for the last time: its end is seen only where another took its place. */
const until = ({ end, last }) => (end ? moment(end) : ['not known', 'ended earlier', 'the end'][last]);

/** What the chosen thread does most. */
function places(context, rows) {
  const { recording, state, view } = context,
    row = rows.find((one) => String(one.thread) === state.get('thread'));
  if (!row) return h('p', null, 'Choose a thread to see only its stacks, here and on all other pages.');
  const { alloc_bytes: size, allocs } = view.columns;
  const sites = Array.from({ length: recording.sites.count }, (_, s) => s)
    .filter((s) => view.included[s] && allocs[s] > 0)
    .sort((a, b) => size[b] - size[a] || a - b);
  const all = sites.reduce((sum, s) => sum + size[s], 0);
  return section(
    `What ${row.label} allocates`,
    view.moment.of === 'threads' ? null : h('p', { class: 'follow' }, view.notes.at(-1)),
    sites.length
      ? h(
          'div',
          { class: 'wide' },
          h(
            'table',
            null,
            h('caption', null, `The ${count(Math.min(TOP, sites.length), 'place')} with most bytes, of ${number(sites.length)}`),
            h(
              'thead',
              null,
              h(
                'tr',
                null,
                h('th', { scope: 'col' }, 'Allocated in'),
                h('th', { scope: 'col', class: 'num' }, 'Bytes'),
                h('th', { scope: 'col', class: 'num' }, 'Share'),
                h('th', { scope: 'col', class: 'num' }, 'Calls'),
              ),
            ),
            h(
              'tbody',
              null,
              sites
                .slice(0, TOP)
                .map((s) =>
                  h(
                    'tr',
                    null,
                    h('th', { scope: 'row' }, siteLink(context, s)),
                    h('td', { class: 'num' }, meter(size[s], all, bytes(size[s]))),
                    h('td', { class: 'num' }, share(size[s], all)),
                    h('td', { class: 'num' }, number(allocs[s])),
                  ),
                ),
            ),
          ),
        )
      : emptyState('Nothing in this choice.', 'The filter or the range in the bar above leaves out all that this thread allocates.'),
    h(
      'p',
      null,
      h('button', { type: 'button', onclick: () => state.set({ thread: '' }), dataset: { keep: 'all-threads' } }, 'Show all threads again'),
    ),
  );
}

/** The recording of process I, where it is in this page; -1. */
function recordingOf({ recordings, recording }, i) {
  const { processes: p } = recording;
  return recordings.length > 1 && !p.this[i]
    ? recordings.findIndex((r) => r.meta.pid === p.pid[i] && base(r.meta.file ?? '') === recording.text(p.file[i]))
    : -1;
}

function processCell(context, i) {
  const { recording, state } = context,
    name = h('code', null, recording.text(recording.processes.program[i])),
    other = recordingOf(context, i);
  if (other < 0) return name;
  return h('a', { href: state.link({ ...OTHER_PROCESS, recording: other, page: 'summary' }) }, name);
}

function processTable(context) {
  const { recording, state } = context,
    { processes: p } = recording,
    most = Math.max(...p.peak_bytes, 1);
  return keptTable(state, 'processes', {
    caption: 'Processes that were recorded together',
    rows: Array.from({ length: p.count }, (_, i) => i),
    sort: { id: 'peak', descending: true },
    columns: [
      {
        id: 'program',
        label: 'Program',
        value: (i) => recording.text(p.program[i]),
        cell: (i) => [processCell(context, i), p.this[i] ? h('strong', null, ' (shown here)') : ''],
      },
      { id: 'pid', label: 'Pid', numeric: true, value: (i) => p.pid[i], cell: (i) => String(p.pid[i]) },
      { id: 'ppid', label: 'Parent', numeric: true, value: (i) => p.ppid[i], cell: (i) => (p.ppid[i] ? String(p.ppid[i]) : '–') },
      { id: 'peak', label: 'Peak', numeric: true, value: (i) => p.peak_bytes[i], cell: (i) => meter(p.peak_bytes[i], most, bytes(p.peak_bytes[i])) },
      { id: 'live', label: 'Not freed', numeric: true, value: (i) => p.live_bytes[i], cell: (i) => bytes(p.live_bytes[i]) },
      { id: 'allocs', label: 'Allocations', numeric: true, value: (i) => p.allocations[i], cell: (i) => number(p.allocations[i]) },
      { id: 'lost', label: 'Lost', numeric: true, value: (i) => p.lost_bytes[i], cell: (i) => (p.lost_bytes[i] < 0 ? 'not searched' : bytes(p.lost_bytes[i])) },
      { id: 'file', label: 'File', value: (i) => recording.text(p.file[i]), cell: (i) => h('code', null, recording.text(p.file[i])) },
    ],
  });
}

function processes(context, keep) {
  const { recording } = context,
    { processes: p } = recording;
  if (p.count < 2) {
    return section(
      'Processes',
      h(
        'p',
        null,
        'No other process was recorded beside this one. Children that run another program are followed by default; those that only fork with ',
        command('seep record --follow=all PROGRAM'),
      ),
    );
  }
  const other = Array.from({ length: p.count }, (_, i) => i).find((i) => !p.this[i] && recording.text(p.file[i]) && recordingOf(context, i) < 0);
  return section(
    'Processes',
    keep(processTable(context)).element,
    other === undefined
      ? null
      : h('p', null, 'Each has a recording of its own, to be looked at with ', command(`seep html ${recording.text(p.file[other])}`)),
  );
}

function draw(context, keep) {
  const { recording, state, view } = context,
    rows = threadRows(recording),
    notes = handOvers(rows),
    narrowed = ['time', 'range', 'peak'].includes(view.moment.of) || ['filter', 'size', 'life'].some((key) => state.get(key));
  return [
    lead('Which threads allocate and free, and which processes were recorded together.'),
    rows.length
      ? section(
          'Threads',
          narrowed
            ? h('p', { class: 'follow' }, 'The numbers of threads are of the whole run and of all stacks; a moment, a range or a filter does not change them.')
            : null,
          keep(threadTable(context, rows)).element,
          notes.length
            ? h(
                'ul',
                { class: 'notes' },
                notes.map((text) => h('li', null, text)),
                h(
                  'li',
                  null,
                  'Memory that one thread allocates and another frees is fine, but slower in most allocators, and it can stay with the thread that freed it.',
                ),
              )
            : null,
        )
      : section(
          'Threads',
          emptyState(
            'No thread is known.',
            'The recording has no numbers by thread: nothing was allocated, or it was read from a report that has none.',
          ),
        ),
    rows.length > 1 ? places(context, rows) : null,
    processes(context, keep),
  ];
}

export default drawnPage('threads', 'Threads and processes', draw, { short: 'Threads' });
