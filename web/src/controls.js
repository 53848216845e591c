// SPDX-License-Identifier: MIT
// controls.js -- what several pages have in common: the chooser of costs, links to a site, a whole stack.
import { costsOf } from './costs.js';
import { choice, h } from './dom.js';
import { bytes, count, folded, middle, number } from './format.js';

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

/**
 * The frames of a stack, innermost first, and which of them are folded: library code (but for what own code called), and further calls of
 * a function that is shown already.
 */
function stackFrames(recording, node) {
  const { parent, frame } = recording.nodes,
    trimmed = recording.trimmedNode(node),
    shown = new Set(),
    out = [];
  let inside = true;
  for (let n = node; n > 0; n = parent[n]) {
    inside &&= n !== trimmed;
    if (frame[n] < 0) continue;
    const library = inside || !recording.shownNodes[n],
      of = recording.frames.function[frame[n]],
      again = !library && shown.has(of);
    if (!library && of >= 0) shown.add(of);
    out.push({ frame: frame[n], library, again });
  }
  return out;
}

/** "3 library frames, 7 recursive calls" */
function foldedText(frames) {
  const library = frames.filter((one) => one.library).length,
    again = frames.filter((one) => one.again).length;
  return [library && count(library, 'library frame'), again && count(again, 'recursive call')].filter(Boolean).join(', ');
}

/** A stack as a list, innermost first; a button shows the folded frames. */
export function stackList({ recording, state }, node) {
  const frames = stackFrames(recording, node),
    more = foldedText(frames);
  return h(
    'ol',
    { class: 'stack' },
    frames.map(({ frame, library, again }) =>
      h(
        'li',
        { class: library || again ? 'folded' : recording.frames.wrapper[frame] ? 'wrapper' : null },
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
    !frames.length ? h('li', { class: 'place' }, 'no stack is known') : null,
    more
      ? h(
          'li',
          { class: 'place unfold' },
          h(
            'button',
            { type: 'button', onclick: (event) => event.target.closest('.stack').classList.add('whole') },
            more,
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
