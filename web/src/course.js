// SPDX-License-Identifier: MIT
// course.js -- how much a site held over time.
//
// The changes of a recording are sorted by slice; here they are found by site.  A course is a staircase: what it says of one moment holds
// until the next.

const indices = new WeakMap();

/** The changes by site: those of site s are order[first[s]] ... order[first[s + 1] - 1], in order of time. */
function indexOf(recording) {
  let index = indices.get(recording);
  if (!index) indices.set(recording, (index = makeIndex(recording.changes, recording.sites.count)));
  return index;
}

function makeIndex(changes, sites) {
  const first = new Uint32Array(sites + 1);
  const order = new Uint32Array(changes.count);
  for (let i = 0; i < changes.count; i++) first[changes.site[i] + 1]++;
  for (let site = 0; site < sites; site++) first[site + 1] += first[site];
  const next = first.slice();
  for (let i = 0; i < changes.count; i++) order[next[changes.site[i]]++] = i;
  return { first, order };
}

/** The course of one site, or of several together: { ms, bytes, blocks }, arrays of one length. */
export function course(recording, sites) {
  const { slices, changes } = recording;
  const list = typeof sites === 'number' ? [sites] : sites;
  const { first, order } = indexOf(recording);
  const steps = new Map(); // slice: [bytes, blocks] that it adds
  for (const site of list) {
    let bytes = 0;
    let blocks = 0;
    for (let at = first[site]; at < first[site + 1]; at++) {
      const change = order[at];
      const step = steps.get(changes.slice[change]) ?? [0, 0];
      step[0] += changes.live_bytes[change] - bytes;
      step[1] += changes.live_blocks[change] - blocks;
      steps.set(changes.slice[change], step);
      bytes = changes.live_bytes[change];
      blocks = changes.live_blocks[change];
    }
  }
  return sum(slices, [...steps.entries()].sort((a, b) => a[0] - b[0]));
}

function sum(slices, steps) {
  const out = { ms: [], bytes: [], blocks: [] };
  let bytes = 0;
  let blocks = 0;
  for (const [slice, step] of steps) {
    bytes += step[0];
    blocks += step[1];
    out.ms.push(slices.ms[slice]);
    out.bytes.push(bytes);
    out.blocks.push(blocks);
  }
  return out;
}

/** What a course says of a moment: { bytes, blocks }. */
export function courseAt(steps, ms) {
  let low = 0;
  let high = steps.ms.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps.ms[middle] <= ms) low = middle + 1;
    else high = middle;
  }
  return low ? { bytes: steps.bytes[low - 1], blocks: steps.blocks[low - 1] } : { bytes: 0, blocks: 0 };
}

/** The most bytes in each of `parts` equal parts of the time from..to, for a small line. */
export function courseLine(steps, from, to, parts) {
  const line = new Array(parts).fill(0);
  const width = (to - from) / parts || 1;
  let at = 0;
  let now = 0;
  for (let part = 0; part < parts; part++) {
    const end = from + width * (part + 1);
    let most = now;
    while (at < steps.ms.length && (steps.ms[at] < end || part === parts - 1)) {
      if (steps.ms[at] > to) break;
      now = steps.bytes[at++];
      if (steps.ms[at - 1] >= from) most = Math.max(most, now);
      else most = now;
    }
    line[part] = most;
  }
  return line;
}
