// SPDX-License-Identifier: MIT
// view.js -- which sites with which numbers the state means: the moment, the threads, the filter, the cost.
import { OF, costAt, costNamed } from './costs.js';
import { parseFilter, sitesNamed, sitesNumbered, threadsOf } from './filter.js';
import { momentOf, parseRange } from './moments.js';

const MOVING = ['live_bytes', 'live_blocks', 'allocs', 'alloc_bytes'];
const COLUMNS = [
  ...MOVING,
  'frees',
  'peak_blocks',
  'peak_bytes',
  'temporary',
  'lifetime_ms',
  'definite_blocks',
  'definite_bytes',
  'indirect_blocks',
  'indirect_bytes',
  'possible_blocks',
  'possible_bytes',
  'reachable_blocks',
  'reachable_bytes',
  'lost_blocks',
  'lost_bytes',
];
/** Keys of the state that a view depends on. */
export const VIEW_KEYS = ['at', 'range', 'filter', 'thread', 'size', 'life', 'cost', 'mapped'];

const slices = new WeakMap();

/** Where the changes of each slice begin: count + 1 entries. */
function sliceStarts(recording) {
  const {
      changes,
      slices: { count },
    } = recording,
    starts = new Int32Array(count + 1);
  for (let i = 0; i < changes.count; i++) starts[changes.slice[i] + 1]++;
  for (let i = 0; i < count; i++) starts[i + 1] += starts[i];
  return starts;
}

/** Cumulative numbers of all sites at the end of slice number SLICE (-1: before the first).  Not to be written to. */
export function columnsAt(recording, slice) {
  if (!slices.has(recording)) slices.set(recording, { starts: sliceStarts(recording), known: new Map() });
  const { starts, known } = slices.get(recording),
    { changes, sites } = recording;
  if (known.has(slice)) return known.get(slice);
  const before = Math.max(-1, ...[...known.keys()].filter((k) => k < slice));
  const out = Object.fromEntries(MOVING.map((key) => [key, known.has(before) ? known.get(before)[key].slice() : new Float64Array(sites.count)]));
  for (let i = starts[before + 1] ?? 0, end = starts[slice + 1] ?? 0; i < end; i++) {
    for (const key of MOVING) out[key][changes.site[i]] = changes[key][i];
  }
  if (known.size > 8) known.delete(known.keys().next().value);
  known.set(slice, out);
  return out;
}

const courses = new WeakMap();

/** How sites went together: {ms, live_bytes, live_blocks, allocs} with one entry per slice. */
export function courseOf(recording, ...together) {
  const {
    changes,
    slices: { count, ms },
    sites,
  } = recording;
  if (!courses.has(recording)) {
    const first = new Int32Array(sites.count + 1),
      order = new Int32Array(changes.count);
    for (let i = 0; i < changes.count; i++) first[changes.site[i] + 1]++;
    for (let i = 0; i < sites.count; i++) first[i + 1] += first[i];
    const next = first.slice();
    for (let i = 0; i < changes.count; i++) order[next[changes.site[i]]++] = i;
    courses.set(recording, { first, order });
  }
  const { first, order } = courses.get(recording);
  const out = { ms, live_bytes: new Float64Array(count), live_blocks: new Float64Array(count), allocs: new Float64Array(count) };
  for (const site of together)
    for (const key of ['live_bytes', 'live_blocks', 'allocs'])
      for (let k = first[site]; k < first[site + 1]; k++) {
        const end = k + 1 < first[site + 1] ? changes.slice[order[k + 1]] : count;
        for (let slice = changes.slice[order[k]]; slice < end; slice++) out[key][slice] += changes[key][order[k]];
      }
  return out;
}

const runs = new WeakMap();

/** Not to be written to, but may get other columns. */
function columnsOfRun(recording) {
  if (!runs.has(recording)) runs.set(recording, makeColumnsOfRun(recording.sites));
  return { ...runs.get(recording) };
}

function makeColumnsOfRun(sites) {
  const out = Object.fromEntries(COLUMNS.filter((key) => sites[key]).map((key) => [key, sites[key]]));
  out.lost_blocks = sites.definite_blocks.map((n, i) => n + sites.indirect_blocks[i]);
  out.lost_bytes = sites.definite_bytes.map((n, i) => n + sites.indirect_bytes[i]);
  return out;
}

function zeroColumns(count) {
  const zero = new Float64Array(count);
  return Object.fromEntries(COLUMNS.map((key) => [key, zero]));
}

function columnsOfMoment(recording, moment) {
  const out = zeroColumns(recording.sites.count);
  const to = columnsAt(recording, moment.end);
  const from = moment.of === OF.RANGE ? columnsAt(recording, moment.start) : null;
  for (const key of MOVING) out[key] = from ? to[key].map((n, i) => n - from[key][i]) : to[key];
  out.frees = out.allocs.map((n, i) => n - out.live_blocks[i]);
  return out;
}

/** Calls by what each thread did, live numbers by the blocks it made. */
function columnsOfThreads(recording, wanted) {
  const { shares, sites } = recording,
    out = zeroColumns(sites.count);
  for (const key of [...MOVING, 'frees', 'temporary']) {
    out[key] = new Float64Array(sites.count);
    for (let i = 0; i < shares.count; i++) if (wanted[shares.thread[i]]) out[key][shares.site[i]] += shares[key][i];
  }
  return out;
}

function wantedThreads(recording, state, terms) {
  const one = state.get('thread'),
    named = threadsOf(recording, terms);
  if (one === '') return named;
  return Uint8Array.from({ length: recording.threads.count }, (_, t) => t === Number(one) && (!named || named[t]));
}

/** Brushes over what a site's blocks are like on average. */
function brush(mask, state, columns) {
  const size = parseRange(state.get('size')),
    life = parseRange(state.get('life'));
  for (let s = 0; s < mask.length && (size || life); s++) {
    const average = columns.alloc_bytes[s] / columns.allocs[s],
      lifetime = columns.lifetime_ms[s] / columns.frees[s];
    if (size && !(average >= size[0] && average < size[1])) mask[s] = 0;
    if (life && !(lifetime >= life[0] && lifetime < life[1])) mask[s] = 0;
  }
}

/**
 * By site: 1 where it is of the kind of memory that is wanted.  MAPPED, as in the state: '' the heap, '1' mappings, 'both', without address space of which
 * little was used.
 */
export function wantedSites({ sites }, mapped) {
  return Uint8Array.from({ length: sites.count }, (_, s) => (mapped === 'both' ? !sites.reserved[s] : Boolean(sites.heap[s]) === (mapped !== '1')));
}

/** Whether there are mappings to be chosen. */
export const hasMapped = ({ sites }) => sites.heap.some((heap, s) => !heap && sites.allocs[s] > 0);

function select(recording, state, moment, columns, terms, cost) {
  const { sites } = recording,
    mask = sitesNamed(recording, terms),
    run = columnsOfRun(recording);
  const wanted = wantedSites(recording, state.get('mapped'));
  for (let s = 0; s < sites.count; s++) if (!wanted[s]) mask[s] = 0;
  brush(mask, state, run);
  sitesNumbered(mask, terms, (s) => ({
    size: cost.bytes ? columns[cost.bytes][s] : 0,
    count: columns[cost.count][s],
    calls: columns.allocs[s],
    average: run.allocs[s] ? run.alloc_bytes[s] / run.allocs[s] : 0,
    lifetime: run.frees[s] ? run.lifetime_ms[s] / run.frees[s] : 0,
  }));
  return mask;
}

function masked(values, mask) {
  const out = new Float64Array(mask.length);
  for (let s = 0; s < mask.length; s++) if (mask[s]) out[s] = values[s];
  return out;
}

const NOT_KNOWN = { [OF.THREADS]: 'by thread', [OF.RANGE]: 'of a range', [OF.TIME]: 'of a moment', [OF.PEAK]: 'of the peak', [OF.RUN]: 'of this recording' };

/** What the numbers do not say by themselves. */
function notesOf(moment, threads, cost, wished) {
  const notes = [];
  if (wished && wished !== cost.id)
    notes.push(`“${costNamed(wished)?.short ?? wished}” is not known ${NOT_KNOWN[moment.of]}: shown is “${cost.short}”.`);
  if (moment.of === OF.RANGE && cost.id === 'live')
    notes.push('How much more was live at the end of the range than at its start; what became less is not drawn.');
  if (threads && moment.of !== OF.THREADS)
    notes.push('Numbers of a moment are not known by thread: these are the stacks in which the thread allocated, with what all threads did there.');
  return notes;
}

function make(recording, state) {
  const filter = parseFilter(state.get('filter'));
  const moment = momentOf(recording, state),
    threads = wantedThreads(recording, state, filter.terms);
  const still = recording.fixed; // on-demand data: the sites are of then already
  const columns = still
    ? columnsOfRun(recording)
    : moment.of === OF.RANGE || moment.of === OF.TIME
      ? columnsOfMoment(recording, moment)
      : threads && moment.of === OF.RUN
        ? columnsOfThreads(recording, threads)
        : columnsOfRun(recording);
  if (moment.of === OF.PEAK && !still) {
    columns.live_bytes = columns.peak_bytes;
    columns.live_blocks = columns.peak_blocks;
  }
  if (threads && moment.of === OF.RUN) moment.of = OF.THREADS;
  const cost = costAt(recording, state.get('cost'), moment.of);
  const included = select(recording, state, moment, columns, filter.terms, cost);
  if (threads && moment.of !== OF.THREADS) keepSitesOf(recording, threads, included);
  const zero = new Float64Array(recording.sites.count);
  const bytes = cost.bytes ? masked(columns[cost.bytes], included) : zero,
    count = masked(columns[cost.count], included);
  const value = cost.unit === 'bytes' ? bytes : count;
  return new View({
    recording,
    moment,
    threads,
    cost,
    columns,
    included,
    bytes,
    count,
    value,
    filterError: filter.error,
    notes: notesOf(moment, threads, cost, state.get('cost')),
  });
}

/** At a moment numbers by thread are not known; what is shown are the stacks in which the threads allocated. */
function keepSitesOf(recording, threads, included) {
  const { shares } = recording,
    met = new Uint8Array(included.length);
  for (let i = 0; i < shares.count; i++) if (threads[shares.thread[i]]) met[shares.site[i]] = 1;
  for (let s = 0; s < included.length; s++) if (!met[s]) included[s] = 0;
}

/**
 * What a page shows.  By site: included (1 or 0), bytes and count of the chosen cost, value (the one of both that shares go by),
 * weight (value, but never below 0) and columns (all costs, of all sites).  threads: by thread, 1 where it is wanted; null: all.
 */
export class View {
  #totals;
  #order;

  constructor(fields) {
    Object.assign(this, fields);
    this.weight = this.value.map((n) => (n > 0 ? n : 0));
  }

  /** Sums over the included sites, by column; and bytes, count, value, weight of the chosen cost. */
  get totals() {
    if (this.#totals) return this.#totals;
    const sum = (values) => {
      let total = 0;
      for (let s = 0; s < values.length; s++) if (this.included[s]) total += values[s];
      return total;
    };
    this.#totals = Object.fromEntries(Object.entries(this.columns).map(([key, values]) => [key, sum(values)]));
    for (const key of ['bytes', 'count', 'value', 'weight']) this.#totals[key] = sum(this[key]);
    return this.#totals;
  }

  /** The N sites with the largest value above 0, without sorting all. */
  top(n) {
    const { value } = this,
      best = [];
    for (let s = 0; s < value.length; s++) {
      if (!(value[s] > 0) || (best.length === n && value[s] <= value[best[n - 1]])) continue;
      let at = best.length < n ? best.length : n - 1;
      for (; at > 0 && value[best[at - 1]] < value[s]; at--) best[at] = best[at - 1];
      best[at] = s;
    }
    return best;
  }

  /** Sites with a value, largest first. */
  get order() {
    if (!this.#order) {
      const { value } = this,
        sites = [];
      for (let s = 0; s < value.length; s++) if (value[s] !== 0) sites.push(s);
      this.#order = Int32Array.from(sites).sort((a, b) => value[b] - value[a] || a - b);
    }
    return this.#order;
  }
}

const views = new WeakMap();

/** The view that STATE means; the same object as long as nothing changes. */
export function view(recording, state) {
  if (!views.has(recording)) views.set(recording, new Map());
  const known = views.get(recording),
    key = state.key(...VIEW_KEYS);
  if (!known.has(key)) {
    if (known.size > 4) known.delete(known.keys().next().value);
    known.set(key, make(recording, state));
  }
  return known.get(key);
}

/** The view of the same choice but another cost, for lists of several costs. */
export function viewOfCost(recording, state, cost) {
  const other = {
    get: (key) => (key === 'cost' ? cost : state.get(key)),
    key: (...keys) => JSON.stringify(keys.map((k) => (k === 'cost' ? cost : state.get(k)))),
  };
  return view(recording, other);
}
