// SPDX-License-Identifier: MIT
/*
 * differ.js -- two views as one tree and as rows: what is new, gone, more, less.
 *
 * Stacks are the same when their functions have the same names, from main inwards; so two recordings can be compared, of
 * other builds too.  A frame is as wide as the larger one of both sides, so what is gone can be seen as well.
 */
import { Children, link, treeOf } from './tree.js';

/** A state with other values for some keys. */
export function stateWith(state, changes) {
  const get = (key) => changes[key] ?? state.get(key);
  return { get, key: (...keys) => JSON.stringify(keys.map(get)) };
}

const SIDES = ['before', 'after'];

class Merger {
  constructor(room) {
    this.count = 1;
    this.names = new Map();
    this.children = new Children(room);
    this.parent = new Int32Array(room).fill(-1);
    this.key = new Int32Array(room).fill(-1); // by node: the number of its name
    this.frame = SIDES.map(() => new Int32Array(room).fill(-1));
    this.self = SIDES.map(() => new Float64Array(room));
    this.total = SIDES.map(() => new Float64Array(room));
    this.calls = SIDES.map(() => new Float64Array(room));
    this.selfCalls = SIDES.map(() => new Float64Array(room));
  }

  /** The number of a name. */
  numberOf(name) {
    if (!this.names.has(name)) this.names.set(name, this.names.size);
    return this.names.get(name);
  }

  child(parent, key) {
    const slot = this.children.find(this, parent, key), { slots } = this.children;
    if (slots[slot] >= 0) return slots[slot];
    const node = this.count++;
    slots[slot] = node;
    this.parent[node] = parent;
    this.key[node] = key;
    return node;
  }

  add(tree, side) {
    const { recording } = tree, at = new Int32Array(tree.count), keys = new Int32Array(recording.frames.count).fill(-1);
    const keyOf = (frame) => {
      if (frame < 0) return this.numberOf(recording.functionFullName(frame));
      if (keys[frame] < 0) keys[frame] = this.numberOf(recording.functionFullName(frame));
      return keys[frame];
    };
    for (let n = 0; n < tree.count; n++) {
      if (n > 0) at[n] = this.child(at[tree.parent[n]], keyOf(tree.frame[n]));
      if (this.frame[side][at[n]] < 0) this.frame[side][at[n]] = tree.frame[n];
      this.self[side][at[n]] += tree.self[n];
      this.total[side][at[n]] += tree.total[n];
      this.calls[side][at[n]] += tree.calls[n];
      this.selfCalls[side][at[n]] += tree.calls[n];
      if (n > 0) this.selfCalls[side][at[tree.parent[n]]] -= tree.calls[n];
    }
  }

  finish(recordings) {
    const part = (array) => array.slice(0, this.count);
    const total = new Float64Array(this.count);
    for (let n = this.count - 1; n >= 0; n--) {
      total[n] += Math.max(this.self[0][n], this.self[1][n]);
      if (n > 0) total[this.parent[n]] += total[n];
    }
    const names = [...this.names.keys()];
    const tree = { count: this.count, recordings, parent: part(this.parent), name: Array.from(part(this.key), (key) => names[key] ?? null), total };
    for (const key of ['frame', 'self', 'calls', 'selfCalls']) tree[key] = this[key].map(part);
    tree.sides = this.total.map(part);
    link(tree);
    return tree;
  }
}

/**
 * The tree of both views.  By node: total (its width), sides[0] and sides[1] (total before and after), self, calls, frame (of
 * the recording of that side, -1: not there); pairs, before first.
 */
export function mergeTrees(before, after, options) {
  const trees = [before, after].map((view) => treeOf(view, options));
  const merger = new Merger(trees[0].count + trees[1].count);
  trees.forEach((tree, side) => merger.add(tree, side));
  return merger.finish(trees.map((tree) => tree.recording));
}

export const changeOf = (tree, node) => tree.sides[1][node] - tree.sides[0][node];

/** The frame of a node and the recording that it is in; the newer one where both have it. */
export function frameOf(tree, node) {
  const side = tree.frame[1][node] >= 0 ? 1 : 0;
  return { recording: tree.recordings[side], frame: tree.frame[side][node] };
}

/** How much a change is, from -3 to 3: the part of the larger side. */
export function degreeOf(tree, node) {
  const change = changeOf(tree, node), size = Math.max(tree.sides[0][node], tree.sides[1][node]);
  if (!change || !size) return 0;
  const part = Math.abs(change) / size;
  return Math.sign(change) * (part < 0.1 ? 1 : part < 0.5 ? 2 : 3);
}

/** Stacks that differ, largest change first: { node, status: new|gone|more|less, before, after, change, calls }. */
export function changedStacks(tree) {
  const rows = [];
  for (let node = 1; node < tree.count; node++) {
    const before = tree.self[0][node], after = tree.self[1][node], change = after - before;
    const calls = tree.selfCalls[1][node] - tree.selfCalls[0][node];
    if (!change) continue;
    const status = !before ? 'new' : !after ? 'gone' : change > 0 ? 'more' : 'less';
    rows.push({ node, status, before, after, change, calls });
  }
  return rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || a.node - b.node);
}
