// SPDX-License-Identifier: MIT
/*
 * treemap.js -- sizes as areas: rectangles that fill a box, as near to squares as can be (Bruls, Huizing and van Wijk, 2000).
 */
import { h } from './dom.js';

/** The worst ratio of sides when the AREAS are laid side by side along a side of LENGTH. */
function worst(areas, length) {
  const sum = areas.reduce((a, b) => a + b, 0),
    thick = sum / length;
  return Math.max(...areas.map((area) => Math.max((thick * thick) / area, area / (thick * thick))));
}

/** VALUES, largest first and above 0, as [{ x, y, width, height }] that fill a box of WIDTH and HEIGHT. */
export function squares(values, width, height) {
  const whole = values.reduce((a, b) => a + b, 0),
    areas = values.map((value) => (value / whole) * width * height),
    out = [];
  let box = { x: 0, y: 0, width, height };
  for (let at = 0; at < areas.length; ) {
    const length = Math.min(box.width, box.height),
      strip = [areas[at]];
    while (at + strip.length < areas.length && worst([...strip, areas[at + strip.length]], length) <= worst(strip, length))
      strip.push(areas[at + strip.length]);
    box = lay(strip, box, out);
    at += strip.length;
  }
  return out;
}

/** Puts a strip along the shorter side of BOX; gives what is left of it. */
function lay(strip, box, out) {
  const tall = box.height <= box.width,
    length = tall ? box.height : box.width,
    thick = strip.reduce((a, b) => a + b, 0) / length;
  let at = tall ? box.y : box.x;
  for (const area of strip) {
    const side = area / thick;
    out.push(tall ? { x: box.x, y: at, width: thick, height: side } : { x: at, y: box.y, width: side, height: thick });
    at += side;
  }
  return tall
    ? { x: box.x + thick, y: box.y, width: box.width - thick, height: box.height }
    : { x: box.x, y: box.y + thick, width: box.width, height: box.height - thick };
}

const WIDE = 1200,
  HIGH = 320;

const HEAD = 56, // pixels for the words of a tile
  INSIDE = { wide: 160, high: 110 }; // from which on its parts are drawn

const LEAST = 0.002; // of the whole: what is less is no area that anybody sees

const percent = (part, all) => `${((100 * part) / all).toFixed(3)}%`;

/** What a tile is made of, where there is room: below its words. */
function innerTiles(tile, box) {
  const parts = (tile.parts ?? []).filter((part) => part.value > 0);
  if (!parts.length || box.width < INSIDE.wide || box.height < INSIDE.high) return null;
  const high = box.height - HEAD,
    places = squares(
      parts.map((part) => part.value),
      box.width,
      high,
    );
  return h(
    'span',
    { class: 'tile-inside' },
    parts.map((part, i) =>
      h(
        'span',
        {
          class: 'tile-part',
          title: `${part.name}\n${part.text}`,
          style: {
            left: percent(places[i].x, box.width),
            top: percent(places[i].y, high),
            width: percent(places[i].width, box.width),
            height: percent(places[i].height, high),
          },
        },
        `${part.name} ${part.text}`,
      ),
    ),
  );
}

/**
 * A box of tiles.  label: what it shows, for screen readers; tiles: [{ name, about, text (the amount), value, group (a colour of flame.css),
 * chosen, parts: [{ name, text, value }] inside of it }], largest first; onopen(tile) on a click, where it is given.
 */
export function treemap({ label, tiles, onopen = null }) {
  const whole = tiles.reduce((sum, tile) => sum + tile.value, 0),
    shown = tiles.filter((tile) => tile.value > whole * LEAST),
    places = squares(
      shown.map((tile) => tile.value),
      WIDE,
      HIGH,
    );
  return h(
    'div',
    { class: 'treemap', role: 'group', 'aria-label': label },
    shown.map((tile, i) =>
      h(
        onopen ? 'button' : 'div',
        {
          type: onopen ? 'button' : null,
          class: `tile group-${tile.group}`,
          title: `${tile.name}\n${tile.text}\n${tile.about}`,
          'aria-pressed': onopen ? String(Boolean(tile.chosen)) : null,
          style: {
            left: percent(places[i].x, WIDE),
            top: percent(places[i].y, HIGH),
            width: percent(places[i].width, WIDE),
            height: percent(places[i].height, HIGH),
          },
          onclick: onopen && (() => onopen(tile)),
        },
        h('span', { class: 'tile-name' }, tile.name),
        h('span', { class: 'tile-text' }, tile.text),
        h('span', { class: 'tile-about' }, tile.about),
        innerTiles(tile, places[i]),
      ),
    ),
  );
}
