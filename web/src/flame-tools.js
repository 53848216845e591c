// SPDX-License-Identifier: MIT
// flame-tools.js -- what stands around a flame graph: the search box, the crumbs of a zoom, the legend.
import { h, refill } from './dom.js';
import { count, share } from './format.js';
import { pathTo } from './tree.js';

const CRUMBS = 6;

/** { element, follow(state), tell(result) }: what is typed goes into the state as `search`. */
export function searchBox(state) {
  const input = h('input', {
    type: 'search',
    placeholder: 'Search: name or /regex/',
    'aria-label': 'Search functions',
    oninput: () => state.set({ search: input.value }),
  });
  const found = h('output', { class: 'found' });
  return {
    element: [input, found],
    follow() {
      if (input.value !== state.get('search')) input.value = state.get('search');
    },
    tell(result) {
      if (!result) found.textContent = '';
      else found.textContent = result.frames ? `${count(result.frames, 'frame')}, ${share(result.share, 1)} of all` : 'not found';
    },
  };
}

/** Fills ELEMENT with the way to NODE; each step but the last calls zoom(node). */
export function drawCrumbs(element, { tree, node, name, zoom }) {
  const path = pathTo(tree, node), hidden = Math.max(0, path.length - CRUMBS);
  const crumb = (n) => (n === node
    ? h('span', { 'aria-current': 'location' }, name(n))
    : h('button', { type: 'button', onclick: () => zoom(n) }, name(n)));
  const steps = [crumb(0), hidden > 0 && `… ${hidden} more …`, ...path.slice(hidden).map(crumb)].filter(Boolean);
  refill(element, steps.map((step, i) => [i > 0 && h('span', { 'aria-hidden': 'true' }, ' › '), step]));
}

/** { element, follow(zoomed) }: takes a graph back to the whole; there while it does not show it. */
export function resetButton(reset) {
  const element = h('button', { type: 'button', hidden: true, title: 'Show the whole again (key 0 in the graph)', onclick: () => reset() }, 'Reset zoom');
  return { element, follow: (zoomed) => { element.hidden = !zoomed; } };
}

/** ENTRIES: [class of the swatch, words]. */
export const legendItems = (entries) => entries.map(([name, words]) =>
  h('li', null, h('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), words));

/** A path as steps, each a child for which IS(child, step); as far as the tree has it. */
export function nodeByPath(tree, steps, is) {
  let at = 0;
  for (const step of steps) {
    let child = tree.firstChild[at];
    while (child >= 0 && !is(child, step)) child = tree.nextSibling[child];
    if (child < 0) break;
    at = child;
  }
  return at;
}
