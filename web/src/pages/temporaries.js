// SPDX-License-Identifier: MIT
// temporaries.js -- the page of what is freed at once: how often, where, and what to do about it.
import { meter } from '../charts.js';
import { OF } from '../costs.js';
import { h } from '../dom.js';
import { temporaryKinds, temporaryRows, temporaryVerdict } from '../findings.js';
import { bytes, number, share, short } from '../format.js';
import { drawnPage, emptyState, lead, lifeText, openTable, otherStacks, section, siteLinks, siteWords, stackPart, wholeRunNote } from '../parts.js';

function kindTable(kinds, all) {
  return h(
    'table',
    { class: 'kinds' },
    h('caption', null, 'What they are, and what to do'),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        h('th', { scope: 'col' }, 'What'),
        h('th', { scope: 'col', class: 'num' }, 'Temporary'),
        h('th', { scope: 'col', class: 'num' }, 'Places'),
        h('th', { scope: 'col' }, 'What to do'),
      ),
    ),
    h(
      'tbody',
      null,
      kinds.map((kind) =>
        h(
          'tr',
          null,
          h('th', { scope: 'row' }, kind.what),
          h('td', { class: 'num' }, meter(kind.temporary, all, number(kind.temporary))),
          h('td', { class: 'num' }, number(kind.places)),
          h('td', null, kind.todo),
        ),
      ),
    ),
  );
}

function rowDetail(context, row, seconds) {
  const { recording } = context,
    { sites } = recording,
    { site } = row;
  const sum = (column) => row.sites.reduce((all, one) => all + column[one], 0),
    lifetime = sum(sites.frees) ? lifeText(sum(sites.lifetime_ms) / sum(sites.frees)) : '';
  return [
    h(
      'p',
      null,
      `${number(row.temporary)} of ${number(row.allocs)} allocations here were freed as the very next thing that their thread did with memory`,
      seconds > 0 ? `: ${number(row.temporary / seconds)} each second` : '',
      '. ',
      lifetime ? `On average a block of this place lives ${lifetime}.` : '',
    ),
    h('p', null, h('strong', null, `Probably ${row.advice.what}. `), row.advice.todo),
    stackPart(context, sites.node[site], 'Allocated by'),
    otherStacks(row.sites.length),
    siteLinks(context, site),
  ];
}

function nothing({ recording }) {
  if (!recording.totals.temporary)
    return emptyState(
      'No temporary allocations.',
      recording.totals.allocations ? 'No block was freed as the very next thing after it was allocated.' : 'The recording has no allocations.',
      'Blocks that live a little longer are on the page Sizes and lifetimes.',
    );
  return emptyState(
    'No temporary allocations in this choice.',
    `The whole recording has ${number(recording.totals.temporary)} of them.`,
    'Clear the filter, the thread or the range in the bar above.',
  );
}

function draw(context) {
  const { recording, state, view } = context,
    rows = temporaryRows(recording, view);
  const sentence = lead(
    'Blocks that were freed at once: allocated, and given back as the very next thing. Time is lost in the allocator, not memory.',
  );
  if (!rows.length) return [sentence, nothing(context)];
  const seconds = (recording.meta.duration_ms ?? 0) / 1000,
    kinds = temporaryKinds(recording, rows);
  const part = rows.reduce((sum, row) => ({ temporary: sum.temporary + row.temporary, allocs: sum.allocs + row.allocs }), {
    temporary: 0,
    allocs: 0,
  });
  const whole = Math.max(view.moment.of === OF.THREADS ? view.totals.allocs : (recording.totals.allocations ?? 0), part.allocs);
  return [
    sentence,
    h(
      'p',
      null,
      h('strong', null, `${number(part.temporary)} of ${number(whole)} allocations (${share(part.temporary, whole)})`),
      ` were temporary${seconds > 0 ? `, ${number(part.temporary / seconds)} each second` : ''}. `,
      temporaryVerdict({ ...part, allocs: whole }, seconds),
    ),
    wholeRunNote(view, 'Numbers are'),
    kindTable(kinds, part.temporary),
    section(
      'By place',
      openTable({
        caption: 'Places with temporary allocations, most first',
        rows,
        state,
        name: 'temp',
        opened: rows.slice(0, 1),
        key: (row) => String(recording.sites.id[row.site]),
        columns: [
          { label: 'Allocated in', cell: (row) => siteWords(recording, row.site) },
          { label: 'Temporary', numeric: true, cell: (row) => meter(row.temporary, part.temporary, number(row.temporary)) },
          { label: 'Of its calls', numeric: true, title: 'Share of all allocations of this place', cell: (row) => share(row.temporary, row.allocs) },
          { label: 'Each second', numeric: true, cell: (row) => (seconds > 0 ? short(Math.round(row.temporary / seconds)) : '') },
          { label: 'Average size', numeric: true, cell: (row) => bytes(row.average) },
          { label: 'What', cell: (row) => row.advice.what },
        ],
        detail: (row) => rowDetail(context, row, seconds),
      }),
    ),
  ];
}

export default drawnPage('temporaries', 'Temporaries', draw);
