// SPDX-License-Identifier: MIT
// charts.js -- uPlot with our colours, axes, range selection and marks; histograms and small lines of our own.
import uPlot from 'uplot';
import { h } from './dom.js';
import { bytes, moment as momentText, share, short } from './format.js';
import { nearMarks } from './moments.js';
import { watchWheel, wheelScrolls } from './wheel.js';

/** A colour of the style sheet, by the name of its variable: canvases cannot use those. */
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Kinds of marks: letter (so that nobody depends on colour), words, colour. */
export const MARKS = {
  snapshot: { letter: 'S', label: 'snapshot', color: 'mark-snapshot' },
  outside: { letter: 'S', label: 'snapshot, by a command or the clock', color: 'mark-snapshot' },
  signal: { letter: 'S', label: 'snapshot, by a signal', color: 'mark-snapshot' },
  heap: { letter: 'S', label: 'snapshot, at a size of the heap', color: 'mark-snapshot' },
  exit: { letter: 'S', label: 'snapshot, at the exit', color: 'mark-snapshot' },
  limit: { letter: 'H', label: 'limit of the heap passed', color: 'mark-tag' },
  enable: { letter: 'E', label: 'recording on', color: 'mark-tag' },
  disable: { letter: 'D', label: 'recording off', color: 'mark-tag' },
  tag: { letter: 'T', label: 'tag', color: 'mark-tag' },
  fork: { letter: 'F', label: 'fork', color: 'mark-fork' },
  load: { letter: 'L', label: 'library loaded', color: 'mark-load' },
  unload: { letter: 'U', label: 'library unloaded', color: 'mark-load' },
  thread: { letter: 'N', label: 'thread started', color: 'mark-thread' },
  peak: { letter: 'P', label: 'peak', color: 'mark-peak' },
};
export const markKind = (type) => MARKS[type] ?? { letter: '•', label: type, color: 'mark-tag' };

/** {bytes, count} of a moment: how axes and legends write numbers. */
const FORMS = { bytes, count: short, rate: (n) => `${short(n)}/s`, byterate: (n) => `${bytes(n)}/s` };

/** Axis steps in whole powers of two, so that sizes are round. */
const BINARY_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

/** Lines with their letters and names, as far as there is room before the next one. */
function drawMarks(u, marks, named) {
  const { ctx, bbox } = u,
    ratio = devicePixelRatio,
    end = bbox.left + bbox.width;
  ctx.save();
  ctx.font = `${10 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  const seen = marks.map((mark) => ({ mark, x: u.valToPos(mark.ms / 1000, 'x', true) })).filter(({ x }) => x >= bbox.left && x <= end);
  for (const { mark, x } of seen) {
    ctx.strokeStyle = color(markKind(mark.type).color);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  const near = nearMarks(seen.map(({ mark, x }) => ({ x, letter: markKind(mark.type).letter, name: named ? mark.name : '', type: mark.type })), 10 * ratio);
  for (const [i, { x, type, letters, text }] of near.entries()) {
    const room = (near[i + 1]?.x ?? end + 40 * ratio) - x - 6 * ratio;
    ctx.fillStyle = color(markKind(type).color);
    ctx.fillText(fitted(ctx, text, room) || letters, x - ctx.measureText(letters[0]).width / 2, bbox.top - 4 * ratio);
  }
  ctx.restore();
}

/** TEXT, or its beginning, in so many pixels; '' where not even a few letters have room. */
export function fitted(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  for (let length = text.length - 1; length > 3; length--) {
    const cut = `${text.slice(0, length).trimEnd()}…`;
    if (ctx.measureText(cut).width <= room) return cut;
  }
  return '';
}

const NAME_STEP = 4,
  NAME_HEIGHT = 13;

/** Where layer I lies at each step of pixels, from top to bottom: [[from, to], ...]. */
function layerEdges(u, i, pixels) {
  const times = u.data[0],
    below = u.series[i].below,
    edges = [];
  for (let x = 0, at = 0; x <= pixels; x += NAME_STEP) {
    const second = u.posToVal(u.bbox.left + x, 'x', true);
    while (at + 1 < times.length && times[at + 1] <= second) at++;
    const part = at + 1 < times.length && second > times[at] ? (second - times[at]) / (times[at + 1] - times[at]) : 0;
    const value = (column) => (column ? column[at] + part * ((column[at + 1] ?? column[at]) - column[at]) : 0);
    edges.push([u.valToPos(value(u.data[i]), 'y', true), u.valToPos(value(below), 'y', true)]);
  }
  return edges;
}

/** The names of layers inside them, each where it has the most room. */
function drawNames(u, series) {
  const { ctx, bbox } = u,
    ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'center';
  ctx.fillStyle = color('frame-text');
  series.forEach((one, k) => {
    if (!one.layer || !u.series[k + 1].show) return;
    u.series[k + 1].below = series[k - 1]?.layer ? u.data[k] : null;
    const edges = layerEdges(u, k + 1, bbox.width);
    for (const text of new Set([one.label, one.label.replace(/^.*::(?=[^:]+$)/, '')])) {
      const best = roomiest(edges, Math.ceil((ctx.measureText(text).width + 6 * ratio) / NAME_STEP), NAME_HEIGHT * ratio);
      if (!best) continue;
      ctx.fillText(text, bbox.left + best.x * NAME_STEP, best.y);
      break;
    }
  });
  ctx.restore();
}

/** Where a text of WIDE steps and HIGH pixels has the most room between EDGES: its middle, { x (steps), y }; null: nowhere. */
function roomiest(edges, wide, high) {
  let best = null,
    room = high;
  for (let from = 0; from + wide < edges.length; from += 2) {
    let top = -Infinity,
      bottom = Infinity;
    for (let at = from; at <= from + wide && bottom - top >= room; at++) {
      top = Math.max(top, edges[at][0]);
      bottom = Math.min(bottom, edges[at][1]);
    }
    if (bottom - top <= room) continue;
    room = bottom - top;
    best = { x: from + wide / 2, y: (top + bottom) / 2 };
  }
  return best;
}

/** The chosen moment as a line, the chosen range as a band with borders. */
function drawChosen(u, chosen) {
  if (!chosen) return;
  const { ctx, bbox } = u,
    at = (ms) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, u.valToPos(ms / 1000, 'x', true)));
  const [from, to] = chosen.map(at);
  ctx.save();
  ctx.fillStyle = color('chosen-fill');
  ctx.strokeStyle = color('chosen');
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash([]);
  if (to > from) ctx.fillRect(from, bbox.top, to - from, bbox.height);
  for (const x of new Set([from, to])) {
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function seriesOf(series) {
  const form = FORMS[series.form ?? 'bytes'];
  return {
    label: series.label,
    scale: 'y',
    stroke: color(series.color),
    width: series.layer ? 0.5 : 1.5,
    dash: series.dash ?? [],
    fill: series.fill ? color(`${series.color}-fill`) : series.layer ? color(series.color) : undefined,
    paths: series.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
    points: { show: false },
    value: (_, n, i, at) => (n === null || n === undefined ? '–' : form(series.own && at !== null ? series.own[at] : n)),
  };
}

function axes(form, small) {
  const text = color('muted'),
    grid = { stroke: color('line'), width: 1 },
    font = '11px system-ui, sans-serif';
  return [
    {
      stroke: text,
      grid,
      ticks: grid,
      font,
      values: (_, values) =>
        values.map((s) => momentText(s * 1000).replace(/(\.\d*?)0+(?= s)|(?<=min) 0 s|(?<=h) 0 min/, (_end, kept) => (kept === '.' ? '' : (kept ?? '')))),
      space: 80,
      size: small ? 24 : 30,
      incrs: [
        0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 36000, 86400,
      ],
    },
    {
      stroke: text,
      grid,
      ticks: grid,
      font,
      values: (_, values) => values.map((n) => FORMS[form](n).replace('.0 ', ' ')),
      size: 72,
      space: (_u, _axis, _low, _high, pixels) => (pixels > 180 ? 44 : small ? 24 : 32),
      ...(form.startsWith('byte') ? { incrs: BINARY_STEPS } : {}),
    },
  ];
}

/**
 * A chart over the time of the run.
 *
 * label      what it shows, for the heading and screen readers
 * ms         times; series: [{label, values, color (name of a variable), form: bytes|count|rate|byterate, steps, dash, fill}]
 *            layer: a series that stands on the one before it; values are where it ends, own what it is by itself
 * marks      [{ms, type, label, name}]; name: what stands beside its letter; chosen: [from, to] in ms or null
 * onmoment(ms), onrange(from, to): what the user chose with the mouse; without them the chart only shows
 * onzoom(from, to): the user turned the wheel over it, or pinched
 * height     in pixels; small: no legend; fills: as high as the box it is in, and at least height
 *
 * Returns {element, plot, setChosen, destroy}.
 */
export function timeChart(options) {
  const { ms, series, height = 160, small = false } = options;
  const root = h('div', { class: `chart${small ? ' small' : ''}${options.fills ? ' fills' : ''}`, role: 'img', 'aria-label': options.label });
  let chosen = options.chosen ?? null,
    dragged = false;
  const seconds = Array.from(ms, (n) => n / 1000);
  /** While nothing is pointed at, the legend tells of the chosen moment, or of the last one. */
  const rest = (u) => {
    const last = u.data[0].length - 1;
    if (!small && last >= 0) u.setLegend({ idx: chosen ? u.valToIdx(chosen[1] / 1000) : last }, false);
  };
  const plot = new uPlot(
    {
      width: Math.max(200, options.width ?? 600),
      height,
      legend: { show: !small, live: true },
      cursor: {
        y: false,
        drag: { x: Boolean(options.onrange), y: false, setScale: false },
        sync: small ? undefined : { key: 'time' },
        focus: { prox: -1 },
        points: { size: 6 },
      },
      select: { show: Boolean(options.onrange) },
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.05 : 1] } },
      series: [{ label: 'time', value: (_, s) => (s === null || s === undefined ? '–' : momentText(s * 1000)) }, ...series.map(seriesOf)],
      bands: series.flatMap((one, i) => (one.layer && series[i - 1]?.layer ? [{ series: [i + 1, i], fill: color(one.color) }] : [])),
      axes: axes(series[0]?.form ?? 'bytes', small),
      hooks: {
        ready: [(u) => rest(u)],
        setCursor: [(u) => u.cursor.left < 0 && rest(u)],
        draw: [(u) => drawNames(u, series), (u) => drawMarks(u, options.marks ?? [], options.named), (u) => drawChosen(u, chosen)],
        setSelect: [
          (u) => {
            if (!options.onrange || u.select.width < 4) return;
            dragged = true;
            const from = u.posToVal(u.select.left, 'x') * 1000,
              to = u.posToVal(u.select.left + u.select.width, 'x') * 1000;
            u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
            options.onrange(Math.max(0, Math.round(from)), Math.round(to));
          },
        ],
      },
    },
    [seconds, ...series.map((one) => Array.from(one.values))],
    root,
  );
  plot.over.addEventListener('mousedown', () => {
    dragged = false;
  });
  plot.over.addEventListener('click', () => {
    if (options.onmoment && !dragged && plot.cursor.left >= 0) options.onmoment(Math.max(0, Math.round(plot.posToVal(plot.cursor.left, 'x') * 1000)));
  });
  if (options.onzoom) watchWheel();
  if (options.onzoom) plot.over.addEventListener('wheel', (event) => wheelZoom(plot, event, options.onzoom), { passive: false });
  const observer = new ResizeObserver(() => {
    const high = options.fills ? Math.max(height, root.clientHeight) : height,
      wide = root.clientWidth;
    if (wide && (Math.abs(wide - plot.width) > 1 || Math.abs(high - plot.height) > 1)) plot.setSize({ width: wide, height: high });
  });
  observer.observe(root);
  return {
    element: root,
    plot,
    setChosen(next) {
      chosen = next;
      plot.redraw(false, false);
      rest(plot);
    },
    destroy() {
      observer.disconnect();
      plot.destroy();
    },
  };
}

/** Around where the pointer is, at most as wide as the run. */
function wheelZoom(plot, event, onzoom) {
  const { min, max } = plot.scales.x,
    times = plot.data[0];
  if (wheelScrolls(event, min <= times[0] && max >= times.at(-1))) return;
  event.preventDefault();
  const at = plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, 'x'),
    factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004)));
  const from = Math.max(times[0], at - (at - min) * factor),
    to = Math.min(times.at(-1), at + (max - at) * factor);
  if (to - from > 0.002) onzoom(Math.floor(from * 1000), Math.ceil(to * 1000));
}

/** A small line without axes: values over their index, or over TIMES. */
export function sparkline(values, { times = null, width = 120, height = 24, label = '' } = {}) {
  const n = values.length,
    top = Math.max(...values, 1e-9);
  const step = Math.max(1, Math.floor(n / (width * 2))),
    points = [];
  const from = times ? times[0] : 0,
    span = (times ? times[n - 1] - from : n - 1) || 1;
  for (let i = 0; i < n; i += step) {
    const x = (((times ? times[i] : i) - from) / span) * (width - 2) + 1;
    points.push(`${x.toFixed(1)},${(height - 1 - (Math.max(0, values[i]) / top) * (height - 3)).toFixed(1)}`);
  }
  return h(
    'svg',
    { class: 'spark', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
    h('polygon', { class: 'area', points: `1,${height - 1} ${points.join(' ')} ${width - 1},${height - 1}` }),
    h('polyline', { points: points.join(' ') }),
  );
}

/** A share as a bar with its text beside it, the percentage or TEXT: for table cells. */
export function meter(part, whole, text) {
  const percent = whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0;
  return h(
    'span',
    { class: text === undefined ? 'meter share' : 'meter' },
    h('span', { class: 'track', 'aria-hidden': 'true' }, h('span', { class: 'fill', style: { width: `${percent}%` } })),
    h('span', { class: 'value' }, text ?? share(part, whole)),
  );
}

/**
 * Bars of classes, which can be brushed: drag, or arrow keys, Shift to extend, Enter, Escape.
 *
 * label; values; names(i): what class i holds; form(n); axis(i): text below the bar or ''; chosen: [first, last] or null; onbrush([first, last] or null)
 */
export function histogram({ label, values, names, form, axis = () => '', chosen = null, onbrush = null, height = 140 }) {
  const top = Math.max(...values, 1);
  let start = -1;
  const inside = (i) => !chosen || (i >= chosen[0] && i <= chosen[1]);
  const mark = (range) => [...bars.children].forEach((bar, i) => bar.classList.toggle('off', Boolean(range) && (i < range[0] || i > range[1])));
  const bars = h(
    'div',
    { class: 'bars', role: onbrush ? 'group' : 'list', 'aria-label': label, style: { height: `${height}px` } },
    values.map
      ? Array.from(values, (value, i) =>
          h(
            onbrush ? 'button' : 'div',
            {
              class: `bar${inside(i) ? '' : ' off'}`,
              type: onbrush ? 'button' : null,
              role: onbrush ? null : 'listitem',
              tabindex: onbrush ? (i === 0 ? '0' : '-1') : null,
              'aria-pressed': onbrush ? String(Boolean(chosen) && inside(i)) : null,
              title: `${names(i)}: ${form(value)}`,
              'aria-label': `${names(i)}: ${form(value)}`,
              dataset: { i: String(i) },
            },
            h('span', { class: 'column', style: { height: `${value > 0 ? Math.max(1.5, (100 * value) / top) : 0}%` } }),
            h('span', { class: 'tick', 'aria-hidden': 'true' }, axis(i)),
          ),
        )
      : [],
  );
  if (!onbrush) return bars;
  const at = (event) => Number(document.elementFromPoint(event.clientX, event.clientY)?.closest('.bar')?.dataset.i ?? -1);
  const range = (end) => [Math.min(start, end), Math.max(start, end)];
  bars.addEventListener('pointerdown', (event) => {
    start = at(event);
    if (start >= 0) mark([start, start]);
  });
  bars.addEventListener('pointermove', (event) => {
    if (start >= 0 && event.buttons && at(event) >= 0) mark(range(at(event)));
  });
  bars.addEventListener('pointerup', (event) => {
    const end = at(event);
    if (start >= 0 && end >= 0) onbrush(range(end));
    start = -1;
  });
  bars.addEventListener('keydown', (event) => {
    const i = Number(event.target.dataset.i),
      step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const next = bars.children[Math.max(0, Math.min(values.length - 1, i + step))];
      if (event.shiftKey && start < 0) start = i;
      if (!event.shiftKey) start = -1;
      next.focus();
      if (event.shiftKey) mark(range(Number(next.dataset.i)));
    } else if (event.key === 'Enter' || event.key === ' ') onbrush(start >= 0 ? range(i) : [i, i]);
    else if (event.key === 'Escape') onbrush(null);
    else return;
    event.preventDefault();
  });
  return bars;
}
