// SPDX-License-Identifier: MIT
/*
 * flame-paint.js -- the frames of a flame graph on a canvas.
 *
 * One path for each colour of the palette and one pass for the labels: changes of the drawing state are what costs.
 */
import { color } from './charts.js';
import { textFitter, visit } from './flame-layout.js';

export const ROW = 20;
const NARROW = 0.5;
const LABEL_FROM = 26;
const LABEL_GAP = 4;
const FONT = '12px system-ui, sans-serif';

/** How many groups have a colour of their own. */
export const GROUPS = 12;

/** Colours (variables of flame.css) that tell groups apart, the first for what belongs to none; then the same ones paler, for library code. */
export const GROUP_PALETTE = ['group', 'pale'].flatMap((kind) => Array.from({ length: GROUPS + 1 }, (_, i) => ({ fill: `${kind}-${i}` })));
export const PALER = GROUPS + 1;

/** Colours of a change, from much less (0) over no change (3) to much more (6); each side has its own pattern too. */
export const CHANGE_PALETTE = [-3, -2, -1, 0, 1, 2, 3].map((degree) => ({
  fill: degree ? `${degree < 0 ? 'less' : 'more'}-${Math.abs(degree)}` : 'group-0',
  pattern: degree ? (degree < 0 ? 'level' : 'slanted') : null,
}));

/** A colour, or a small picture to fill with. */
function styleOf(context, { fill, pattern }, ink) {
  if (!pattern) return color(fill);
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const paint = tile.getContext('2d');
  if (fill) {
    paint.fillStyle = color(fill);
    paint.fillRect(0, 0, 8, 8);
  }
  paint.strokeStyle = ink;
  paint.lineWidth = 1.5;
  paint.beginPath();
  const lines = pattern === 'level' ? [[0, 4, 8, 4]] : [[-5, 9, 5, -1], [3, 9, 13, -1]];
  for (const [x, y, toX, toY] of lines) {
    paint.moveTo(x, y);
    paint.lineTo(toX, toY);
  }
  paint.stroke();
  return context.createPattern(tile, 'repeat');
}

/**
 * draw({ places, model, window, rows, top, matches }): model has label(node), paint(node) (a number of the palette) and
 * palette; top(depth) is the y of a row on the canvas; matches is null or has a 1 for each place that is found.
 */
export function painter(canvas) {
  const context = canvas.getContext('2d');
  const fit = textFitter((text) => context.measureText(text).width);
  let size = { width: 0, height: 0 };
  let styles = { palette: null };

  function resize(width, height) {
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    size = { width, height };
  }

  /** The styles of the palette, made anew when light becomes dark. */
  function stylesFor({ palette }) {
    const text = color('frame-text');
    if (styles.palette !== palette || styles.text !== text) {
      styles = {
        palette,
        text,
        fills: palette.map((entry) => styleOf(context, entry, color('frame-ink'))),
        match: styleOf(context, { pattern: 'slanted' }, color('frame-found')),
        rest: color('frame-rest'),
      };
    }
    return styles;
  }

  function draw(scene) {
    const { fills, match, text, rest } = stylesFor(scene.model);
    const sorted = sortOut(scene, size.width, fills.length);
    context.clearRect(0, 0, size.width, size.height);
    context.globalAlpha = scene.matches ? 0.4 : 1;
    context.fillStyle = rest;
    fillAll(context, sorted.rest);
    sorted.others.forEach((rectangles, index) => fillWith(context, fills[index], rectangles));
    context.globalAlpha = 1;
    sorted.found.forEach((rectangles, index) => {
      fillWith(context, fills[index], rectangles);
      fillWith(context, match, rectangles);
    });
    context.strokeStyle = text;
    context.lineWidth = 1.5;
    for (const rectangles of sorted.found) outlineAll(context, rectangles);
    drawLabels(context, fit, scene.model, { labels: sorted.labels, text });
    return sorted.count;
  }

  return { resize, draw };
}

/** What is to be drawn: lists of x, y, width by colour, for found frames and others. */
function sortOut({ places, model, window: shown, rows, top, matches }, pixels, colours) {
  const lists = () => Array.from({ length: colours }, () => []);
  const sorted = { others: lists(), found: lists(), rest: [], labels: [], count: 0 };
  visit(places, { window: shown, pixels, rows, narrow: NARROW }, (at, x, width) => {
    const node = places.node[at];
    const y = top(places.depth[at]);
    const list = (matches && matches[at] ? sorted.found : sorted.others)[model.paint(node)];
    list.push(x, y, width > 3 ? width - 1 : width);
    if (width >= LABEL_FROM) sorted.labels.push(node, x, y, width);
    sorted.count++;
  }, (at, x, width) => sorted.rest.push(x, top(places.depth[at] + 1), width));
  return sorted;
}

function fillWith(context, style, rectangles) {
  if (!rectangles.length) return;
  context.fillStyle = style;
  fillAll(context, rectangles);
}

function fillAll(context, rectangles) {
  for (let i = 0; i < rectangles.length; i += 3) {
    context.fillRect(rectangles[i], rectangles[i + 1], rectangles[i + 2], ROW - 1);
  }
}

function outlineAll(context, rectangles) {
  for (let i = 0; i < rectangles.length; i += 3) {
    if (rectangles[i + 2] >= 3) context.strokeRect(rectangles[i] + 0.75, rectangles[i + 1] + 0.75, rectangles[i + 2] - 1.5, ROW - 2.5);
  }
}

function drawLabels(context, fit, model, { labels, text }) {
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = text;
  for (let i = 0; i < labels.length; i += 4) {
    const shown = fit(model.label(labels[i]), labels[i + 3] - 2 * LABEL_GAP);
    if (shown) context.fillText(shown, labels[i + 1] + LABEL_GAP, labels[i + 2] + ROW / 2);
  }
}
