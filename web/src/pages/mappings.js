// SPDX-License-Identifier: MIT
// mappings.js -- the page of where the resident memory is: heap, allocator, mmap, stacks, files.
import { meter } from '../charts.js';
import { Table, h } from '../dom.js';
import { bytes, number, share } from '../format.js';
import { drawnPage, emptyState, lead, notice, section } from '../parts.js';

/** Classes in the order of the picture (their patterns, so that nobody needs colours, are in findings.css); short: for the picture. */
const CLASSES = [
  { id: 'heap', label: 'Heap', meaning: 'Blocks that the program asked for and has not freed.', todo: 'Flame graph, Leaks and Owners tell what it is.' },
  { id: 'allocator overhead', label: 'Allocator overhead', short: 'Allocator', meaning: 'What the allocator keeps beside the blocks: headers, rounding, freed memory that it has not given back, holes (fragmentation).', todo: 'Large: free in the order of allocation, allocate less at the peak, or try malloc_trim(0), MALLOC_ARENA_MAX=2, another allocator.' },
  { id: 'mmap', label: 'mmap', meaning: 'Memory that the program mapped itself.', todo: 'The page Table with mapped memory tells by which stack.' },
  { id: 'stack', label: 'Stacks', meaning: 'Of threads, as far as they were ever used.', todo: 'Many threads: fewer, or smaller stacks (pthread_attr_setstacksize).' },
  { id: 'module', label: 'Program and libraries', short: 'Libraries', meaning: 'Code and data of the program and of its libraries; code is shared with other processes.', todo: 'Rarely worth a look.' },
  { id: 'file', label: 'Files', meaning: 'Files that are mapped; the kernel can take the pages back when memory is short.', todo: 'Counts as resident, but costs little.' },
  { id: 'other', label: 'Other', meaning: 'Of the kernel (vdso), of seep itself, or of unknown origin.', todo: '' },
];

/** Sums by class, in the order of the picture, with those only that have something: [{ id, label, rss, bytes, rows }]. */
export function mappingClasses({ mappings: { rows }, text }, textOf = text) {
  const sums = new Map(CLASSES.map((entry) => [entry.id, { ...entry, rss: 0, bytes: 0, rows: 0 }]));
  for (let i = 0; i < rows.count; i++) {
    const sum = sums.get(textOf(rows.class[i])) ?? sums.get('other');
    sum.rss += rows.rss_bytes[i];
    sum.bytes += rows.bytes[i];
    sum.rows++;
  }
  return [...sums.values()].filter((sum) => sum.rows > 0);
}

/** The largest part in a sentence. */
export function mappingVerdict(classes) {
  const all = classes.reduce((sum, entry) => sum + entry.rss, 0), heap = classes.find(({ id }) => id === 'heap')?.rss ?? 0;
  const largest = classes.reduce((most, entry) => (entry.rss > most.rss ? entry : most), classes[0]);
  const overhead = classes.find(({ id }) => id === 'allocator overhead')?.rss ?? 0;
  const words = [`${bytes(all)} are resident. The largest part is ${largest.label.toLowerCase() === 'mmap' ? 'mmap' : largest.label.toLowerCase()} with ${share(largest.rss, all)}.`];
  if (heap > 0 && overhead > heap / 2) words.push(`The allocator keeps ${bytes(overhead)} beside a heap of ${bytes(heap)}: memory that was freed and not given back, or holes between blocks.`);
  return words.join(' ');
}

function picture(classes) {
  const all = classes.reduce((sum, entry) => sum + entry.rss, 0), parts = classes.filter((entry) => entry.rss > 0);
  return h('div', { class: 'stacked', role: 'img', 'aria-label': `Resident memory: ${parts.map((entry) => `${entry.label} ${bytes(entry.rss)}`).join(', ')}` },
    parts.map((entry) => h('div', { class: `piece piece-${CLASSES.findIndex(({ id }) => id === entry.id)}`, title: `${entry.label}: ${bytes(entry.rss)}, ${share(entry.rss, all)}`, style: { 'flex-grow': String(entry.rss / all) } },
      entry.rss / all > 0.09 && h('span', null, entry.short ?? entry.label, h('br'), share(entry.rss, all)))));
}

function classTable(classes) {
  const all = classes.reduce((sum, entry) => sum + entry.rss, 0);
  return h('div', { class: 'wide' }, h('table', { class: 'kinds' }, h('caption', null, 'Where the resident memory (RSS) is'), h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Part'), h('th', { scope: 'col', class: 'num' }, 'Resident'),
    h('th', { scope: 'col', class: 'num' }, 'Share'), h('th', { scope: 'col', class: 'num', title: 'Address space, also what was never written to' }, 'Mapped'), h('th', { scope: 'col' }, 'What it is'))),
  h('tbody', null, classes.map((entry) => h('tr', null, h('th', { scope: 'row' }, h('span', { class: `swatch piece-${CLASSES.findIndex(({ id }) => id === entry.id)}`, 'aria-hidden': 'true' }), ' ', entry.label), h('td', { class: 'num' }, meter(entry.rss, all, bytes(entry.rss))),
    h('td', { class: 'num' }, share(entry.rss, all)), h('td', { class: 'num' }, bytes(entry.bytes)), h('td', null, entry.meaning, ' ', h('span', { class: 'place' }, entry.todo))))),
  h('tfoot', null, h('tr', null, h('th', { scope: 'row' }, 'All'), h('td', { class: 'num' }, bytes(all)), h('td', { class: 'num' }, '100 %'), h('td', { class: 'num' }, bytes(classes.reduce((sum, entry) => sum + entry.bytes, 0))), h('td')))));
}

function rowTable(recording) {
  const { rows } = recording.mappings, text = (column) => (i) => recording.text(rows[column][i]), most = Math.max(...rows.rss_bytes, 1);
  return new Table({
    caption: 'All mappings', rows: Array.from({ length: rows.count }, (_, i) => i), height: rows.count > 20 ? 'min(60vh, 560px)' : null, sort: { id: 'rss', descending: true }, columns: [
      { id: 'name', label: 'Mapping', value: text('name'), cell: (i) => h('span', { title: text('name')(i) }, text('name')(i) || '(no name)') },
      { id: 'class', label: 'Part', value: text('class') },
      { id: 'rss', label: 'Resident', numeric: true, value: (i) => rows.rss_bytes[i], cell: (i) => meter(rows.rss_bytes[i], most, bytes(rows.rss_bytes[i])) },
      { id: 'bytes', label: 'Mapped', numeric: true, value: (i) => rows.bytes[i], cell: (i) => bytes(rows.bytes[i]) },
      { id: 'blocks', label: 'Blocks', title: 'Live blocks in it', numeric: true, value: (i) => rows.blocks[i], cell: (i) => (rows.blocks[i] ? number(rows.blocks[i]) : '') },
      { id: 'address', label: 'Address', value: text('address'), cell: (i) => h('code', null, text('address')(i)) },
    ],
  });
}

function draw(context, keep) {
  const { recording, state, view } = context, { mappings, totals, meta } = recording;
  const sentence = lead('Where the resident memory (RSS) of the process is: what the kernel counts, as against what the program asked for.');
  if (!mappings.rows.count) {
    return [sentence, emptyState('The mappings are not known.', meta.running ? 'They are read when the process is looked at, and that failed: it may belong to another user.' : 'They are read at the end of the program; it ended before that was possible, or the recording is of an older seep.',
      totals.rss_peak_bytes ? `What is known: at most ${bytes(totals.rss_peak_bytes)} were resident, with a heap of ${bytes(totals.peak_bytes)} at its peak. ` : '', h('a', { href: state.link({ page: 'timeline' }) }, 'Timeline'), ' has both over time.')];
  }
  const classes = mappingClasses(recording, (i) => recording.text(i));
  return [
    sentence,
    h('p', null, h('strong', null, mappingVerdict(classes)), totals.rss_peak_bytes ? ` At the most, ${bytes(totals.rss_peak_bytes)} were resident.` : ''),
    view.moment.text ? notice('info', 'Of one moment only.', `The mappings are those ${mappings.at === 'end' ? 'at the end of the run' : 'of the last look at the process'}, not of ${view.moment.text}; filters do not change them.`)
      : h('p', null, mappings.at === 'end' ? 'As they were at the end of the run.' : 'As they were at the last look at the process.'),
    picture(classes), classTable(classes),
    totals.mmap_live_bytes ? h('p', null, h('a', { href: state.link({ page: 'table', mapped: '1', cost: 'live' }) }, `By which stacks ${bytes(totals.mmap_live_bytes)} were mapped`)) : null,
    section('All mappings', keep(rowTable(recording)).element),
  ];
}

export default drawnPage('mappings', 'Mappings', draw, { filter: false });
