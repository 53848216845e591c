// SPDX-License-Identifier: MIT
// flame.js -- the page with the flame graph: which functions, called from where, hold how much.
import { costChooser } from '../controls.js';
import { checkbox, choice, copy, fill, h, menu, refill } from '../dom.js';
import { describeNode, functionTerm, nodeStackText } from '../explain.js';
import { flameGraph } from '../flame.js';
import { GROUPS, GROUP_PALETTE } from '../flame-paint.js';
import { count, share } from '../format.js';
import { nameOf, pathTo, treeOf, treeOptions } from '../tree.js';

const CRUMBS = 6;
const COLOURED = new WeakMap();

/** By module: the number of its colour, 0 for all but the most frequent ones; the same for all views of a recording. */
function moduleColours(recording) {
  if (COLOURED.has(recording)) return COLOURED.get(recording);
  const times = new Map();
  for (const frame of recording.nodes.frame) {
    const module = frame >= 0 && recording.frames.function[frame] >= 0 ? recording.functions.module[recording.frames.function[frame]] : -1;
    if (module >= 0) times.set(module, (times.get(module) ?? 0) + 1);
  }
  const ranked = [...times.keys()].sort((a, b) => times.get(b) - times.get(a) || a - b);
  const colours = new Map(ranked.slice(0, GROUPS).map((module, i) => [module, i + 1]));
  COLOURED.set(recording, colours);
  return colours;
}

const moduleOf = (tree, node) => (tree.function[node] >= 0 ? tree.recording.functions.module[tree.function[node]] : -1);

const painters = {
  module(tree) {
    const colours = moduleColours(tree.recording);
    return (node) => colours.get(moduleOf(tree, node)) ?? 0;
  },
  function: (tree) => (node) => (node && tree.function[node] >= 0 ? 1 + (Math.imul(tree.function[node] + 1, 0x9e3779b1) >>> 8) % GROUPS : 0),
};

/** The path to a node as text for the URL, and back: as far as the tree still has it. */
export const zoomText = (tree, node) => pathTo(tree, node).map((n) => tree.function[n]).join('.');

export function zoomNode(tree, text) {
  let at = 0;
  for (const step of text ? text.split('.').map(Number) : []) {
    let child = tree.firstChild[at];
    while (child >= 0 && tree.function[child] !== step) child = tree.nextSibling[child];
    if (child < 0) break;
    at = child;
  }
  return at;
}

function modelOf(tree, colour) {
  return {
    tree,
    label: (node) => nameOf(tree, node),
    key: (node) => (tree.function[node] >= 0 ? tree.function[node] : `frame ${tree.frame[node]}`),
    describe: (node) => describeNode(tree, node),
    paint: painters[colour](tree),
    palette: GROUP_PALETTE,
  };
}

class FlamePage {
  constructor(root, context) {
    this.context = context;
    this.graph = flameGraph({
      label: 'Flame graph. Arrows move, Enter zooms, Backspace goes back, Shift F10 opens the menu. The page Table has the same as a table.',
      zoomed: (node) => context.state.set({ zoom: zoomText(this.tree, node) }),
      menu: (node, x, y) => this.menu(node, x, y),
      found: (result) => this.tellFound(result),
    });
    this.controls = h('div', { class: 'toolbar' });
    this.found = h('output', { class: 'found' });
    this.input = h('input', { type: 'search', placeholder: 'Search: name or /regex/', 'aria-label': 'Search functions', oninput: () => context.state.set({ search: this.input.value }) });
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Zoom' });
    this.axis = h('p', { class: 'axis' });
    this.legend = h('ul', { class: 'legend', 'aria-label': 'Colours' });
    this.empty = h('p', { class: 'empty', hidden: true });
    root.append(this.controls, h('div', { class: 'toolbar' }, this.input, this.found, this.crumbs), this.graph.element, this.empty, this.axis, this.legend);
    this.update(context);
  }

  update(context) {
    this.context = context;
    const { state, view } = context;
    const colour = state.get('colour') === 'function' ? 'function' : 'module';
    const tree = treeOf(view, treeOptions(state));
    if (this.tree !== tree || this.colour !== colour) this.model = modelOf(tree, colour);
    this.tree = tree;
    this.colour = colour;
    this.drawControls(state);
    this.drawCrumbs(zoomNode(tree, state.get('zoom')));
    this.drawLegend();
    if (this.input.value !== state.get('search')) this.input.value = state.get('search');
    this.graph.element.hidden = !(tree.total[0] > 0);
    this.empty.hidden = tree.total[0] > 0;
    this.empty.textContent = `Nothing ${view.cost.label} in this choice.`;
    const unit = view.cost.unit === 'bytes' ? 'bytes' : 'calls';
    this.axis.textContent = `← share of ${unit}, not time → (${view.cost.label === 'calls' ? 'all' : view.cost.label}${tree.cut ? `; ${count(tree.cut, 'small frame')} not opened` : ''})`;
    this.graph.show(this.model, { zoom: zoomNode(tree, state.get('zoom')), search: state.get('search'), upwards: state.get('upwards') === '1' });
  }

  drawControls(state) {
    const on = (key) => state.get(key) === '1';
    refill(this.controls,
      costChooser(this.context),
      choice('Direction', [{ value: '', label: 'Icicle', title: 'main at the top' }, { value: '1', label: 'Flame', title: 'main at the bottom' }],
        state.get('upwards'), (upwards) => state.set({ upwards })),
      choice('Colours', [{ value: '', label: 'By module' }, { value: 'function', label: 'By function' }], state.get('colour'), (colour) => state.set({ colour })),
      checkbox('Inverted', on('inverted'), (inverted) => state.set({ inverted, zoom: '' }), 'From the allocating function to those that call it'),
      checkbox('Merge recursion', on('recursion'), (recursion) => state.set({ recursion, zoom: '' }), 'A function that calls itself is one frame'),
      checkbox('Hide allocator frames', !on('wrappers'), (hidden) => state.set({ wrappers: !hidden, zoom: '' }), 'xmalloc, std::allocator and the like at the inner end'));
  }

  drawCrumbs(node) {
    const { state } = this.context, path = pathTo(this.tree, node), hidden = Math.max(0, path.length - CRUMBS);
    const crumb = (n) => (n === node ? h('span', { 'aria-current': 'location' }, nameOf(this.tree, n))
      : h('button', { type: 'button', onclick: () => state.set({ zoom: zoomText(this.tree, n) }) }, nameOf(this.tree, n)));
    const steps = [crumb(0), hidden > 0 && `… ${hidden} more …`, ...path.slice(hidden).map(crumb)].filter(Boolean);
    refill(this.crumbs, steps.map((step, i) => [i > 0 && h('span', { 'aria-hidden': 'true' }, ' › '), step]));
  }

  drawLegend() {
    const { recording } = this.tree, colours = moduleColours(recording);
    this.legend.hidden = this.colour !== 'module';
    const name = (module) => recording.text(recording.modules.short[module]);
    fill(this.legend, [...colours].map(([module, colour]) => h('li', null, h('span', { class: `swatch group-${colour}`, 'aria-hidden': 'true' }), name(module))),
      h('li', null, h('span', { class: 'swatch group-0', 'aria-hidden': 'true' }), 'others'));
  }

  tellFound(result) {
    this.found.textContent = !result ? '' : result.frames
      ? `${count(result.frames, 'frame')}, ${share(result.share, 1)} of all`
      : 'not found';
  }

  menu(node, x, y) {
    const { state } = this.context, name = nameOf(this.tree, node), word = functionTerm(this.tree.recording, name);
    const narrowed = (term) => `${state.get('filter')} ${term}`.trim();
    const place = this.sourceOf(node);
    menu([
      { label: 'Zoom to this frame', action: () => state.set({ zoom: zoomText(this.tree, node) }) },
      ...(node ? [
        { label: `Focus: only stacks with ${name}`, action: () => state.set({ filter: narrowed(word), zoom: '' }) },
        { label: `Exclude stacks with ${name}`, action: () => state.set({ filter: narrowed(`-${word}`), zoom: '' }) },
        { label: `Callers of ${name}`, action: () => state.set({ inverted: true, filter: narrowed(word), search: name, zoom: '' }) },
        { label: 'Copy the stack', action: () => copy(nodeStackText(this.tree, node, state.get('inverted') === '1'), 'stack') },
      ] : []),
      ...(place ? [{ label: `Open source: ${place.text}`, action: () => this.context.go('source', place.keys) }] : []),
    ], x, y);
  }

  sourceOf(node) {
    const { recording } = this.tree, frame = this.tree.frame[node];
    const file = recording.fileOf(frame);
    return file ? { text: recording.placeOf(frame), keys: { file, line: recording.frames.line[frame] } } : null;
  }

  destroy() {
    this.graph.destroy();
  }
}

export default {
  id: 'flame',
  key: '3',
  title: 'Flame graph',
  render: (root, context) => new FlamePage(root, context),
};
