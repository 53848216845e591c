// SPDX-License-Identifier: MIT
// rings.js -- lost blocks that hold each other, drawn as the circles that they are.
import { siteLink } from './controls.js';
import { h } from './dom.js';
import { bytes, count, folded, number } from './format.js';

const WIDE = 420,
  HIGH = 230,
  ACROSS = { x: 120, y: 78 }, // half of the circle's width and height
  ROOM = 0.2; // of an arrow, left free at both ends for the names

/** Where block I of N stands: the first one at the top. */
function pointOf(i, n) {
  const turn = (2 * Math.PI * i) / n - Math.PI / 2;
  return { x: WIDE / 2 + ACROSS.x * Math.cos(turn), y: HIGH / 2 + ACROSS.y * Math.sin(turn) };
}

/** An arrow along the circle; of a block that holds itself it is a loop. */
function arrow(i, n, at) {
  const from = pointOf(i + ROOM, n),
    to = pointOf(i + 1 - ROOM, n),
    middle = pointOf(i + 0.5, n),
    round = n === 1 ? 1 : 0,
    before = pointOf(i + 1 - ROOM - 0.06 * Math.max(1, n / 4), n),
    turn = Math.atan2(to.y - before.y, to.x - before.x),
    wing = (by) => `${to.x - 8 * Math.cos(turn + by)},${to.y - 8 * Math.sin(turn + by)}`;
  return [
    h('path', { class: 'edge', d: `M${from.x},${from.y} A${ACROSS.x},${ACROSS.y} 0 ${round} 1 ${to.x},${to.y}` }),
    h('polygon', { class: 'tip', points: `${to.x},${to.y} ${wing(0.45)} ${wing(-0.45)}` }),
    h('text', { class: 'offset', x: WIDE / 2 + (middle.x - WIDE / 2) * 0.72, y: HIGH / 2 + (middle.y - HIGH / 2) * 0.72 + 4 }, `+${at}`),
  ];
}

function name(recording, step) {
  return step.site >= 0 ? folded(recording.siteName(step.site), 20) : 'a small place';
}

function ring(recording, { steps }) {
  const n = steps.length;
  return h(
    'svg',
    { class: 'ring', viewBox: `0 0 ${WIDE} ${HIGH}`, role: 'img', 'aria-label': steps.map((step) => `${name(recording, step)} holds at offset ${step.at}`).join(', ') },
    steps.map((step, i) => arrow(i, n, step.at)),
    steps.map((step, i) => {
      const { x, y } = pointOf(i, n);
      return h('g', null, h('text', { x, y: y - 2, class: 'name' }, name(recording, step)), h('text', { x, y: y + 12, class: 'size' }, bytes(step.bytes)));
    }),
  );
}

/** All circles with what they are made of. */
export function rings(context) {
  const { recording } = context;
  return h(
    'div',
    { class: 'rings' },
    recording.cycles.map((one) =>
      h(
        'figure',
        { class: 'part' },
        h('figcaption', null, h('strong', null, `${bytes(one.bytes)} in ${count(one.blocks, 'block')}`), one.times > 1 ? `, ${number(one.times)} circles like this` : ', one circle'),
        ring(recording, one),
        h(
          'ol',
          { class: 'notes' },
          one.steps.map((step) =>
            h('li', null, step.site >= 0 ? siteLink(context, step.site) : 'a small place', ` ${bytes(step.bytes)}, at +${step.at} the next `, h('code', { class: 'place' }, step.block)),
          ),
        ),
      ),
    ),
  );
}
