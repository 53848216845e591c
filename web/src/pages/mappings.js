// SPDX-License-Identifier: MIT
// mappings.js -- the page of where the resident memory is: heap, allocator, mmap, stacks, files.
import { meter } from '../charts.js';
import { h } from '../dom.js';
import { MAPPING_CLASSES, SEEP, knowsResident, mappingClasses, mappingSum, mappingVerdict, seepResident } from '../findings.js';
import { bytes, number, share } from '../format.js';
import { drawnPage, emptyState, keptTable, lead, notice, section } from '../parts.js';

const pieceOf = (entry) => `piece-${MAPPING_CLASSES.findIndex(({ id }) => id === entry.id)}`;

function picture(classes, word) {
  const all = mappingSum(classes),
    parts = classes.filter((entry) => entry.part > 0);
  return h(
    'div',
    { class: 'stacked', role: 'img', 'aria-label': `${word} memory: ${parts.map((entry) => `${entry.label} ${bytes(entry.part)}`).join(', ')}` },
    parts.map((entry) =>
      h(
        'div',
        {
          class: `piece ${pieceOf(entry)}`,
          title: `${entry.label}: ${bytes(entry.part)}, ${share(entry.part, all)}`,
          style: { 'flex-grow': String(entry.part / all) },
        },
        entry.part / all > 0.09 && h('span', null, entry.short ?? entry.label, h('br'), share(entry.part, all)),
      ),
    ),
  );
}

function classTable(classes, resident) {
  const all = mappingSum(classes),
    heads = [
      resident && ['Resident', 'num'],
      ['Share', 'num'],
      ['Mapped', 'num', 'Address space, also what was never written to'],
      ['What it is', null],
    ].filter(Boolean);
  return h(
    'div',
    { class: 'wide' },
    h(
      'table',
      { class: 'kinds' },
      h('caption', null, resident ? 'Where the resident memory (RSS) is' : 'What is mapped'),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col' }, 'Part'),
          heads.map(([label, kind, title]) => h('th', { scope: 'col', class: kind, title: title ?? null }, label)),
        ),
      ),
      h(
        'tbody',
        null,
        classes.map((entry) =>
          h(
            'tr',
            null,
            h('th', { scope: 'row' }, h('span', { class: `swatch ${pieceOf(entry)}`, 'aria-hidden': 'true' }), ' ', entry.label),
            resident && h('td', { class: 'num' }, bytes(entry.part)),
            h('td', { class: 'num' }, meter(entry.part, all)),
            h('td', { class: 'num' }, entry.bytes ? bytes(entry.bytes) : '–'),
            h('td', null, entry.meaning, ' ', h('span', { class: 'place' }, entry.todo)),
          ),
        ),
      ),
      h(
        'tfoot',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'row' }, 'All'),
          resident && h('td', { class: 'num' }, bytes(all)),
          h('td', { class: 'num' }, '100 %'),
          h('td', { class: 'num' }, bytes(classes.reduce((sum, entry) => sum + entry.bytes, 0))),
          h('td'),
        ),
      ),
    ),
  );
}

function rowTable({ recording, state }) {
  const { rows } = recording.mappings,
    text = (column) => (i) => recording.text(rows[column][i]),
    listed = Array.from({ length: rows.count }, (_, i) => i).filter((i) => text('class')(i) !== SEEP),
    most = listed.reduce((most, i) => Math.max(most, rows.rss_bytes[i]), 1);
  return keptTable(state, 'mappings', {
    caption: 'All mappings',
    rows: listed,
    height: listed.length > 20 ? 'min(60vh, 560px)' : null,
    sort: { id: knowsResident(recording) ? 'rss' : 'bytes', descending: true },
    columns: [
      { id: 'name', label: 'Mapping', value: text('name'), cell: (i) => h('span', { title: text('name')(i) }, text('name')(i) || '(no name)') },
      { id: 'class', label: 'Part', value: text('class') },
      {
        id: 'rss',
        label: 'Resident',
        numeric: true,
        value: (i) => rows.rss_bytes[i],
        cell: (i) => (rows.rss_bytes[i] < 0 ? 'not known' : meter(rows.rss_bytes[i], most, bytes(rows.rss_bytes[i]))),
      },
      { id: 'bytes', label: 'Mapped', numeric: true, value: (i) => rows.bytes[i], cell: (i) => bytes(rows.bytes[i]) },
      {
        id: 'blocks',
        label: 'Blocks',
        title: 'Live blocks in it',
        numeric: true,
        value: (i) => rows.blocks[i],
        cell: (i) => (rows.blocks[i] ? number(rows.blocks[i]) : ''),
      },
      { id: 'address', label: 'Address', value: text('address'), cell: (i) => h('code', null, text('address')(i)) },
    ],
  });
}

function draw(context, keep) {
  const { recording, state, view } = context,
    { mappings, totals, meta } = recording;
  const sentence = lead('Where the resident memory (RSS) of the process is: what the kernel counts, as against what the program asked for.');
  if (!mappings.rows.count) {
    return [
      sentence,
      emptyState(
        'The mappings are not known.',
        meta.running
          ? 'They are read when the process is looked at, and that failed: it may belong to another user.'
          : 'They are read at the end of the program; it ended before that was possible, or the recording is of an older seep.',
        totals.rss_peak_bytes
          ? `What is known: at most ${bytes(totals.rss_peak_bytes)} were resident, with a heap of ${bytes(totals.peak_bytes)} at its peak. `
          : '',
        h('a', { href: state.link({ page: 'timeline' }) }, 'Timeline'),
        ' has both over time.',
      ),
    ];
  }
  const classes = mappingClasses(recording),
    resident = knowsResident(recording);
  return [
    sentence,
    h(
      'p',
      null,
      h('strong', null, mappingVerdict(classes, resident)),
      !resident && mappings.rss_bytes >= 0 ? ` ${bytes(mappings.rss_bytes)} of it were resident; where is not known of this recording.` : '',
      totals.rss_peak_bytes > mappingSum(classes) ? ` During the run it was at most ${bytes(totals.rss_peak_bytes)}.` : '',
      seepResident(recording) ? ` Another ${bytes(seepResident(recording))} of seep itself are in no sum: they are not there when the program runs alone.` : '',
    ),
    mappings.advice ? notice('info', 'What helps:', `${mappings.advice}.`) : null,
    view.moment.text
      ? notice(
          'info',
          'Of one moment only.',
          `The mappings are those ${mappings.at === 'end' ? 'at the end of the run' : 'of the last look at the process'}, not of ${view.moment.text}.`,
        )
      : h('p', null, mappings.at === 'end' ? 'As they were at the end of the run.' : 'As they were at the last look at the process.'),
    picture(classes, resident ? 'Resident' : 'Mapped'),
    classTable(classes, resident),
    totals.mmap_live_bytes
      ? h(
          'p',
          null,
          h('a', { href: state.link({ page: 'table', mapped: '1', cost: 'live' }) }, `By which stacks ${bytes(totals.mmap_live_bytes)} were mapped`),
        )
      : null,
    section('All mappings', keep(rowTable(context)).element),
  ];
}

export default drawnPage('mappings', 'Mappings', draw, { filter: false, memory: false });
