// SPDX-License-Identifier: MIT
/*
 * flame-layout.js -- where the frames of a call tree lie, without drawing them.
 *
 * Nodes get places, level by level: the children of a node are neighbours, widest first, so what can be seen is found by
 * binary search, and after the first child that is too narrow to be seen all others are too.
 */
import { textMatcher } from './filter.js';
import { folded } from './format.js';

const KNOWN_TEXTS = 20000;

/** tree: as tree.js makes it, siblings by falling total.  Children without width have no place. */
export function place(tree) {
  const places = {
    count: 1,
    node: new Int32Array(tree.count),
    placeOf: new Int32Array(tree.count).fill(-1),
    parent: new Int32Array(tree.count).fill(-1),
    depth: new Int32Array(tree.count),
    begin: new Float64Array(tree.count),
    width: new Float64Array(tree.count),
    first: new Int32Array(tree.count),
    last: new Int32Array(tree.count),
    height: new Int32Array(tree.count),
  };
  if (tree.count === 0) return { ...places, count: 0 };
  places.placeOf[0] = 0;
  places.width[0] = tree.total[0];
  for (let at = 0; at < places.count; at++) placeChildren(tree, places, at);
  for (let at = places.count - 1; at > 0; at--) {
    const up = places.parent[at];
    places.height[up] = Math.max(places.height[up], places.height[at] + 1);
  }
  return places;
}

function placeChildren(tree, places, at) {
  let begin = places.begin[at];
  places.first[at] = places.count;
  for (let node = tree.firstChild[places.node[at]]; node >= 0 && tree.total[node] > 0; node = tree.nextSibling[node]) {
    const child = places.count++;
    places.node[child] = node;
    places.placeOf[node] = child;
    places.parent[child] = at;
    places.depth[child] = places.depth[at] + 1;
    places.begin[child] = begin;
    places.width[child] = tree.total[node];
    begin += tree.total[node];
  }
  places.last[at] = places.count;
}

/** The first of the places from..to that ends right of x. */
export function firstEndingAfter(places, from, to, x) {
  let low = from, high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places.begin[middle] + places.width[middle] > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Calls seen(place, x, width) for each frame of the rows from..to that is at least `narrow` pixels wide, and
 * rest(place, x, width) for the narrow children of a place, together.  window: { left, right } in the units of the tree.
 */
export function visit(places, { window, pixels, rows, narrow }, seen, rest) {
  if (!places.count || !(window.right > window.left)) return;
  const scale = pixels / (window.right - window.left);
  const stack = [0];
  while (stack.length) {
    const at = stack.pop();
    const left = Math.max(0, (places.begin[at] - window.left) * scale);
    const right = Math.min(pixels, (places.begin[at] + places.width[at] - window.left) * scale);
    if (places.depth[at] >= rows.from) seen(at, left, right - left);
    if (places.depth[at] + 1 >= rows.to) continue;
    const end = places.last[at];
    for (let child = firstEndingAfter(places, places.first[at], end, window.left); child < end; child++) {
      if (places.begin[child] >= window.right) break;
      if (places.width[child] * scale < narrow) {
        visitRest(places, at, child, { window, pixels, scale, rows, narrow }, rest);
        break;
      }
      stack.push(child);
    }
  }
}

function visitRest(places, at, child, { window, pixels, scale, rows, narrow }, rest) {
  const last = places.last[at] - 1;
  const left = Math.max(0, (places.begin[child] - window.left) * scale);
  const right = Math.min(pixels, (places.begin[last] + places.width[last] - window.left) * scale);
  if (right - left >= narrow && places.depth[at] + 1 >= rows.from) rest(at, left, right - left);
}

/** The place at depth and x (in the units of the tree), or -1. */
export function placeAt(places, x, depth) {
  if (!places.count || x < 0 || x >= places.width[0] || depth < 0) return -1;
  let at = 0;
  while (places.depth[at] < depth) {
    const child = firstEndingAfter(places, places.first[at], places.last[at], x);
    if (child >= places.last[at]) return -1;
    at = child;
  }
  return at;
}

/**
 * Where an arrow leads: "parent", "child", "left" or "right" (along the row, inside of the window); the same place where
 * it leads nowhere.
 */
export function neighbour(places, at, direction, window) {
  if (direction === 'parent') return Math.max(places.parent[at], 0);
  if (direction === 'child') {
    const child = firstEndingAfter(places, places.first[at], places.last[at], window.left);
    return child < places.last[at] && places.begin[child] < window.right ? child : at;
  }
  const beside = direction === 'left' ? at - 1 : at + 1;
  const there = beside >= 0 && beside < places.count && places.depth[beside] === places.depth[at]
    && places.begin[beside] + places.width[beside] > window.left && places.begin[beside] < window.right;
  return there ? beside : at;
}

/** From what a user types (as in the filter box: plain, or /regular expression/) to a test of a label; null: nothing to search. */
export function matcher(search) {
  const text = search.trim();
  try {
    return text ? textMatcher(text) : null;
  } catch {
    return () => false;
  }
}

/**
 * Which places match, and how much they are together: a match below another match is in that one already.
 * The label of each group (same key, same label) is tested once.
 */
export function search(places, test, key, label) {
  const found = { matches: new Uint8Array(places.count), frames: 0, total: 0 };
  const known = new Map();
  const covered = new Uint8Array(places.count);
  for (let at = 0; at < places.count; at++) {
    const up = places.parent[at];
    covered[at] = up >= 0 && (covered[up] || found.matches[up]) ? 1 : 0;
    if (at > 0 && matchOnce(known, test, key(places.node[at]), () => label(places.node[at]))) {
      found.matches[at] = 1;
      found.frames++;
      if (!covered[at]) found.total += places.width[at];
    }
  }
  return found;
}

function matchOnce(known, test, key, label) {
  let answer = known.get(key);
  if (answer === undefined) {
    answer = test(label());
    known.set(key, answer);
  }
  return answer;
}

/** Texts cut to a width in pixels, names without their template arguments first; what was measured once is remembered. */
export function textFitter(measure) {
  const widths = new Map();
  const widthOf = (text) => {
    let width = widths.get(text);
    if (width === undefined) {
      if (widths.size >= KNOWN_TEXTS) widths.clear();
      width = measure(text);
      widths.set(text, width);
    }
    return width;
  };
  return (whole, room) => {
    if (widthOf(whole) <= room) return whole;
    const text = folded(whole, 1),
      width = widthOf(text);
    if (width <= room) return text;
    let keep = Math.floor(text.length * room / width);
    while (keep > 1) {
      const cut = `${text.slice(0, keep - 1)}…`;
      if (widthOf(cut) <= room) return cut;
      keep--;
    }
    return '';
  };
}
