// SPDX-License-Identifier: MIT
/*
 * stacked.js -- what was live over the run, divided by place, module or thread: the layers of the timeline.
 *
 * The largest are layers of their own, all others are one together, so that the layers of a slice add up to all that was live then.  Between two
 * slices that tell of sites some may tell of the sum only: there each layer goes from the one to the other as the sum does, and stays below it.
 */
import { folded, middle } from './format.js';
import { wantedSites } from './view.js';

export const LAYERS = 8;
/** A change of less than this part of the highest point is none that needs a name. */
export const LARGE = 20;
const NAME_COLUMNS = 32;
const SEVERAL = -2;

/** By site: the only thread that allocated there; SEVERAL when there were more. */
function threadsOfSites({ sites, shares }) {
  const thread = new Int32Array(sites.count).fill(-1);
  for (let i = 0; i < shares.count; i++) {
    const site = shares.site[i];
    if (!shares.allocs[i] || thread[site] === shares.thread[i]) continue;
    thread[site] = thread[site] === -1 ? shares.thread[i] : SEVERAL;
  }
  return thread;
}

const shortName = (name) => middle(folded(name, NAME_COLUMNS), NAME_COLUMNS);

/** What a site belongs to, and the name of that: here the function that stands for it. */
export function placesOfSites(recording) {
  const functionOf = (site) => {
    const frame = recording.siteFrame(site);
    return frame >= 0 ? recording.frames.function[frame] : -1;
  };
  return { of: functionOf, name: (f) => (f >= 0 ? shortName(recording.text(recording.functions.short[f]) || '(unknown)') : '(all others)') };
}

/** By way of dividing: what a site belongs to (a number or text), and the name of that. */
const DIVIDED = {
  place: placesOfSites,
  module(recording) {
    return { of: (site) => recording.moduleOf(recording.siteFrame(site)), name: (module) => middle(module, NAME_COLUMNS) || '(all others)' };
  },
  thread(recording) {
    const threads = threadsOfSites(recording);
    return {
      of: (site) => threads[site],
      name: (thread) => (thread === SEVERAL ? 'several threads' : thread < 0 ? '(all others)' : recording.threadLabel(thread)),
    };
  },
};

/** By site the number of its group, -1: not wanted; and the names of the groups. */
function groupSites(recording, by, mapped) {
  const { of, name } = DIVIDED[by](recording),
    wanted = wantedSites(recording, mapped),
    numbers = new Map(),
    names = [];
  const group = Int32Array.from({ length: recording.sites.count }, (_, site) => {
    if (!wanted[site]) return -1;
    const key = of(site);
    if (!numbers.has(key)) {
      numbers.set(key, names.length);
      names.push(name(key));
    }
    return numbers.get(key);
  });
  return { group, names };
}

/** Calls change(group, bytes more) for each change, and ended(slice) behind those of each slice. */
function pass(recording, group, change, ended) {
  const { changes, slices, sites } = recording,
    live = new Float64Array(sites.count);
  for (let slice = 0, i = 0; slice < slices.count; slice++) {
    for (; i < changes.count && changes.slice[i] === slice; i++) {
      const site = changes.site[i];
      if (group[site] >= 0) change(group[site], changes.live_bytes[i] - live[site]);
      live[site] = changes.live_bytes[i];
    }
    ended(slice);
  }
}

/** The groups that held the most at some moment, largest first. */
function largest(recording, group, count) {
  const sums = new Float64Array(count),
    most = new Float64Array(count);
  const touched = new Set();
  pass(
    recording,
    group,
    (g, more) => {
      sums[g] += more;
      touched.add(g);
    },
    () => {
      for (const g of touched) most[g] = Math.max(most[g], sums[g]);
      touched.clear();
    },
  );
  return Array.from({ length: count }, (_, g) => g)
    .filter((g) => most[g] > 0)
    .sort((a, b) => most[b] - most[a] || a - b);
}

/** By slice: 1 where it tells of sites. */
function toldSlices({ changes, slices }) {
  const told = new Uint8Array(slices.count);
  for (let i = 0; i < changes.count; i++) told[changes.slice[i]] = 1;
  return told;
}

/** Fills the slices of LAYERS that only have the sum (ALL, by slice).  Nothing changed where it is the same. */
function betweenTold(layers, all, told) {
  const sumAt = (slice) => layers.reduce((sum, one) => sum + one[slice], 0),
    isTold = Array.from(told, (yes, slice) => yes === 1 || sumAt(slice) === all[slice]);
  for (let slice = 0, before = -1; slice < all.length; slice++) {
    if (isTold[slice]) {
      before = slice;
      continue;
    }
    const next = isTold.indexOf(true, slice);
    if (next < 0) break;
    const from = before < 0 ? 0 : all[before],
      part = Math.max(0, Math.min(1, (all[slice] - from) / (all[next] - from || 1)));
    for (const one of layers) {
      const start = before < 0 ? 0 : one[before];
      one[slice] = start + part * (one[next] - start);
    }
    const sum = sumAt(slice);
    if (sum > all[slice]) for (const one of layers) one[slice] *= all[slice] / sum;
  }
}

/**
 * The layers, largest first and the rest last: [{ name, values (bytes by slice), rest }].  BY: place, module, thread; MAPPED: as in the
 * state.  Empty where the recording does not tell what each stack held over time.
 */
export function layersOf(recording, by, mapped) {
  if (!recording.changes.count || !DIVIDED[by]) return [];
  const { group, names } = groupSites(recording, by, mapped),
    order = largest(recording, group, names.length),
    own = order.slice(0, order.length > LAYERS + 1 ? LAYERS : LAYERS + 1),
    rest = order.length > own.length;
  const place = new Int32Array(names.length).fill(own.length),
    sums = new Float64Array(own.length + 1),
    values = Array.from({ length: own.length + 1 }, () => new Float64Array(recording.slices.count));
  own.forEach((g, i) => {
    place[g] = i;
  });
  pass(
    recording,
    group,
    (g, more) => {
      sums[place[g]] += more;
    },
    (slice) => values.forEach((one, i) => { one[slice] = Math.max(0, sums[i]); }),
  );
  betweenTold(values, slicesOf(recording, mapped).live_bytes, toldSlices(recording));
  const peaks = new Float64Array(own.length + 1);
  group.forEach((g, site) => {
    if (g >= 0) peaks[place[g]] += recording.sites.peak_bytes[site];
  });
  const layers = own.map((g, i) => ({ name: names[g], values: values[i], peak: peaks[i], rest: false }));
  return rest ? [...layers, { name: `${order.length - own.length} others`, values: values[own.length], peak: peaks[own.length], rest: true }] : layers;
}

/** By site: 1 where it is a mapping that counts beside the heap, or instead of it. */
const mappedOf = ({ sites }, mapped) => Uint8Array.from({ length: sites.count }, (_, s) => !sites.heap[s] && !(mapped === 'both' && sites.reserved[s]));

/**
 * What was live at the peak, which lies between two slices: { at (how many slices are before it), ms, live_bytes, live_blocks }; null where the slices
 * show it, or it is of something else (mmap alone).
 */
export function peakBetween(recording, mapped) {
  const { sites, totals } = recording,
    shown = slicesOf(recording, mapped).live_bytes,
    at = recording.sliceAt(totals.peak_ms) + 1;
  if (mapped === '1' || !totals.peak_bytes) return null;
  const beside = mapped ? mappedOf(recording, mapped) : [],
    more = (column) => beside.reduce((sum, yes, site) => sum + (yes ? column[site] : 0), 0),
    peak = { at, ms: totals.peak_ms, live_bytes: totals.peak_bytes + more(sites.peak_bytes), live_blocks: totals.peak_blocks + more(sites.peak_blocks) };
  return peak.live_bytes > Math.max(shown[at - 1] ?? 0, shown[at] ?? 0) ? peak : null;
}

/** VALUES (by slice) with VALUE at the peak; without one, what lies on the line between its neighbours. */
export function valuesWithPeak(values, ms, peak, value) {
  if (!peak) return values;
  const { at } = peak,
    [before, after] = [values[at - 1] ?? null, values[at] ?? null],
    part = (peak.ms - ms[at - 1]) / (ms[at] - ms[at - 1]),
    between = before === null || after === null ? null : before + (after - before) * part;
  return [...Array.prototype.slice.call(values, 0, at), value ?? between, ...Array.prototype.slice.call(values, at)];
}

/** The slices of what is wanted: those of the heap as they are, or with what the stacks of mappings add up to. */
export function slicesOf(recording, mapped) {
  const { slices, changes, sites } = recording;
  if (!mapped || !changes.count) return slices;
  const wanted = mappedOf(recording, mapped),
    keys = ['live_bytes', 'live_blocks', 'allocs', 'alloc_bytes'],
    sums = Object.fromEntries(keys.map((key) => [key, 0])),
    known = Object.fromEntries(keys.map((key) => [key, new Float64Array(sites.count)])),
    out = { ...slices, ...Object.fromEntries([...keys, 'frees'].map((key) => [key, new Float64Array(slices.count)])) };
  const heap = (key, slice) => (mapped === 'both' ? slices[key][slice] : 0);
  for (let slice = 0, i = 0; slice < slices.count; slice++) {
    for (; i < changes.count && changes.slice[i] === slice; i++) {
      const site = changes.site[i];
      for (const key of wanted[site] ? keys : []) {
        sums[key] += changes[key][i] - known[key][site];
        known[key][site] = changes[key][i];
      }
    }
    for (const key of keys) out[key][slice] = sums[key] + heap(key, slice);
    out.frees[slice] = sums.allocs - sums.live_blocks + heap('frees', slice);
  }
  return out;
}
