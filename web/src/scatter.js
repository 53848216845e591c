// SPDX-License-Identifier: MIT
// scatter.js -- stacks as dots: across by how long their blocks live, up by their size, both logarithmic.
import { h } from './dom.js';
import { bytes, time } from './format.js';
import { logScale } from './histogram.js';

const HEIGHT = 320;
const MARGIN = { left: 70, right: 80, top: 12, bottom: 30 };
const UNFREED = { line: 20, dots: 50, spread: 40 }; // from the end of the plot: what was never freed has no lifetime
const SIZE_TICKS = [1, 16, 256, 4096, 65536, 2 ** 20, 2 ** 24, 2 ** 28, 2 ** 32, 2 ** 36];
const LIFE_TICKS = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000];

/** Where things are: scales, and x(lifetime), y(size) in units of the picture. */
function plotOf(points, width) {
  const sizes = points.map((point) => point.size),
    lives = points.map((point) => point.life).filter((life) => life > 0);
  const across = logScale(1, Math.max(10, ...lives) * 2),
    up = logScale(Math.max(1, Math.min(...sizes) / 2), Math.max(64, ...sizes) * 2);
  const end = width - MARGIN.right,
    bottom = HEIGHT - MARGIN.bottom;
  return {
    width,
    end,
    bottom,
    across,
    up,
    x: (life) => MARGIN.left + across.place(life) * (end - MARGIN.left),
    y: (size) => bottom - up.place(size) * (bottom - MARGIN.top),
  };
}

const lifeTick = (ms) => (ms === 1 ? '≤ 1 ms' : time(ms).replace('.0 s', ' s').replace(' 0 s', ''));

function grid(plot) {
  const lives = LIFE_TICKS.filter((tick) => plot.across.place(tick) < 1),
    sizes = SIZE_TICKS.filter((tick) => plot.up.place(tick) > 0 && plot.up.place(tick) < 1);
  const vertical = (x) => h('line', { class: 'grid', x1: x, x2: x, y1: MARGIN.top, y2: plot.bottom });
  const below = (x, text) => h('text', { x, y: HEIGHT - 12, 'text-anchor': 'middle' }, text);
  return [
    lives.slice(1).map((tick) => vertical(plot.x(tick))),
    lives.map((tick) => below(plot.x(tick), lifeTick(tick))),
    sizes.map((tick) => h('line', { class: 'grid', x1: MARGIN.left, x2: plot.end, y1: plot.y(tick), y2: plot.y(tick) })),
    sizes.map((tick) => h('text', { x: MARGIN.left - 6, y: plot.y(tick) + 4, 'text-anchor': 'end' }, bytes(tick).replace('.0 ', ' '))),
    vertical(plot.end + UNFREED.line),
    below(plot.end + UNFREED.dots, 'not freed'),
  ];
}

/** A rectangle that is drawn with the mouse; done({ x0, x1, y0, y1 }) in parts of the plot. */
function rectangle(svg, plot, done) {
  let start = null;
  const box = h('rect', { class: 'rubber', width: 0, height: 0 });
  svg.append(box);
  const at = (event) => {
    const frame = svg.getBoundingClientRect();
    return { x: ((event.clientX - frame.left) / frame.width) * plot.width, y: ((event.clientY - frame.top) / frame.height) * HEIGHT };
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
function brushes(plot, { x0, x1, y0, y1 }) {
  const across = (x) => (x - MARGIN.left) / (plot.end - MARGIN.left),
    up = (y) => (plot.bottom - y) / (plot.bottom - MARGIN.top);
  const limits = (low, high, { value }, round) => `${low <= 0 ? '' : round(value(low))}..${high >= 1 ? '' : round(value(high))}`;
  const life = limits(across(x0), across(x1), plot.across, (ms) => Number(ms.toPrecision(3))),
    size = limits(up(y1), up(y0), plot.up, Math.round);
  return { life: life === '..' ? '' : life, size: size === '..' ? '' : size };
}

/**
 * points    as sitePoints() of histogram.js gives them, at least one
 * label     for screen readers; width: in pixels; isOff(point): drawn as an outline; title(point)
 * onbrush   ({ size, life }): the ranges of a rectangle that was drawn, in the form of the state
 */
export function scatter({ points, label, width, isOff, title, onbrush }) {
  const plot = plotOf(points, width),
    most = Math.max(...points.map((point) => point.weight), 1);
  const unfreed = (site) => plot.end + UNFREED.dots + ((site * 7) % UNFREED.spread) - UNFREED.spread / 2; // beside each other
  const dot = (point) =>
    h(
      'circle',
      {
        class: isOff(point) ? 'dot off' : 'dot',
        r: 2 + 9 * Math.sqrt(point.weight / most),
        cx: Number.isNaN(point.life) ? unfreed(point.site) : plot.x(point.life),
        cy: plot.y(point.size),
      },
      h('title', null, title(point)),
    );
  const svg = h('svg', { class: 'scatter', viewBox: `0 0 ${width} ${HEIGHT}`, role: 'img', 'aria-label': label }, grid(plot), points.map(dot));
  rectangle(svg, plot, (box) => onbrush(brushes(plot, box)));
  return svg;
}
