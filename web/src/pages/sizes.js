// SPDX-License-Identifier: MIT
// sizes.js -- the page of sizes and lifetimes: histograms, a picture of all stacks by both, and brushes that all pages follow.
import { histogram } from '../charts.js';
import { bothText, costChooser, siteLink } from '../controls.js';
import { announce, h } from '../dom.js';
import { bytes, count, number, parseBytes, parseTime, share, time } from '../format.js';
import { classes, median, rangeText, sitePoints, touched } from '../histogram.js';
import { drawnPage, emptyState, lead, lifeText, section } from '../parts.js';
import { scatter } from '../scatter.js';
import { parseRange } from '../moments.js';
import { view as viewOf } from '../view.js';

const DOTS = 1500,
  LISTED = 25,
  TICKS = 7;
const PLOT_WIDTHS = [560, 1600];

/** What both brushes have in common, and where they differ. */
const AXES = {
  size: {
    key: 'size',
    title: 'Sizes',
    noun: 'allocation',
    counts: 'size_classes',
    bounds: 'size_bounds',
    form: bytes,
    parse: parseBytes,
    example: '4k',
    last: (to) => bytes(to - 1),
    most: (middle) => `Half of all allocations are smaller than ${bytes(middle.to)}.`,
  },
  life: {
    key: 'life',
    title: 'Lifetimes',
    noun: 'release',
    counts: 'lifetime_classes',
    bounds: 'lifetime_bounds',
    form: time,
    parse: parseTime,
    example: '20ms',
    last: (to) => `below ${time(to)}`,
    most: (middle) => `Half of all freed blocks lived less than ${time(middle.to)}.`,
  },
};

const className = (axis, entry) =>
  entry.to === Infinity
    ? `${axis.form(entry.from)} and more`
    : entry.to - entry.from === 1 && axis.key === 'size'
      ? axis.form(entry.from)
      : `${axis.form(entry.from)} to ${axis.last(entry.to)}`;

/** Two fields and a button: what dragging does, by keyboard. */
function fields(state, axis) {
  const range = parseRange(state.get(axis.key)) ?? [-Infinity, Infinity];
  const error = h('span', { class: 'error', role: 'alert' });
  const field = (i, label) =>
    h(
      'label',
      { class: 'field' },
      `${label} `,
      h('input', {
        type: 'text',
        size: 9,
        placeholder: i ? 'any' : '0',
        value: Number.isFinite(range[i]) ? axis.form(range[i]) : '',
        dataset: { keep: `${axis.key}-${i}` },
        onchange: (event) => setTimeout(write, 0, i, event.target.value),
      }),
    );
  const write = (i, text) => {
    // after the focus has gone on to the next element: the page is drawn anew
    const value = text.trim() === '' ? (i ? Infinity : -Infinity) : axis.parse(text);
    const next = i ? [range[0], value] : [value, range[1]];
    if (Number.isNaN(value) || next[0] >= next[1]) {
      error.textContent = Number.isNaN(value) ? `${text} is not understood; try ${axis.example}` : 'from must be less than below';
      return;
    }
    const part = (limit) => (Number.isFinite(limit) ? String(limit) : '');
    state.set({ [axis.key]: next.some(Number.isFinite) ? next.map(part).join('..') : '' });
  };
  return h(
    'div',
    { class: 'brush' },
    'Average of a stack: ',
    field(0, 'from'),
    field(1, 'below'),
    h(
      'button',
      {
        type: 'button',
        dataset: { keep: `${axis.key}-clear` },
        onclick: () => {
          state.set({ [axis.key]: '' });
          announce(`${axis.title}: all`);
        },
      },
      'Clear',
    ),
    error,
  );
}

/** The bar that was focused stays so when the page is drawn again. */
function kept(axis, bars) {
  [...bars.children].forEach((bar, i) => {
    bar.dataset.keep = `${axis.key}-bar-${i}`;
  });
  return bars;
}

function chart({ recording, state }, axis) {
  const list = classes(recording.totals[axis.counts] ?? [], recording[axis.bounds]),
    all = list.reduce((sum, entry) => sum + entry.count, 0);
  if (!list.length)
    return section(
      axis.title,
      emptyState(
        `No ${axis.noun}s were counted.`,
        axis.key === 'life' ? 'Lifetimes are those of freed blocks, and nothing was freed.' : 'Nothing was allocated.',
      ),
    );
  const range = parseRange(state.get(axis.key)),
    step = Math.ceil(list.length / TICKS);
  const middle = median(list);
  return section(
    axis.title,
    h('p', null, `${count(all, axis.noun)} of the whole run. `, middle && middle.to < Infinity ? axis.most(middle) : ''),
    kept(
      axis,
      histogram({
        label: `${axis.title}: number of ${axis.noun}s by class`,
        values: list.map((entry) => entry.count),
        names: (i) => className(axis, list[i]),
        form: (n) => `${count(n, axis.noun)}, ${share(n, all)}`,
        axis: (i) => (i % step === 0 ? axis.form(list[i].from) : ''),
        chosen: range && (touched(list, range[0], range[1]) ?? [-1, -1]),
        onbrush: (part) => state.set({ [axis.key]: part ? rangeText(list, part) : '' }),
      }),
    ),
    fields(state, axis),
    classTable(axis, list, all),
  );
}

function classTable(axis, list, all) {
  return h(
    'details',
    { dataset: { keep: `table-${axis.key}` } },
    h('summary', { dataset: { keep: `summary-${axis.key}` } }, 'As a table'),
    h(
      'table',
      { class: 'narrow' },
      h('caption', { class: 'unseen' }, axis.title),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col' }, axis.title),
          h('th', { scope: 'col', class: 'num' }, `${axis.noun}s`),
          h('th', { scope: 'col', class: 'num' }, 'Share'),
        ),
      ),
      h(
        'tbody',
        null,
        list.map((entry) =>
          h(
            'tr',
            null,
            h('th', { scope: 'row' }, className(axis, entry)),
            h('td', { class: 'num' }, number(entry.count)),
            h('td', { class: 'num' }, share(entry.count, all)),
          ),
        ),
      ),
    ),
  );
}

/** The same choice without the brushes: what could be brushed. */
function unbrushed(recording, state) {
  const get = (key) => (key === 'size' || key === 'life' ? '' : state.get(key));
  return viewOf(recording, { get, key: (...keys) => JSON.stringify(keys.map(get)) });
}

function stacksPlot(context) {
  const { recording, state, view } = context,
    title = 'Stacks by size and lifetime',
    { points, left } = sitePoints(recording, unbrushed(recording, state), DOTS);
  if (!points.length)
    return section(
      title,
      emptyState('No stacks in this choice.', 'The filter, the thread or the range in the bar above leave out all.', 'Clear them.'),
    );
  const place = (site) => `${recording.siteName(site)} ${recording.placeOf(recording.siteFrame(site))}`;
  const plot = scatter({
    points,
    label: `${count(points.length, 'stack')} by average lifetime (across) and average size (up). The table below has the same.`,
    width: Math.min(PLOT_WIDTHS[1], Math.max(PLOT_WIDTHS[0], (document.getElementById('main')?.clientWidth ?? 0) - 32)),
    isOff: ({ site }) => !view.included[site],
    title: ({ site, size, life }) =>
      `${place(site)}\n${bytes(size)} on average, ${Number.isNaN(life) ? 'none was freed' : `alive for ${lifeText(life)}`}`,
    onbrush: (ranges) => state.set(ranges),
  });
  const words =
    `Each dot is a stack: its blocks on average, across by how long they live, up by their size; the larger the dot, the more ${view.cost.label}. ` +
    `Drag a rectangle to choose.${left ? ` The ${number(left)} smallest are not drawn.` : ''}`;
  return section(title, h('p', null, words), h('div', { class: 'plot' }, plot));
}

function list(context) {
  const { recording, view } = context,
    { points } = sitePoints(recording, view, Infinity);
  if (!points.length)
    return emptyState(
      'No stack is like this on average.',
      'The brushes leave out all of them: a stack counts by its average, which can lie where no single block is.',
      'Clear the brushes.',
    );
  const costly = points.filter((point) => view.value[point.site] !== 0);
  return section(
    'Stacks in this choice',
    h(
      'p',
      null,
      `${count(points.length, 'stack')}, ${number(costly.length)} of them with something ${view.cost.label}: ${bothText(view.cost, view.totals.bytes, view.totals.count)}.`,
    ),
    h(
      'div',
      { class: 'wide' },
      h(
        'table',
        null,
        h('caption', null, costly.length > LISTED ? `The ${LISTED} largest` : 'All of them, the largest first'),
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            h('th', { scope: 'col' }, 'Allocated in'),
            ['Average size', 'Average lifetime', 'Calls', view.cost.short].map((label) => h('th', { scope: 'col', class: 'num' }, label)),
          ),
        ),
        h(
          'tbody',
          null,
          costly
            .slice(0, LISTED)
            .map((point) =>
              h(
                'tr',
                null,
                h('th', { scope: 'row' }, siteLink(context, point.site)),
                h('td', { class: 'num' }, bytes(point.size)),
                h('td', { class: 'num' }, Number.isNaN(point.life) ? 'not freed' : lifeText(point.life)),
                h('td', { class: 'num' }, number(view.columns.allocs[point.site])),
                h('td', { class: 'num' }, bothText(view.cost, view.bytes[point.site], view.count[point.site])),
              ),
            ),
        ),
      ),
    ),
  );
}

function draw(context) {
  const { recording, state } = context;
  const head = lead('How large blocks are and how long they live: many small, short-lived ones cost time, large, long-lived ones cost memory.');
  if (!recording.totals.allocations)
    return [head, emptyState('No allocations.', 'The recording has none: the program made no call that was seen, or recording was off.')];
  return [
    head,
    h(
      'p',
      { class: 'no-print' },
      'Choose bars (drag, or arrow keys with Shift and Enter) or type limits: all pages then show only the stacks whose blocks are like this on average.',
      ' ',
      state.get('size') || state.get('life')
        ? h('button', { type: 'button', dataset: { keep: 'clear-brushes' }, onclick: () => state.set({ size: '', life: '' }) }, 'Clear both')
        : null,
    ),
    h('div', { class: 'columns' }, chart(context, AXES.size), chart(context, AXES.life)),
    h('div', { class: 'toolbar' }, costChooser(context)),
    stacksPlot(context),
    list(context),
  ];
}

export default drawnPage('sizes', 'Sizes and lifetimes', draw, { short: 'Sizes', costs: true });
