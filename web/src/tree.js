// SPDX-License-Identifier: MIT
// tree.js -- call trees as flat arrays, made from a view.
//
// Node 0 is the root; a parent's index is smaller than its child's.  By node: parent, frame (of the recording, one of those merged),
// function, total and self (of the view's weight), bytes and calls (of the chosen cost), frees and lifetime_ms (for the average
// lifetime), depth; firstChild and nextSibling, largest first; -1: none.

const MAX_NODES = 400_000;
/** Bottom-up nodes below this share of the whole are not opened further. */
const OPEN_SHARE = 1e-4;

/** (parent, key) -> node, without an object per node. */
export class Children {
  constructor(room) {
    this.size = 1024;
    while (this.size < room * 2) this.size *= 2;
    this.slots = new Int32Array(this.size).fill(-1);
  }

  /** The slot where the node is, or is to be put. */
  find(nodes, parent, key) {
    let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 2, 0x85ebca6b)) & (this.size - 1);
    for (;;) {
      const node = this.slots[slot];
      if (node < 0 || (nodes.parent[node] === parent && nodes.key[node] === key)) return slot;
      slot = (slot + 1) & (this.size - 1);
    }
  }
}

class Builder {
  constructor(view, options, room) {
    this.view = view;
    this.recording = view.recording;
    this.options = options;
    this.count = 1;
    this.children = new Children(room);
    this.parent = new Int32Array(room).fill(-1);
    this.key = new Int32Array(room).fill(-1);
    this.frame = new Int32Array(room).fill(-1);
    for (const key of ['self', 'total', 'bytes', 'calls', 'frees', 'lifetime_ms']) this[key] = new Float64Array(room);
  }

  functionOf(frame) {
    return frame >= 0 ? this.recording.frames.function[frame] : -1;
  }

  /** Frames of one function are one node, unless lines are wanted. */
  keyOf(frame) {
    const f = this.functionOf(frame);
    return this.options.lines || f < 0 ? frame : f;
  }

  /** The node at or above NODE with the function of FRAME; 0: none. */
  sameAbove(node, frame) {
    const f = this.functionOf(frame);
    for (let n = node; n > 0 && f >= 0; n = this.parent[n]) if (this.functionOf(this.frame[n]) === f) return n;
    return 0;
  }

  /** The child of PARENT for FRAME, made when it is new. */
  child(parent, frame) {
    const key = this.keyOf(frame),
      slot = this.children.find(this, parent, key);
    if (this.children.slots[slot] >= 0) return this.children.slots[slot];
    const node = this.count++;
    this.children.slots[slot] = node;
    this.parent[node] = parent;
    this.key[node] = key;
    this.frame[node] = frame;
    return node;
  }

  /** Adds a site's numbers to a node. */
  add(node, site) {
    const { view } = this,
      { columns } = view;
    this.bytes[node] += view.bytes[site];
    this.calls[node] += view.count[site];
    this.frees[node] += columns.frees[site];
    this.lifetime_ms[node] += columns.lifetime_ms[site];
    this.total[node] += view.weight[site];
  }

  /** Whether what is at NODE of the recording is left out. */
  hides(node) {
    return !this.options.wrappers && !this.recording.shownNodes[node];
  }

  /** Where a site's stack is shown from. */
  innermost(site) {
    const node = this.recording.sites.node[site];
    return this.options.wrappers ? node : this.recording.trimmedNode(node);
  }

  finish(cut) {
    const n = this.count,
      part = (array) => array.slice(0, n);
    const tree = {
      recording: this.recording,
      view: this.view,
      count: n,
      cut,
      parent: part(this.parent),
      frame: part(this.frame),
      self: part(this.self),
      total: part(this.total),
      bytes: part(this.bytes),
      calls: part(this.calls),
      frees: part(this.frees),
      lifetime_ms: part(this.lifetime_ms),
    };
    tree.function = tree.frame.map((frame) => this.functionOf(frame));
    link(tree);
    return tree;
  }
}

/** Largest first, within [low, high): most nodes have few children, and a call of sort() for each would cost more than the rest. */
function sortByTotal(list, low, high, total) {
  if (high - low > 24) {
    list.subarray(low, high).sort((a, b) => total[b] - total[a] || a - b);
    return;
  }
  for (let i = low + 1; i < high; i++) {
    const node = list[i];
    let to = i;
    for (; to > low && total[list[to - 1]] < total[node]; to--) list[to] = list[to - 1];
    list[to] = node;
  }
}

/** First children, next siblings and depths; siblings by falling total. */
export function link(tree) {
  const { count, parent, total } = tree,
    starts = new Int32Array(count + 1),
    list = new Int32Array(count);
  tree.firstChild = new Int32Array(count).fill(-1);
  tree.nextSibling = new Int32Array(count).fill(-1);
  tree.depth = new Uint16Array(count);
  for (let n = 1; n < count; n++) starts[parent[n] + 1]++;
  for (let n = 0; n < count; n++) starts[n + 1] += starts[n];
  const next = starts.slice();
  for (let n = 1; n < count; n++) {
    list[next[parent[n]]++] = n;
    tree.depth[n] = tree.depth[parent[n]] + 1;
  }
  for (let n = 0; n < count; n++) {
    const low = starts[n],
      high = starts[n + 1];
    if (low === high) continue;
    sortByTotal(list, low, high, total);
    tree.firstChild[n] = list[low];
    for (let i = low; i + 1 < high; i++) tree.nextSibling[list[i]] = list[i + 1];
  }
}

/** From main inwards. */
function topDown(view, options) {
  const { recording } = view,
    { nodes, sites } = recording;
  const used = new Uint8Array(Math.max(nodes.count, 1)),
    at = new Int32Array(sites.count);
  const builder = new Builder(view, options, Math.max(nodes.count, 1) + 1);
  for (let s = 0; s < sites.count; s++) {
    if (!(view.weight[s] > 0)) continue;
    at[s] = builder.innermost(s);
    used[at[s]] = 1;
  }
  for (let n = nodes.count - 1; n > 0; n--) if (used[n]) used[nodes.parent[n]] = 1;
  const place = new Int32Array(Math.max(nodes.count, 1));
  for (let n = 1; n < nodes.count; n++) {
    if (!used[n]) continue;
    const parent = place[nodes.parent[n]];
    if (builder.hides(n)) {
      place[n] = parent;
      continue;
    }
    const outer = options.mergeRecursion ? builder.sameAbove(parent, nodes.frame[n]) : 0;
    place[n] = outer || builder.child(parent, nodes.frame[n]);
  }
  const most = new Float64Array(builder.count);
  for (let s = 0; s < sites.count; s++) {
    if (!(view.weight[s] > 0)) continue;
    const node = place[at[s]];
    builder.self[node] += view.weight[s];
    builder.add(node, s);
    if (node === 0 || options.lines || view.weight[s] <= most[node]) continue;
    most[node] = view.weight[s];
    builder.frame[node] = nodes.frame[at[s]]; // of all lines of a function, the one that allocates most itself
  }
  for (let n = builder.count - 1; n > 0; n--) {
    for (const key of ['total', 'bytes', 'calls', 'frees', 'lifetime_ms']) builder[key][builder.parent[n]] += builder[key][n];
  }
  return builder.finish(0);
}

/** The next frame outwards that gets a node: with recursion merged, none of a function that is there already. */
function nextOutwards(builder, node, from) {
  const { nodes } = builder.recording;
  let at = from;
  const merged = () => builder.options.mergeRecursion && builder.sameAbove(node, nodes.frame[at]);
  while (at > 0 && (builder.hides(at) || merged())) at = nodes.parent[at];
  return at;
}

/** One step outwards of all stacks of a node: {node, sites, at} by child. */
function openNode(builder, { node, sites, at }) {
  const { nodes } = builder.recording,
    children = new Map();
  for (let i = 0; i < sites.length; i++) {
    const place = nextOutwards(builder, node, at[i]);
    if (place <= 0) continue;
    const child = builder.child(node, nodes.frame[place]);
    builder.add(child, sites[i]);
    if (!children.has(child)) children.set(child, { node: child, sites: [], at: [] });
    children.get(child).sites.push(sites[i]);
    children.get(child).at.push(nodes.parent[place]);
  }
  return children.values();
}

/** From the allocating function outwards to main; small nodes are not opened, `cut` says how many. */
function bottomUp(view, options) {
  const stacks = [...view.order].filter((s) => view.weight[s] > 0);
  const builder = new Builder(view, options, Math.min(MAX_NODES, stacks.length * 24 + 16)),
    room = builder.parent.length;
  for (const s of stacks) builder.add(0, s);
  const least = builder.total[0] * (options.openShare ?? OPEN_SHARE);
  const work = [{ node: 0, sites: stacks, at: stacks.map((s) => builder.innermost(s)) }];
  let cut = 0;
  for (let i = 0; i < work.length; i++) {
    if (builder.total[work[i].node] < least || builder.count + work[i].sites.length > room) cut++;
    else for (const child of openNode(builder, work[i])) work.push(child);
    work[i] = null;
  }
  for (let n = 1; n < builder.count && builder.parent[n] === 0; n++) builder.self[n] = builder.total[n];
  builder.self[0] = stacks.reduce((sum, s) => (builder.innermost(s) > 0 ? sum : sum + view.weight[s]), 0);
  return builder.finish(cut);
}

/**
 * OPTIONS: inverted (bottom-up), wrappers (library code and allocator wrappers are shown), mergeRecursion, lines (frames of one function stay apart by line).
 */
export function buildTree(view, options = {}) {
  return options.inverted ? bottomUp(view, options) : topDown(view, options);
}

/** The options that the state means. */
export const treeOptions = (state) => ({
  inverted: state.get('inverted') === '1',
  wrappers: state.get('wrappers') === '1',
  mergeRecursion: state.get('again') !== '1',
  lines: state.get('lines') === '1',
});

const trees = new WeakMap();

/** The tree of a view; the same object as long as view and options are the same. */
export function treeOf(view, options = {}) {
  if (!trees.has(view)) trees.set(view, new Map());
  const known = trees.get(view),
    key = JSON.stringify(options);
  if (!known.has(key)) known.set(key, buildTree(view, options));
  return known.get(key);
}

/** Nodes from below the root to NODE. */
export function pathTo(tree, node) {
  const out = [];
  for (let n = node; n > 0; n = tree.parent[n]) out.unshift(n);
  return out;
}

/** Children, largest first. */
export function childrenOf(tree, node) {
  const out = [];
  for (let n = tree.firstChild[node]; n >= 0; n = tree.nextSibling[n]) out.push(n);
  return out;
}

export const nameOf = (tree, node) => (node === 0 ? 'all' : tree.recording.functionName(tree.frame[node]));
