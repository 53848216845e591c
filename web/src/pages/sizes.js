// SPDX-License-Identifier: MIT
// sizes.js -- the page of sizes and lifetimes: histograms, a picture of all stacks by both, and brushes that all pages follow.
import { histogram } from '../charts.js';
import { bothText, costChooser, siteLink } from '../controls.js';
import { announce, h } from '../dom.js';
import { bytes, count, number, parseBytes, parseTime, share, time } from '../format.js';
import { classes, logScale, median, rangeText, sitePoints, touched } from '../histogram.js';
import { drawnPage, emptyState, lead, lifeText, section } from '../parts.js';
import { parseRange, view as viewOf } from '../view.js';

const DOTS = 1500,
  LISTED = 25,
  TICKS = 7;
const PLOT = { width: 1200, height: 320, left: 70, right: 80, top: 12, bottom: 30 }; // WIDTH: as wide as the page is when it is drawn
const PLOT_WIDTHS = [560, 1600];
const SIZE_TICKS = [1, 16, 256, 4096, 65536, 2 ** 20, 2 ** 24, 2 ** 28, 2 ** 32, 2 ** 36];
const LIFE_TICKS = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000];

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

function scales(points) {
  const sizes = points.map((point) => point.size),
    lives = points.map((point) => point.life).filter((life) => life > 0);
  return { x: logScale(1, Math.max(10, ...lives) * 2), y: logScale(Math.max(1, Math.min(...sizes) / 2), Math.max(64, ...sizes) * 2) };
}

function grid({ x, y }, inner) {
  const across = LIFE_TICKS.filter((tick) => x.place(tick) < 1 && tick > 1),
    up = SIZE_TICKS.filter((tick) => y.place(tick) > 0 && y.place(tick) < 1);
  return [
    across.map((tick) => h('line', { class: 'grid', x1: inner.x(tick), x2: inner.x(tick), y1: PLOT.top, y2: PLOT.height - PLOT.bottom })),
    up.map((tick) => h('line', { class: 'grid', x1: PLOT.left, x2: PLOT.width - PLOT.right, y1: inner.y(tick), y2: inner.y(tick) })),
    [...across, 1].map((tick) =>
      h(
        'text',
        { x: inner.x(tick), y: PLOT.height - 12, 'text-anchor': 'middle' },
        tick === 1 ? '≤ 1 ms' : time(tick).replace('.0 s', ' s').replace(' 0 s', ''),
      ),
    ),
    up.map((tick) => h('text', { x: PLOT.left - 6, y: inner.y(tick) + 4, 'text-anchor': 'end' }, bytes(tick).replace('.0 ', ' '))),
    h('line', { class: 'grid', x1: PLOT.width - PLOT.right + 20, x2: PLOT.width - PLOT.right + 20, y1: PLOT.top, y2: PLOT.height - PLOT.bottom }),
    h('text', { x: PLOT.width - PLOT.right + 50, y: PLOT.height - 12, 'text-anchor': 'middle' }, 'not freed'),
  ];
}

/** A rectangle that is drawn with the mouse; done({ x0, x1, y0, y1 }) in parts of the plot. */
function rectangle(svg, done) {
  let start = null;
  const box = h('rect', { class: 'rubber', width: 0, height: 0 });
  svg.append(box);
  const at = (event) => {
    const frame = svg.getBoundingClientRect();
    return { x: ((event.clientX - frame.left) / frame.width) * PLOT.width, y: ((event.clientY - frame.top) / frame.height) * PLOT.height };
  };
  const show = (end) =>
    Object.entries({
      x: Math.min(start.x, end.x),
      y: Math.min(start.y, end.y),
      width: Math.abs(end.x - start.x),
      height: Math.abs(end.y - start.y),
    }).forEach(([key, value]) => box.setAttribute(key, value));
  svg.addEventListener('pointerdown', (event) => {
    start = at(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', (event) => start && show(at(event)));
  svg.addEventListener('pointerup', (event) => {
    const begin = start,
      end = at(event);
    start = null;
    box.setAttribute('width', 0);
    if (begin && Math.abs(end.x - begin.x) > 4 && Math.abs(end.y - begin.y) > 4)
      done({ x0: Math.min(begin.x, end.x), x1: Math.max(begin.x, end.x), y0: Math.min(begin.y, end.y), y1: Math.max(begin.y, end.y) });
  });
}

/** The brushes that a rectangle of the plot means; edges of the plot are open ends. */
function brushes({ x, y }, { x0, x1, y0, y1 }) {
  const across = (px) => (px - PLOT.left) / (PLOT.width - PLOT.left - PLOT.right),
    up = (px) => (PLOT.height - PLOT.bottom - px) / (PLOT.height - PLOT.top - PLOT.bottom);
  const limits = (low, high, scale, round) => `${low <= 0 ? '' : round(scale.value(low))}..${high >= 1 ? '' : round(scale.value(high))}`;
  const life = limits(across(x0), across(x1), x, (ms) => Number(ms.toPrecision(3))),
    size = limits(up(y1), up(y0), y, (n) => Math.round(n));
  return { life: life === '..' ? '' : life, size: size === '..' ? '' : size };
}

function scatter(context) {
  const { recording, state, view } = context,
    wide = unbrushed(recording, state),
    { points, left } = sitePoints(recording, wide, DOTS);
  if (!points.length)
    return section(
      'Stacks by size and lifetime',
      emptyState('No stacks in this choice.', 'The filter, the thread or the range in the bar above leave out all.', 'Clear them.'),
    );
  PLOT.width = Math.min(PLOT_WIDTHS[1], Math.max(PLOT_WIDTHS[0], (document.getElementById('main')?.clientWidth ?? 0) - 32));
  const scale = scales(points),
    most = Math.max(...points.map((point) => point.weight), 1);
  const inner = {
    x: (life) => PLOT.left + scale.x.place(life) * (PLOT.width - PLOT.left - PLOT.right),
    y: (size) => PLOT.height - PLOT.bottom - scale.y.place(size) * (PLOT.height - PLOT.top - PLOT.bottom),
  };
  const jitter = (site) => ((site * 2654435761) % 40) - 20;
  const svg = h(
    'svg',
    {
      class: 'scatter',
      viewBox: `0 0 ${PLOT.width} ${PLOT.height}`,
      role: 'img',
      'aria-label': `${count(points.length, 'stack')} by average lifetime (across) and average size (up). The table below has the same.`,
    },
    grid(scale, inner),
    points.map((point) =>
      h(
        'circle',
        {
          class: view.included[point.site] ? 'dot' : 'dot off',
          r: 2 + 9 * Math.sqrt(point.weight / most),
          cy: inner.y(point.size),
          cx: Number.isNaN(point.life) ? PLOT.width - PLOT.right + 50 + jitter(point.site) : inner.x(point.life),
        },
        h(
          'title',
          null,
          `${recording.siteName(point.site)} ${recording.placeOf(recording.siteFrame(point.site))}\n${bytes(point.size)} on average, ${Number.isNaN(point.life) ? 'none was freed' : `alive for ${lifeText(point.life)}`}`,
        ),
      ),
    ),
  );
  rectangle(svg, (box) => state.set(brushes(scale, box)));
  return section(
    'Stacks by size and lifetime',
    h(
      'p',
      null,
      `Each dot is a stack: its blocks on average, across by how long they live, up by their size; the larger the dot, the more ${view.cost.label}. Drag a rectangle to choose.`,
      left ? ` The ${number(left)} smallest are not drawn.` : '',
    ),
    h('div', { class: 'plot' }, svg),
  );
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
    scatter(context),
    list(context),
  ];
}

export default drawnPage('sizes', 'Sizes and lifetimes', draw);
