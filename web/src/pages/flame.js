// SPDX-License-Identifier: MIT
// flame.js -- the page with the flame graph: which functions, called from where, hold how much.
import { costChooser } from '../controls.js';
import { checkbox, choice, copy, download, fill, h, menu, refill } from '../dom.js';
import { describeNode, functionTerm, nodeStackText } from '../explain.js';
import { flameGraph } from '../flame.js';
import { GROUPS, GROUP_PALETTE, PALER } from '../flame-paint.js';
import { drawCrumbs, legendItems, nodeByPath, resetButton, searchBox } from '../flame-tools.js';
import { count } from '../format.js';
import { nameOf, pathTo, treeOf, treeOptions } from '../tree.js';

const LABEL = 'Flame graph. Arrows move, Enter zooms, Backspace goes back, Shift F10 opens the menu. The page Table has the same as a table.';
const COLOURED = new WeakMap();

/** By module: the number of its colour, for the most frequent ones; the same for all views of a recording. */
function moduleColours(recording) {
  if (COLOURED.has(recording)) return COLOURED.get(recording);
  const { nodes, frames, functions } = recording, times = new Map();
  for (const frame of nodes.frame) {
    const module = frame >= 0 && frames.function[frame] >= 0 ? functions.module[frames.function[frame]] : -1;
    if (module >= 0) times.set(module, (times.get(module) ?? 0) + 1);
  }
  const ranked = [...times.keys()].sort((a, b) => times.get(b) - times.get(a) || a - b);
  const colours = new Map(ranked.slice(0, GROUPS).map((module, i) => [module, i + 1]));
  COLOURED.set(recording, colours);
  return colours;
}

/** By function: a colour that follows from its name, so that it is the same in every recording. */
function functionColours(recording) {
  const { functions } = recording;
  return Int32Array.from({ length: functions.count }, (_, f) => {
    let hash = 0x811c9dc5;
    for (const letter of recording.text(functions.short[f])) hash = Math.imul(hash ^ letter.codePointAt(0), 0x01000193);
    return 1 + ((hash ^ (hash >>> 15)) >>> 0) % GROUPS;
  });
}

/** By way of colouring: from a tree to the colour of a node. */
const PAINTERS = {
  module({ recording, function: functionOf }) {
    const colours = moduleColours(recording), { module } = recording.functions;
    return (node) => (functionOf[node] >= 0 && colours.get(module[functionOf[node]])) || 0;
  },
  function({ recording, function: functionOf, frame }) {
    const colours = functionColours(recording);
    return (node) => (functionOf[node] < 0 ? 0 : colours[functionOf[node]] + (recording.isOwn(frame[node]) ? 0 : PALER));
  },
};

/** The way to a node as text for the URL, and back. */
const zoomText = (tree, node) => pathTo(tree, node).map((n) => tree.function[n]).join('.');
const zoomNode = (tree, text) => nodeByPath(tree, text ? text.split('.').map(Number) : [], (child, step) => tree.function[child] === step);

const modelOf = (tree, colour) => ({
  tree,
  label: (node) => nameOf(tree, node),
  key: (node) => (tree.function[node] >= 0 ? tree.function[node] : `frame ${tree.frame[node]}`),
  describe: (node) => describeNode(tree, node),
  paint: PAINTERS[colour](tree),
  palette: GROUP_PALETTE,
});

class FlamePage {
  constructor(root, context) {
    this.search = searchBox(context.state);
    this.reset = resetButton(() => this.graph.reset());
    this.graph = flameGraph({
      label: LABEL,
      zoomed: (node) => this.zoom(node),
      menu: (node, x, y) => this.menu(node, x, y),
      found: (result) => this.search.tell(result),
      moved: (zoomed) => this.reset.follow(zoomed),
    });
    this.controls = h('div', { class: 'toolbar' });
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Zoom' });
    this.axis = h('p', { class: 'axis' });
    this.notes = h('p', { class: 'muted' });
    this.legend = h('ul', { class: 'legend', 'aria-label': 'Colours' });
    root.append(
      this.controls,
      h('div', { class: 'toolbar' }, ...this.search.element, this.reset.element, this.crumbs,
        h('button', { type: 'button', class: 'last', onclick: () => this.save() }, 'Save picture')),
      this.notes, this.graph.element, this.axis, this.legend,
    );
    this.update(context);
  }

  update(context) {
    this.context = context;
    const { state, view } = context, colour = state.get('colour') === 'module' ? 'module' : 'function';
    const tree = treeOf(view, treeOptions(state)), zoom = zoomNode(tree, state.get('zoom'));
    if (this.tree !== tree || this.colour !== colour) this.model = modelOf(tree, colour);
    Object.assign(this, { tree, colour });
    this.search.follow();
    this.drawControls();
    this.drawWords();
    drawCrumbs(this.crumbs, { tree, node: zoom, name: (node) => nameOf(tree, node), zoom: (node) => this.zoom(node) });
    this.graph.element.hidden = !(tree.total[0] > 0);
    this.graph.show(this.model, { zoom, search: state.get('search'), upwards: state.get('upwards') === '1' });
  }

  zoom(node) {
    this.context.state.set({ zoom: zoomText(this.tree, node) });
  }

  drawControls() {
    const { state } = this.context, on = (key) => state.get(key) === '1';
    refill(
      this.controls,
      costChooser(this.context),
      choice('Direction', [
        { value: '', label: 'Icicle', title: 'main at the top' },
        { value: '1', label: 'Flame', title: 'main at the bottom' },
      ], state.get('upwards'), (upwards) => state.set({ upwards })),
      choice('Colours', [
        { value: '', label: 'By function', title: 'Each function has its colour; library code is paler' },
        { value: 'module', label: 'By module' },
      ], this.colour === 'module' ? 'module' : '', (value) => state.set({ colour: value })),
      checkbox('Inverted', on('inverted'), (inverted) => state.set({ inverted, zoom: '' }),
        'From the allocating function to those that call it'),
      checkbox('Merge recursion', !on('again'), (merged) => state.set({ again: !merged, zoom: '' }),
        'A function that calls itself is one frame'),
      checkbox('Just my code', !on('wrappers'), (hidden) => state.set({ wrappers: !hidden, zoom: '' }),
        'Of libraries only what your code calls; nothing of the C++ and Rust libraries, xmalloc and the like'),
    );
  }

  drawWords() {
    const { tree, context: { view } } = this, { cost } = view, { recording } = tree;
    const of = cost.label === 'calls' ? 'all' : cost.label, cut = tree.cut ? `; ${count(tree.cut, 'small frame')} not opened` : '';
    fill(this.axis, `← share of ${cost.unit === 'bytes' ? 'bytes' : 'calls'}, not time → (${of}${cut})`,
      h('span', { class: 'hint' }, ' · Ctrl and the wheel zoom, a click opens a frame'));
    this.notes.textContent = [...view.notes, tree.total[0] > 0 ? '' : `Nothing ${cost.label} in this choice.`].join(' ');
    const named = [...moduleColours(recording)].map(([module, colour]) => [`group-${colour}`, recording.text(recording.modules.short[module])]);
    const byModule = [...named, ['group-0', 'others']], byFunction = [['group-1', 'your code, a colour for each function'], ['pale-1', 'libraries, paler']];
    fill(this.legend, legendItems(this.colour === 'module' ? byModule : byFunction));
  }

  menu(node, x, y) {
    const { tree } = this, frame = tree.frame[node], file = tree.recording.fileOf(frame);
    const open = { page: 'source', file, line: tree.recording.frames.line[frame] };
    menu([
      { label: 'Zoom to this frame', action: () => this.zoom(node) },
      ...(node ? this.menuOfFunction(node) : []),
      ...(file ? [{ label: `Open source: ${tree.recording.placeOf(frame)}`, action: () => this.context.state.set(open) }] : []),
    ], x, y);
  }

  menuOfFunction(node) {
    const { state } = this.context, name = nameOf(this.tree, node), word = functionTerm(this.tree.recording, name);
    const narrow = (term, more) => state.set({ filter: `${state.get('filter')} ${term}`.trim(), zoom: '', ...more });
    return [
      { label: `Focus: only stacks with ${name}`, action: () => narrow(word) },
      { label: `Exclude stacks with ${name}`, action: () => narrow(`-${word}`) },
      { label: `Callers of ${name}`, action: () => narrow(word, { inverted: true, search: name }) },
      { label: 'Copy the stack', action: () => copy(nodeStackText(this.tree, node, state.get('inverted') === '1'), 'stack') },
    ];
  }

  save() {
    this.graph.picture().toBlob((picture) => download(`seep-flame-${this.context.view.cost.id}.png`, picture));
  }

  destroy() {
    this.graph.destroy();
  }
}

export default {
  id: 'flame',
  key: '3',
  costs: true,
  title: 'Flame graph',
  render: (root, context) => new FlamePage(root, context),
};
