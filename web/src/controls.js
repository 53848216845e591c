// SPDX-License-Identifier: MIT
// controls.js -- what several pages have in common: the chooser of costs, links to a site, a whole stack.
import { costsOf } from './costs.js';
import { choice, h } from './dom.js';
import { bytes, folded, middle, number } from './format.js';

const SITE_COLUMNS = 24; // beside which a file and a line are still seen
const PLACE_COLUMNS = 28;

/** Buttons of the costs that are known at the chosen moment. */
export function costChooser({ recording, state, view }) {
  const known = costsOf(recording, view.moment.of);
  return choice(
    'Cost',
    known.map((cost) => ({ value: cost.id, label: cost.short, title: cost.help })),
    view.cost.id,
    (id) => state.set({ cost: id }),
  );
}

/** A number of a cost, in its unit. */
export const valueText = (cost, value) => (cost.unit === 'bytes' ? bytes(value) : number(value));

/** The chosen cost of both units: "12.0 MiB in 48 blocks". */
export function bothText(cost, size, count) {
  const noun = cost.id === 'total' || cost.id === 'allocs' || cost.id === 'temporary' ? 'call' : 'block';
  const calls = `${number(count)} ${noun}${Math.round(count) === 1 ? '' : 's'}`;
  return cost.bytes ? `${bytes(size)} in ${calls}` : calls;
}

/** "parse_table  table.c:214": a link to the place in the table of stacks. */
export function siteLink({ recording, state }, site, changes = {}) {
  const frame = recording.siteFrame(site),
    place = recording.placeBeside(frame);
  return h(
    'a',
    { class: 'site', href: state.link({ page: 'table', site, ...changes }), title: `${recording.functionFullName(frame)}, site #${recording.sites.id[site]}` },
    h('code', null, folded(recording.siteName(site), SITE_COLUMNS)),
    ' ',
    place ? h('span', { class: 'place' }, middle(place, PLACE_COLUMNS)) : null,
  );
}

/** The nodes of a stack with a frame, innermost first, and which of them are folded: library code, but for what own code called. */
function stackNodes(recording, node) {
  const { parent, frame } = recording.nodes,
    trimmed = recording.trimmedNode(node),
    out = [];
  let inside = true;
  for (let n = node; n > 0; n = parent[n]) {
    inside &&= n !== trimmed;
    if (frame[n] >= 0) out.push({ frame: frame[n], folded: inside || !recording.shownNodes[n] });
  }
  return out;
}

/** A stack as a list, innermost first; a button shows the folded frames. */
export function stackList({ recording, state }, node, { limit = Infinity } = {}) {
  const all = stackNodes(recording, node),
    frames = all.map(({ frame }) => frame),
    folded = all.slice(0, limit).filter((one) => one.folded).length;
  return h(
    'ol',
    { class: 'stack' },
    all
      .slice(0, limit)
      .map(({ frame, folded }) =>
        h(
          'li',
          { class: folded ? 'folded' : recording.frames.wrapper[frame] ? 'wrapper' : null },
          h('code', { title: recording.functionFullName(frame) }, recording.functionName(frame)),
          ' ',
          recording.fileOf(frame)
            ? h(
                'a',
                {
                  class: 'place',
                  href: state.link({ page: 'source', file: recording.fileOf(frame), line: recording.frames.line[frame] || '' }),
                  title: recording.fileOf(frame),
                },
                recording.placeOf(frame),
              )
            : h('span', { class: 'place' }, recording.placeOf(frame)),
          recording.frames.inlined[frame] ? h('span', { class: 'place' }, ' inlined') : null,
        ),
      ),
    frames.length > limit ? h('li', { class: 'place' }, `and ${frames.length - limit} more`) : null,
    !frames.length ? h('li', { class: 'place' }, 'no stack is known') : null,
    folded
      ? h(
          'li',
          { class: 'place unfold' },
          h(
            'button',
            { type: 'button', onclick: (event) => event.target.closest('.stack').classList.add('whole') },
            `${folded} library ${folded === 1 ? 'frame' : 'frames'}`,
          ),
        )
      : null,
  );
}

/** A stack as text, to be copied. */
export function stackText(recording, node) {
  return recording
    .framesOf(node)
    .map((frame) => `${recording.functionName(frame)} (${recording.placeOf(frame)})`)
    .join('\n');
}
