// SPDX-License-Identifier: MIT
// summary.js -- the numbers and verdicts of the terminal's summary, a small timeline, the top of each cost.
import { costsOf } from '../costs.js';
import { siteLink, valueText } from '../controls.js';
import { meter, timeChart } from '../charts.js';
import { h } from '../dom.js';
import { bytes, count, number, share, signed, time } from '../format.js';
import { term } from '../glossary.js';
import { chosenChips, memoryWord } from '../chosen.js';
import { peakBetween, slicesOf, valuesWithPeak } from '../stacked.js';
import { viewOfCost } from '../view.js';

const TOP = 5;
const upper = (text) => text[0].toUpperCase() + text.slice(1);
const LEVELS = { bad: '✖ Error', warn: '⚠ Look at this', good: '✔ Good', info: 'ℹ Note' };

function figure(label, value, about, href) {
  return h(
    'div',
    { class: 'figure' },
    h('dt', null, label),
    h('dd', null, h('a', { href, class: 'value' }, value), h('span', { class: 'about' }, about)),
  );
}

function figures({ recording, state }) {
  const { totals: t, meta } = recording,
    seconds = (meta.duration_ms ?? 0) / 1000;
  const gap = (t.rss_peak_bytes ?? 0) - t.peak_bytes;
  return h(
    'dl',
    { class: 'figures' },
    figure(
      term('peak', 'Peak heap'),
      bytes(t.peak_bytes),
      `at ${time(t.peak_ms)}${t.peak_error_bytes ? `; up to ${bytes(t.peak_error_bytes)} more` : ''}`,
      state.link({ page: 'flame', cost: 'peak' }),
    ),
    figure(
      term('live', meta.running ? 'Heap now' : meta.file ? 'Heap at the end' : 'Heap at the last look'),
      bytes(t.live_bytes),
      `in ${count(t.live_blocks, 'block')}`,
      state.link({ page: 'flame', cost: 'live' }),
    ),
    figure(
      term('allocation', 'Allocations'),
      number(t.allocations),
      `${seconds > 0 ? `${number(Math.floor(t.allocations / seconds))}/s, ` : ''}${bytes(t.bytes_allocated)} in all, ${share(t.temporary, t.allocations)} temporary`,
      state.link({ page: 'table', cost: 'allocs' }),
    ),
    t.rss_peak_bytes
      ? figure(
          term('RSS', 'Peak RSS'),
          bytes(t.rss_peak_bytes),
          gap >= 0 ? `${bytes(gap)} more than the heap` : `${bytes(-gap)} less than the heap`,
          state.link({ page: 'mappings' }),
        )
      : null,
    t.mmap_live_bytes
      ? figure('Mapped', bytes(t.mmap_live_bytes), `by mmap at the end (${count(t.mmap_calls ?? 0, 'call')})${t.stack_bytes ? `, ${t.stack_bytes === t.mmap_live_bytes ? 'all' : bytes(t.stack_bytes)} for stacks of threads` : ''}`, state.link({ page: 'mappings' }))
      : null,
  );
}

/** Notes that the figures above say already; where most of what is resident is not the heap, that comes first. */
const IN_FIGURES = ['flame', 'temporaries', 'mappings'];

function saidVerdicts({ verdicts, totals }) {
  const elsewhere = ({ page }) => page === 'mappings' && totals.rss_peak_bytes > 2 * totals.peak_bytes,
    said = verdicts.filter((verdict) => verdict.level !== 'info' || elsewhere(verdict) || !IN_FIGURES.includes(verdict.page));
  return [...said.filter((verdict) => verdict.level === 'bad'), ...said.filter((v) => v.level !== 'bad' && elsewhere(v)), ...said.filter((v) => v.level !== 'bad' && !elsewhere(v))];
}

function verdicts({ recording, state }) {
  const said = saidVerdicts(recording);
  if (!said.length) return null;
  return h(
    'section',
    { 'aria-labelledby': 'verdicts' },
    h('h2', { id: 'verdicts' }, 'Verdicts'),
    h(
      'ul',
      { class: 'verdicts' },
      said.map((verdict) =>
        h(
          'li',
          { class: verdict.level },
          h('strong', { class: 'level' }, LEVELS[verdict.level] ?? LEVELS.info),
          ' ',
          verdict.page
            ? h('a', { href: state.link({ page: verdict.page, site: verdict.site >= 0 ? verdict.site : '' }) }, verdict.text)
            : verdict.text,
        ),
      ),
    ),
  );
}

/** What the lists below are of, where they are not of the whole run; null: they are. */
function chosenFacts({ recording, state, view }) {
  const { live_bytes: live, live_blocks: blocks, allocs, alloc_bytes: size, frees } = view.totals,
    calls = `, ${count(allocs, 'allocation')} of ${bytes(size)}, ${count(frees, 'release')}`,
    chips = chosenChips(recording, state).map((chip) => chip.text);
  if (state.get('filter')) chips.push(`Filter ${state.get('filter')}`);
  if (!chips.length) return null;
  const heap =
    view.moment.of === 'range'
      ? `heap ${signed(live)}, blocks ${signed(blocks, number)}`
      : `${bytes(live)} live in ${count(blocks, 'block')}`;
  return h(
    'p',
    { class: 'chosen-facts' },
    h('strong', null, `${chips.join(', ')}: `),
    `${heap}${view.moment.of === 'peak' ? '' : calls}. `,
    h('span', { class: 'hint' }, 'The lists below are of this; figures and verdicts above are of the whole run.'),
  );
}

/** The places with most: stacks that allocate in one line of one function are one row, which leads to the largest of them. */
function topPlaces(recording, view) {
  const places = new Map();
  for (const site of view.order) {
    const key = recording.placeKey(site),
      row = places.get(key);
    if (view.value[site] <= 0) continue;
    if (row) row.value += view.value[site];
    else places.set(key, { site, value: view.value[site] });
  }
  return [...places.values()].sort((a, b) => b.value - a.value).slice(0, TOP);
}

/** The lists in their order: what is there, what should not be, what it cost.  Still reachable is most of what was not freed, once more. */
const LISTS = ['peak', 'live', 'leaked', 'possible', 'total', 'allocs', 'temporary'];

function topOf(context, cost) {
  const view = viewOfCost(context.recording, context.state, cost.id),
    rows = topPlaces(context.recording, view),
    whole = view.value.reduce((a, b) => a + b, 0);
  if (!rows.length) return null;
  const titles = {
    peak: 'Most at the peak',
    live: 'Most not freed',
    total: 'Most allocated in total',
    allocs: 'Most calls',
    temporary: 'Most temporary',
    leaked: 'Most lost',
    possible: 'Most possibly lost',
  };
  return h(
    'section',
    { class: 'top' },
    h('h2', null, h('a', { href: context.state.link({ page: 'table', cost: cost.id }), title: cost.help }, titles[cost.id])),
    h(
      'table',
      null,
      h('caption', { class: 'unseen' }, titles[cost.id]),
      h('colgroup', null, h('col', { class: 'amount' }), h('col', { class: 'part' }), h('col')),
      h(
        'thead',
        { class: 'unseen' },
        h('tr', null, h('th', { scope: 'col' }, 'Amount'), h('th', { scope: 'col' }, 'Share'), h('th', { scope: 'col' }, 'Where')),
      ),
      h(
        'tbody',
        null,
        rows.map(({ site, value }) =>
          h(
            'tr',
            null,
            h('td', { class: 'num' }, valueText(cost, value)),
            h('td', null, meter(value, whole, share(value, whole))),
            h('th', { scope: 'row' }, siteLink(context, site, { cost: cost.id })),
          ),
        ),
      ),
    ),
  );
}

export default {
  id: 'summary',
  title: 'Summary',
  key: '1',
  filter: false,
  render(root, context) {
    const { recording, state, view } = context,
      slices = slicesOf(recording, state.get('mapped')),
      peak = peakBetween(recording, state.get('mapped')),
      withPeak = (values, value) => valuesWithPeak(values, slices.ms, peak, value),
      what = memoryWord(state);
    const chart =
      slices.count > 1
        ? timeChart({
            label: `${upper(what)} and RSS over the run`,
            ms: withPeak(slices.ms, peak?.ms),
            height: 150,
            small: true,
            fills: true,
            chosen: view.moment.of === 'run' || view.moment.of === 'threads' ? null : [view.moment.of === 'range' ? view.moment.from : view.moment.to, view.moment.to],
            series: [
              { label: what, values: withPeak(slices.live_bytes, peak?.live_bytes), color: 'heap', fill: true },
              { label: 'RSS', values: withPeak(slices.rss_bytes), color: 'rss', dash: [4, 3] },
            ],
          })
        : null;
    root.append(
      figures(context),
      h(
        'div',
        { class: 'two' },
        chart &&
          h(
            'section',
            null,
            h(
              'h2',
              null,
              h('a', { href: state.link({ page: 'timeline' }) }, `${upper(what)} over time`),
              h('span', { class: 'muted' }, slices.rss_bytes.some((n) => n > 0) ? ' and RSS (dashed)' : ''),
            ),
            chart.element,
          ),
        verdicts(context),
      ),
    );
    root.append(
      ...[chosenFacts(context)].filter(Boolean),
      h(
        'div',
        { class: 'tops' },
        costsOf(recording, view.moment.of)
          .filter((cost) => LISTS.includes(cost.id))
          .sort((a, b) => LISTS.indexOf(a.id) - LISTS.indexOf(b.id))
          .filter((cost) => view.moment.of !== 'peak' || cost.id === 'peak') // what was live then is the same
          .map((cost) => topOf(context, cost)),
      ),
    );
    return { destroy: () => chart?.destroy() };
  },
};
