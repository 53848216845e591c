// SPDX-License-Identifier: MIT
// leaks.js -- the page of what was not given back: lost memory, memory that grows, invalid frees, resources that are still held.
import { searchButton } from './ask.js';
import { stackText } from '../controls.js';
import { toCsv } from '../csv.js';
import { download, h } from '../dom.js';
import { keeper } from '../findings.js';
import { bytes, count, moment, number, share, time } from '../format.js';
import { rings } from '../rings.js';
import { growthCell, growthWords, leakDetail } from '../leak-detail.js';
import { LEAK_CLASSES, growingSites, growthOf, leakClass, leakRows, chosenSums, wrongRelease } from '../leak-rows.js';
import {
  command,
  copyButton,
  drawnPage,
  emptyState,
  fileArgument,
  lead,
  notice,
  openTable,
  section,
  siteChart,
  siteLinks,
  siteWords,
  stackPart,
  wholeRunNote,
} from '../parts.js';

const SHOWN_FIRST = ['definite', 'possible'];
const shownClasses = (state) => (state.get('classes') === '' ? SHOWN_FIRST : state.get('classes').split(','));

/** The four classes with their sums, as switches of the list below. */
function classCards({ recording, state }, keep) {
  const sums = chosenSums(recording, keep),
    shown = shownClasses(state);
  const toggle = (id) => {
    const next = LEAK_CLASSES.map((one) => one.id).filter((one) => (one === id) !== shown.includes(one));
    state.set({ classes: next.join(',') === SHOWN_FIRST.join(',') ? '' : next.join(',') || 'none' });
  };
  return h(
    'div',
    { class: 'cards', role: 'group', 'aria-label': 'Classes: which of them are listed' },
    LEAK_CLASSES.map(({ id, title, meaning, todo, error }) => {
      const whole = recording.leaks[id],
        part = sums[id];
      return h(
        'button',
        {
          type: 'button',
          class: `card${error && whole.blocks ? ' bad' : ''}`,
          'aria-pressed': String(shown.includes(id)),
          dataset: { keep: `class-${id}` },
          onclick: () => toggle(id),
        },
        h('span', { class: 'card-title' }, title),
        h('span', { class: 'big' }, bytes(whole.bytes)),
        h('span', { class: 'card-text' }, `in ${count(whole.blocks, 'block')}${error ? (whole.blocks ? ' · an error' : ' · fine') : ''}`),
        part && h('span', { class: 'card-text' }, `${bytes(part.bytes)} in ${count(part.blocks, 'block')} in this choice`),
        h('span', { class: 'card-help' }, `${meaning} ${todo}`),
        h('span', { class: 'card-switch' }, shown.includes(id) ? '☑ listed below' : '☐ not listed'),
      );
    }),
  );
}

/** Rules for all rows that are listed. */
function allRules(recording, rows, column) {
  return [...new Set(rows.flatMap((place) => place.rows.map((row) => recording.text(recording.leaks.rows[column][row]))).filter(Boolean))].join('\n');
}

/** The row that a link from another page means, or the first. */
function firstOpen(rows, state) {
  const site = state.get('site'),
    meant = rows.filter((row) => site !== '' && row.sites.map(String).includes(site));
  return meant.length ? meant : rows.slice(0, 1);
}

/** The list for other programs: rules, and a file for a spreadsheet. */
function listTools(recording, rows) {
  const lsan = allRules(recording, rows, 'lsan'),
    valgrind = allRules(recording, rows, 'valgrind');
  const csv = [
    ['class', (row) => leakClass(row.class).id],
    ['bytes', (row) => row.bytes],
    ['blocks', (row) => row.blocks],
    ['hanging_bytes', (row) => row.hangingBytes],
    ['hanging_blocks', (row) => row.hangingBlocks],
    ['age_ms', (row) => row.ageMs],
    ['growth', (row) => (row.site >= 0 ? growthOf(recording, row.site).word : '')],
    ['stack', (row) => (row.site >= 0 ? stackText(recording, recording.sites.node[row.site]) : '')],
  ].map(([label, value]) => ({ label, value }));
  return h(
    'p',
    { class: 'no-print' },
    h('button', { type: 'button', class: 'copy', onclick: () => download('leaks.csv', toCsv(csv, rows), 'text/csv') }, 'Download as CSV'),
    ' ',
    lsan || valgrind
      ? [
          'Rules that suppress all of this list: ',
          lsan && copyButton(lsan, 'rules', 'Copy for LeakSanitizer'),
          ' ',
          valgrind && copyButton(valgrind, 'rules', 'Copy for Valgrind'),
        ]
      : null,
  );
}

function leakList(context, passes, keep) {
  const { recording, state } = context,
    shown = shownClasses(state),
    rows = leakRows(recording, passes, shown);
  if (!rows.length) return emptyRows(context, shown);
  const lost = rows.filter((row) => row.class === 4),
    sum = lost.reduce((all, row) => all + row.weight, 0);
  const listed = LEAK_CLASSES.filter(({ id }) => shown.includes(id))
    .map(({ title }) => title)
    .join(', ');
  return [
    lost.length > 3
      ? h(
          'p',
          null,
          `The first three of ${count(lost.length, 'place')} have ${share(
            lost.slice(0, 3).reduce((all, row) => all + row.weight, 0),
            sum,
          )} of what is lost. Begin there.`,
        )
      : null,
    openTable({
      caption: `The worst class and then the largest first: ${listed}`,
      rows,
      state,
      name: 'leak',
      opened: firstOpen(rows, state),
      key: (row) => `${leakClass(row.class).id}-${row.site >= 0 ? recording.sites.id[row.site] : 'rest'}`,
      columns: [
        { label: 'Allocated in', cell: (row) => (row.site >= 0 ? siteWords(recording, row.site) : '(all others)') },
        { label: 'Class', cell: (row) => leakClass(row.class).title },
        { label: 'Bytes', numeric: true, cell: (row) => bytes(row.bytes) },
        {
          label: 'Hanging on it',
          numeric: true,
          title: 'Indirectly lost: goes away with it',
          cell: (row) => (row.hangingBlocks ? `+ ${bytes(row.hangingBytes)}` : ''),
        },
        { label: 'Blocks', numeric: true, cell: (row) => number(row.blocks) },
        { label: 'Growth', cell: (row) => (row.site >= 0 ? growthCell(context, row.site, row.sites) : '') },
        { label: 'Oldest', numeric: true, title: 'Age of the oldest block at the search', cell: (row) => time(row.ageMs) },
      ],
      detail: (row) => leakDetail(context, row, keep),
    }),
    listTools(recording, rows),
  ];
}

function emptyRows({ recording }, shown) {
  const { leaks } = recording,
    listed = shown.filter((id) => leaks[id]?.blocks);
  if (!listed.length) {
    const others = LEAK_CLASSES.filter(({ id }) => !shown.includes(id) && leaks[id].blocks);
    return emptyState(
      leaks.definite.blocks ? 'None of the chosen classes has blocks.' : 'Nothing is lost.',
      leaks.definite.blocks ? '' : `Searched ${leaks.when}: every block that was not freed can still be reached, or there is none.`,
      others.length > 0 && `Also there: ${others.map(({ title }) => title).join(', ')}. The buttons above list them.`,
    );
  }
  return emptyState(
    'No leaks in this choice.',
    'There are some in the whole recording: the filter, the thread, the sizes or the range in the bar above leave them out.',
    'Clear them to see all.',
  );
}

/** No search: this must not look like "no leaks". */
function searchNow(context) {
  const said = h('span', { role: 'status' });
  return h(
    'p',
    null,
    searchButton(context, (text) => {
      said.textContent = text;
    }),
    ' The program goes on meanwhile. ',
    said,
  );
}

function notSearched(context) {
  const { recording, state } = context;
  const why = (recording.leaks.why_not || 'no search was made').replace(/\.$/, '');
  return [
    notice(
      'warn',
      'Not searched for leaks.',
      `${why[0].toUpperCase()}${why.slice(1)}. So it is not known whether something is lost: this does not mean that nothing is.`,
    ),
    recording.meta.running && context.feed?.live
      ? searchNow(context)
      : recording.meta.running
        ? h('p', null, 'Search it now, in a terminal; the program goes on meanwhile: ', command(`seep leaks ${recording.meta.pid ?? 'PID'}`))
        : h(
            'p',
            null,
            'What to do: record it without ',
            h('code', null, '--no-leak-scan'),
            ' and let the program end by itself (exit, or a return from main); or, while it is being recorded, ask for a search: ',
            command('seep leaks PID'),
          ),
    h(
      'p',
      null,
      'Until then, ',
      h('a', { href: state.link({ page: 'table', cost: 'live' }) }, 'what was not freed'),
      ' and what grows are the best hints.',
    ),
  ];
}

/** Held more and more, though it is not lost: caches without a limit, lists that are only added to. */
function growing(context, passes, keep) {
  const { recording, state } = context,
    sites = growingSites(recording, passes);
  if (!sites.length) return null;
  return section(
    'Growing',
    h(
      'p',
      null,
      recording.leaks.scanned
        ? 'The program can still reach this memory, so no tool calls it a leak. But it gets more and more while the program runs: a cache without a limit, a list that is only added to.'
        : 'Memory that gets more and more while the program runs: a leak, a cache without a limit, or a list that is only added to.',
    ),
    openTable({
      caption: 'Places that hold more and more, the fastest first',
      rows: sites,
      state,
      name: 'grow',
      key: (site) => String(recording.sites.id[site]),
      columns: [
        { label: 'Allocated in', cell: (site) => siteWords(recording, site) },
        { label: recording.meta.running ? 'Held now' : 'Held at the end', numeric: true, cell: (site) => bytes(recording.sites.live_bytes[site]) },
        { label: 'Blocks', numeric: true, cell: (site) => number(recording.sites.live_blocks[site]) },
        { label: 'Growth', cell: (site) => growthCell(context, site) },
      ],
      detail: (site) => [
        growthWords(context, site),
        siteChart(context, [site], keep),
        stackPart(context, recording.sites.node[site], 'Allocated by'),
        h('p', null, 'Who holds it: ', command(`seep why ${fileArgument(recording)} '#${recording.sites.id[site]}'`)),
        siteLinks(context, site),
      ],
    }),
  );
}

function wrongDetail(context, i) {
  const { recording } = context,
    { errors } = recording,
    site = errors.site[i];
  return [
    h(
      'p',
      null,
      `${number(errors.times[i])} ${errors.times[i] === 1 ? 'time' : 'times'}, first at ${moment(errors.first_ms[i])}, address ${recording.text(errors.address[i]) || 'unknown'}`,
      errors.size[i] ? `, ${bytes(errors.size[i])}` : '',
      errors.thread[i] > 0 ? `, in thread ${recording.threadLabel(errors.thread[i])}` : '',
      '. ',
      wrongRelease(recording.text(errors.type[i])).todo,
    ),
    h(
      'div',
      { class: 'columns' },
      stackPart(context, Math.max(0, errors.release_node[i]), 'Freed by'),
      errors.first_node[i] > 0 && stackPart(context, errors.first_node[i], 'First freed by'),
      site >= 0
        ? stackPart(context, recording.sites.node[site], 'Allocated by')
        : h('div', { class: 'part' }, h('h3', null, 'Allocated by'), h('p', null, 'Not known: no recorded call gave this address.')),
    ),
  ];
}

/** Blocks that keep each other, and that nobody else holds. */
function circles(context) {
  if (!context.recording.cycles.length) return null;
  return section(
    'Circles of lost blocks',
    h('p', null, 'These blocks point to each other and to nothing that the program still has: reference counts never become zero. One pointer of the circle should be weak, or be cleared.'),
    rings(context),
  );
}

function wrongReleases(context) {
  const { recording, state } = context,
    { errors } = recording;
  if (!errors.count)
    return section('Invalid frees', h('p', null, 'None: no block was freed twice, by the wrong function, or without having been allocated.'));
  const frameOf = (i) => (errors.release_node[i] > 0 ? recording.nodes.frame[recording.trimmedNode(errors.release_node[i])] : -1);
  return section(
    'Invalid frees',
    h('p', null, 'Each of these is a mistake that can crash the program, or damage its memory.'),
    openTable({
      caption: 'Frees that went wrong',
      rows: Array.from({ length: errors.count }, (_, i) => i),
      state,
      name: 'wrong',
      opened: [0],
      key: (i) => String(i),
      columns: [
        {
          label: 'Freed in',
          cell: (i) => [h('code', null, recording.functionName(frameOf(i))), ' ', h('span', { class: 'place' }, recording.placeOf(frameOf(i)))],
        },
        { label: 'What', cell: (i) => recording.text(errors.what[i]) || wrongRelease(recording.text(errors.type[i])).title },
        { label: 'Times', numeric: true, cell: (i) => number(errors.times[i]) },
        { label: 'First', numeric: true, cell: (i) => moment(errors.first_ms[i]) },
      ],
      detail: (i) => wrongDetail(context, i),
    }),
  );
}

/** File descriptors and other things with a handle. */
function resources(context) {
  const { recording, state } = context,
    { resources: all } = recording;
  const rows = Array.from({ length: all.count }, (_, i) => i)
    .filter((i) => all.held[i] > 0)
    .sort((a, b) => all.held[b] - all.held[a] || a - b);
  if (!all.count) return null;
  if (!rows.length) return section('Resources', h('p', null, 'All that was acquired was released.'));
  const frameOf = (i) => (all.node[i] > 0 ? recording.nodes.frame[recording.trimmedNode(all.node[i])] : -1);
  return section(
    'Resources that are still held',
    openTable({
      caption: 'File descriptors and what the program announced with SEEP_RESOURCE_ACQUIRE',
      rows,
      state,
      name: 'held',
      key: (i) => String(i),
      columns: [
        {
          label: 'Acquired in',
          cell: (i) => [h('code', null, recording.functionName(frameOf(i))), ' ', h('span', { class: 'place' }, recording.placeOf(frameOf(i)))],
        },
        { label: 'Type', cell: (i) => recording.text(all.type[i]) },
        { label: 'Held', numeric: true, cell: (i) => number(all.held[i]) },
        { label: 'Acquired', numeric: true, cell: (i) => number(all.acquired[i]) },
        { label: 'Released', numeric: true, cell: (i) => number(all.released[i]) },
      ],
      detail: (i) => stackPart(context, Math.max(0, all.node[i]), 'Acquired by'),
    }),
  );
}

function draw(context, keep) {
  const { recording, view } = context,
    { leaks } = recording,
    passes = keeper(view);
  return [
    lead('Memory that was not freed: what is lost for good, what keeps growing, and invalid frees.'),
    leaks.scanned
      ? [
          h('p', null, `Searched ${leaks.when || 'once'}. Each block that was not freed is in one of four classes; only the first one is an error.`),
          classCards(context, passes),
          wholeRunNote(view, 'The search has numbers'),
          section('By place', leakList(context, passes, keep)),
          leaks.suppressed.blocks
            ? h(
                'p',
                null,
                `Besides, ${bytes(leaks.suppressed.bytes)} in ${count(leaks.suppressed.blocks, 'block')} are suppressed by rules and in no number above.`,
              )
            : null,
        ]
      : notSearched(context),
    growing(context, passes, keep),
    circles(context),
    wrongReleases(context),
    resources(context),
  ];
}

export default drawnPage('leaks', 'Leaks', draw);
