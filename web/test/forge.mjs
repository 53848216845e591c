// SPDX-License-Identifier: MIT
// forge.mjs -- what forged recordings are made with: numbers, texts, columns.

/** A small generator of numbers: the same on every machine. */
export function generator(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export class Texts {
  list = [];
  #known = new Map();

  of(text) {
    if (text === null) return -1;
    if (!this.#known.has(text)) this.#known.set(text, this.list.push(text) - 1);
    return this.#known.get(text);
  }
}

/** Rows of objects -> columns. */
export function columns(names, rows) {
  const out = { count: rows.length };
  for (const name of names.split(' ')) out[name] = rows.map((row) => row[name] ?? 0);
  return out;
}

export const SITE_COLUMNS =
  'id node kind heap allocs frees alloc_bytes live_blocks live_bytes peak_blocks peak_bytes temporary lifetime_ms growth growth_bytes_per_hour ' +
  'definite_blocks definite_bytes indirect_blocks indirect_bytes possible_blocks possible_bytes reachable_blocks reachable_bytes';

export const sum = (rows, key) => rows.reduce((total, row) => total + (row[key] ?? 0), 0);
