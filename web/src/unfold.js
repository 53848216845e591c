// SPDX-License-Identifier: MIT
// unfold.js -- the rows of a call tree of which some nodes are open: for tables that fold.
import { rowOf } from './explain.js';
import { childrenOf, nameOf, pathTo } from './tree.js';

const MAX_ROWS = 200_000;

export class Unfolded {
  #rows = [];

  constructor(tree) {
    this.tree = tree;
    this.open = new Set([0]);
  }

  /** { node, level, leaf, name, place, self, total ... }; the same object each time. */
  row(node) {
    if (!this.#rows[node]) {
      const { tree } = this, place = tree.recording.placeOf(tree.frame[node]);
      this.#rows[node] = { node, level: tree.depth[node], leaf: tree.firstChild[node] < 0, name: nameOf(tree, node), place, ...rowOf(tree, node) };
    }
    return this.#rows[node];
  }

  isOpen(row) {
    return this.open.has(row.node);
  }

  toggle(row) {
    if (this.open.has(row.node)) this.open.delete(row.node); else if (!row.leaf) this.open.add(row.node);
  }

  /** Opens the largest ones until about COUNT rows are there, and none with less than a hundredth of all. */
  openLargest(count) {
    const waiting = childrenOf(this.tree, 0);
    let rows = waiting.length;
    while (waiting.length && rows < count) {
      let best = 0;
      for (let i = 1; i < waiting.length; i++) if (this.tree.total[waiting[i]] > this.tree.total[waiting[best]]) best = i;
      if (this.tree.total[waiting[best]] < this.tree.total[0] / 100) break;
      const [node] = waiting.splice(best, 1), children = childrenOf(this.tree, node);
      if (!children.length || rows + children.length > 2 * count) continue;
      this.open.add(node);
      waiting.push(...children);
      rows += children.length;
    }
  }

  openPath(node) {
    for (const n of pathTo(this.tree, node)) if (n !== node) this.open.add(n);
  }

  openAll() {
    for (let n = 0; n < Math.min(this.tree.count, MAX_ROWS); n++) if (this.tree.firstChild[n] >= 0) this.open.add(n);
  }

  closeAll() {
    this.open = new Set([0]);
  }

  /** The rows that can be seen, in order; COMPARE orders siblings, null: as the tree has them. */
  rows(compare = null) {
    const rows = [], stack = this.#children(0, compare).reverse();
    while (stack.length && rows.length < MAX_ROWS) {
      const row = stack.pop();
      rows.push(row);
      if (this.open.has(row.node)) stack.push(...this.#children(row.node, compare).reverse());
    }
    return rows;
  }

  #children(node, compare) {
    const rows = childrenOf(this.tree, node).map((n) => this.row(n));
    return compare ? rows.sort(compare) : rows;
  }
}

/** The node of a tree from main inwards where a stack of the recording ends; as near as the tree has it. */
export function nodeOfStack(tree, recordingNode) {
  const { recording } = tree, path = recording.framesOf(recordingNode).reverse();
  let at = 0;
  for (const frame of path) {
    const found = childrenOf(tree, at).find((n) => tree.function[n] === recording.frames.function[frame]);
    if (found === undefined) break;
    at = found;
  }
  return at;
}
