// SPDX-License-Identifier: MIT
// temporaries.js -- the page of what is freed at once: how often, where, and what to do about it.
import { advice, innerNames } from '../advice.js';
import { meter } from '../charts.js';
import { OF } from '../costs.js';
import { h } from '../dom.js';
import { bytes, number, share, short, time } from '../format.js';
import { drawnPage, emptyState, keeper, lead, openTable, section, siteLinks, siteWords, stackPart, wholeRunNote } from '../parts.js';

const WORTH_A_LOOK = 0.2; // of all allocations
const PER_SECOND = 1000;

/** Sites with temporary allocations, most first: { site, temporary, allocs, average, lifetime }. */
export function temporaryRows(recording, view) {
  const { sites } = recording, keep = keeper(view);
  const byThread = view.moment.of === OF.THREADS;
  const temporary = byThread ? view.columns.temporary : sites.temporary, allocs = byThread ? view.columns.allocs : sites.allocs, all = byThread ? view.columns.alloc_bytes : sites.alloc_bytes;
  const rows = [];
  for (let site = 0; site < sites.count; site++) {
    if (!keep(site) || !temporary[site]) continue;
    rows.push({ site, temporary: temporary[site], allocs: allocs[site], average: all[site] / allocs[site] });
  }
  return rows.sort((a, b) => b.temporary - a.temporary || a.site - b.site);
}

/** What kinds of temporaries there are: rows by advice, most first. */
export function temporaryKinds(recording, rows) {
  const kinds = new Map();
  for (const row of rows) {
    row.advice = advice(innerNames(recording, row.site), recording.kindOf(row.site), row.average);
    const kind = kinds.get(row.advice.id) ?? { ...row.advice, temporary: 0, places: 0 };
    kind.temporary += row.temporary;
    kind.places++;
    kinds.set(kind.id, kind);
  }
  return [...kinds.values()].sort((a, b) => b.temporary - a.temporary);
}

/** Whether it matters, in a sentence. */
export function temporaryVerdict(part, seconds) {
  if (seconds > 0 && part.temporary / seconds < PER_SECOND) return 'That is too few each second to cost time: nothing to do unless this code is in a hurry.';
  if (part.temporary / part.allocs < WORTH_A_LOOK) return 'A small part: there is little to be had here.';
  return 'Each costs time in the allocator, and none needs to be there: start with the first rows.';
}

function kindTable(kinds, all) {
  return h('table', { class: 'kinds' }, h('caption', null, 'What they are, and what to do'), h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'What'), h('th', { scope: 'col', class: 'num' }, 'Temporary'), h('th', { scope: 'col', class: 'num' }, 'Places'), h('th', { scope: 'col' }, 'What to do'))),
    h('tbody', null, kinds.map((kind) => h('tr', null, h('th', { scope: 'row' }, kind.what), h('td', { class: 'num' }, meter(kind.temporary, all, short(kind.temporary))), h('td', { class: 'num' }, number(kind.places)), h('td', null, kind.todo)))));
}

function rowDetail(context, row, seconds) {
  const { recording } = context, { sites } = recording, { site } = row;
  const lifetime = sites.frees[site] ? time(sites.lifetime_ms[site] / sites.frees[site]) : '';
  return [
    h('p', null, `${number(row.temporary)} of ${number(row.allocs)} allocations here were freed as the very next thing that their thread did with memory`, seconds > 0 ? `: ${number(row.temporary / seconds)} each second` : '', '. ',
      lifetime ? `On average a block of this place lives ${lifetime}.` : ''),
    h('p', null, h('strong', null, `Probably ${row.advice.what}. `), row.advice.todo),
    stackPart(context, sites.node[site], 'Allocated by'),
    siteLinks(context, site),
  ];
}

function nothing({ recording }) {
  if (!recording.totals.temporary) return emptyState('No temporary allocations.', recording.totals.allocations ? 'No block was freed as the very next thing after it was allocated.' : 'The recording has no allocations.', 'That is good: there is nothing to do here.');
  return emptyState('No temporary allocations in this choice.', `The whole recording has ${number(recording.totals.temporary)} of them.`, 'Clear the filter, the thread or the range in the bar above.');
}

function draw(context) {
  const { recording, state, view } = context, rows = temporaryRows(recording, view);
  const sentence = lead('Blocks that were freed at once: allocated, and given back as the very next thing. Time is lost in the allocator, not memory.');
  if (!rows.length) return [sentence, nothing(context)];
  const seconds = (recording.meta.duration_ms ?? 0) / 1000, kinds = temporaryKinds(recording, rows);
  const part = rows.reduce((sum, row) => ({ temporary: sum.temporary + row.temporary, allocs: sum.allocs + row.allocs }), { temporary: 0, allocs: 0 });
  const whole = Math.max(view.moment.of === OF.THREADS ? view.totals.allocs : recording.totals.allocations ?? 0, part.allocs);
  return [
    sentence,
    h('p', null, h('strong', null, `${number(part.temporary)} of ${number(whole)} allocations (${share(part.temporary, whole)})`), ` were temporary${seconds > 0 ? `, ${number(part.temporary / seconds)} each second` : ''}. `, temporaryVerdict({ ...part, allocs: whole }, seconds)),
    wholeRunNote(view, 'Numbers are'),
    kindTable(kinds, part.temporary),
    section('By place', openTable({
      caption: 'Places with temporary allocations, most first', rows, state, name: 'temp', first: true, key: (row) => String(recording.sites.id[row.site]),
      columns: [
        { label: 'Allocated in', cell: (row) => siteWords(recording, row.site) },
        { label: 'Temporary', numeric: true, cell: (row) => meter(row.temporary, part.temporary, number(row.temporary)) },
        { label: 'Of its calls', numeric: true, title: 'Share of all allocations of this place', cell: (row) => share(row.temporary, row.allocs) },
        { label: 'Each second', numeric: true, cell: (row) => (seconds > 0 ? short(Math.round(row.temporary / seconds)) : '') },
        { label: 'Average size', numeric: true, cell: (row) => bytes(row.average) },
        { label: 'What', cell: (row) => row.advice.what },
      ],
      detail: (row) => rowDetail(context, row, seconds),
    })),
  ];
}

export default drawnPage('temporaries', 'Temporaries', draw);
