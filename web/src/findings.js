// SPDX-License-Identifier: MIT
// findings.js -- what the pages Owners, Temporaries, Threads, Mappings and Source work out before they draw.
import { advice, innerNames } from './advice.js';
import { OF } from './costs.js';
import { bytes, count, number, share } from './format.js';

/**
 * Which sites a list shows that has numbers of the whole run only: those that pass the filters and allocated in the chosen range, by the
 * chosen moment, or in the chosen thread.
 */
export function keeper(view) {
  return (site) => Boolean(view.included[site]) && view.columns.allocs[site] > 0;
}

/** The frame from which the function of a site was called, passing over libraries; -1: none. */
export function callerOf(recording, site) {
  const name = recording.functionName(recording.siteFrame(site));
  const others = recording.framesOf(recording.sites.node[site]).filter((frame) => recording.isOwn(frame));
  return others.find((frame) => recording.functionName(frame) !== name) ?? -1;
}

// ---- owners ----

const TILES = 40;

/** Rows that are no owner: what several keep together, what nobody keeps, ... */
const SUMS = {
  others: 'together',
  shared: 'no one of them alone keeps it',
  lost: 'see Leaks',
  ignored: 'ignored on request (SEEP_IGNORE)',
};

/** Rows of owners (largest first, as they are in the data), rows of sums, and the bytes of all. */
export function ownerRows(recording) {
  const { owners } = recording,
    rows = Array.from({ length: owners.count }, (_, i) => i).filter((i) => owners.retained_blocks[i] > 0 || owners.retained_bytes[i] > 0);
  const isSum = (i) => recording.text(owners.kind[i]) in SUMS;
  return { rows: rows.filter((i) => !isSum(i)), sums: rows.filter(isSum), whole: rows.reduce((sum, i) => sum + owners.retained_bytes[i], 0) };
}

/** By row of an owner: what it keeps by the function that allocated it, largest first: [{ name, bytes }]. */
function placesOfOwners(recording) {
  const { holdings } = recording,
    sums = new Map();
  for (let i = 0; i < holdings.count; i++) {
    const places = sums.get(holdings.owner[i]) ?? new Map(),
      name = holdings.site[i] >= 0 ? recording.siteName(holdings.site[i]) : '(all others)';
    places.set(name, (places.get(name) ?? 0) + holdings.bytes[i]);
    sums.set(holdings.owner[i], places);
  }
  const listed = ([owner, places]) => [owner, [...places].map(([name, size]) => ({ name, bytes: size })).sort((a, b) => b.bytes - a.bytes)];
  return new Map([...sums].map(listed));
}

/** The largest, all the smaller ones together, and what is no owner, largest first, so that they add up to the whole; row: of "owners", or -1. */
export function ownerTiles(recording) {
  const { owners } = recording,
    { rows, sums, whole } = ownerRows(recording);
  const tile = (i) => ({
    name: recording.text(owners.name[i]) || '(no name)',
    kind: recording.text(owners.kind[i]),
    about: SUMS[recording.text(owners.kind[i])] ?? [recording.text(owners.kind[i]), recording.text(owners.where[i])].filter(Boolean).join(', '),
    bytes: owners.retained_bytes[i],
    row: i,
  });
  const parts = placesOfOwners(recording);
  const small = rows.slice(TILES),
    tiles = [...rows.slice(0, TILES), ...sums].map((i) => ({ ...tile(i), parts: parts.get(i) ?? [] }));
  if (small.length)
    tiles.push({
      name: count(small.length, 'more owner'),
      kind: 'others',
      about: 'together',
      bytes: small.reduce((sum, i) => sum + owners.retained_bytes[i], 0),
      row: -1,
      parts: [],
    });
  return { tiles: tiles.sort((a, b) => b.bytes - a.bytes), whole };
}

// ---- temporaries ----

const WORTH_A_LOOK = 0.2; // of all allocations
const PER_SECOND = 1000;

/** Places with temporary allocations, most first: { site (that with most), sites, temporary, allocs, average }. */
export function temporaryRows(recording, view) {
  const { sites } = recording,
    keep = keeper(view);
  const byThread = view.moment.of === OF.THREADS;
  const temporary = byThread ? view.columns.temporary : sites.temporary,
    allocs = byThread ? view.columns.allocs : sites.allocs,
    all = byThread ? view.columns.alloc_bytes : sites.alloc_bytes;
  const places = new Map();
  for (let site = 0; site < sites.count; site++) {
    if (!keep(site) || !temporary[site]) continue;
    const key = recording.placeKey(site),
      row = places.get(key) ?? { site, sites: [], temporary: 0, allocs: 0, bytes: 0 };
    if (temporary[site] > temporary[row.site]) row.site = site;
    row.sites.push(site);
    row.temporary += temporary[site];
    row.allocs += allocs[site];
    row.bytes += all[site];
    places.set(key, row);
  }
  return [...places.values()].map((row) => ({ ...row, average: row.bytes / row.allocs })).sort((a, b) => b.temporary - a.temporary || a.site - b.site);
}

/** What kinds of temporaries there are: rows by advice, most first. */
export function temporaryKinds(recording, rows) {
  const kinds = new Map();
  for (const row of rows) {
    row.advice = advice(innerNames(recording, row.site), recording.kindOf(row.site), row.average);
    const kind = kinds.get(row.advice.id) ?? { ...row.advice, temporary: 0, places: 0 };
    kind.temporary += row.temporary;
    kind.places++;
    kinds.set(kind.id, kind);
  }
  return [...kinds.values()].sort((a, b) => b.temporary - a.temporary);
}

/** Whether it matters, in a sentence. */
export function temporaryVerdict(part, seconds) {
  if (seconds > 0 && part.temporary / seconds < PER_SECOND)
    return 'That is too few each second to cost time: nothing to do unless this code is in a hurry.';
  if (part.temporary / part.allocs < WORTH_A_LOOK) return 'A small part: there is little to be had here.';
  return 'Each costs time in the allocator, and none needs to be there: start with the first rows.';
}

// ---- threads ----

/** Threads that did something: { thread, tid, name, label, start, end, allocs, bytes, frees, freedBytes, live, liveBlocks }. */
export function threadRows(recording) {
  const { threads, shares } = recording,
    frees = new Float64Array(threads.count),
    freed = new Float64Array(threads.count);
  for (let i = 0; i < shares.count; i++) {
    if (!(shares.thread[i] >= 0 && shares.thread[i] < threads.count) || !recording.sites.heap[shares.site[i]]) continue;
    frees[shares.thread[i]] += shares.frees[i];
    freed[shares.thread[i]] += shares.free_bytes[i];
  }
  const rows = [];
  for (let thread = 0; thread < threads.count; thread++) {
    if (thread === 0 && !threads.allocations[0] && !frees[0] && !threads.live_bytes[0]) continue;
    rows.push({
      thread,
      tid: threads.tid[thread],
      name: recording.threadName(thread),
      label: recording.threadLabel(thread),
      start: threads.start_ms[thread],
      end: threads.end_ms[thread],
      last: threads.last[thread],
      allocs: threads.allocations[thread],
      bytes: threads.bytes_allocated[thread],
      frees: frees[thread],
      freedBytes: freed[thread],
      live: threads.live_bytes[thread],
      liveBlocks: threads.live_blocks[thread],
    });
  }
  return rows;
}

/** Threads that give away most of what they allocate, or free what others allocated: [text]. */
export function handOvers(rows) {
  const out = [];
  for (const row of rows) {
    if (row.allocs < 100 && row.frees < 100) continue;
    if (row.frees > 2 * row.allocs)
      out.push(`${row.label} frees ${number(row.frees)} blocks and allocates ${number(row.allocs)}: it frees what others allocate.`);
    else if (row.allocs - row.liveBlocks > 2 * row.frees && row.allocs > 2 * row.liveBlocks)
      out.push(`${row.label} allocates ${number(row.allocs)} blocks and frees ${number(row.frees)}: others free most of them.`);
  }
  return out;
}

// ---- mappings ----

export const SEEP = 'seep'; // in no total: it is not there when the program runs alone

/** Classes (their patterns, so that nobody needs colours, are in findings.css); short: for the picture. */
export const MAPPING_CLASSES = [
  {
    id: 'heap',
    label: 'Heap',
    meaning: 'Blocks that the program asked for and has not freed.',
    todo: 'Flame graph, Leaks and Owners tell what it is.',
  },
  {
    id: 'allocator overhead',
    label: 'Allocator overhead',
    short: 'Overhead',
    meaning: 'Headers and rounding of the blocks: exact for glibc, an estimate for other allocators.',
    todo: 'Large: many small blocks; put them into fewer, larger ones.',
  },
  {
    id: 'allocator free',
    label: 'Free in the allocator',
    short: 'Free',
    meaning: 'Freed memory that the allocator has not given back, and holes between blocks (fragmentation).',
    todo: 'Large: free in the order of allocation, allocate less at the peak, or have it given back: ‘seep help rss’ tells how for each allocator.',
  },
  { id: 'mmap', label: 'mmap', meaning: 'Memory that the program mapped itself.', todo: 'The page Table with mapped memory tells by which stack.' },
  {
    id: 'stack',
    label: 'Stacks',
    meaning: 'Of threads, as far as they were ever used.',
    todo: 'Many threads: fewer, or smaller stacks (pthread_attr_setstacksize).',
  },
  {
    id: 'module',
    label: 'Program and libraries',
    short: 'Libraries',
    meaning: 'Code and data of the program and of its libraries; code is shared with other processes.',
    todo: 'Rarely worth a look.',
  },
  {
    id: 'file',
    label: 'Files',
    meaning: 'Files that are mapped; the kernel can take the pages back when memory is short.',
    todo: 'Counts as resident, but costs little.',
  },
  { id: 'other', label: 'Other', meaning: 'Of the kernel (vdso), anonymous memory of libraries, or of unknown origin.', todo: '' },
];

/** Whether it is known how much of each mapping is resident (-1: not). */
export const knowsResident = ({ mappings: { rows } }) => rows.rss_bytes.some((n) => n >= 0);

/** Sums by class, the largest first, of those that have something: [{ id, label, part, bytes, rows }]; part: resident, or else mapped. */
export function mappingClasses(recording) {
  const { rows } = recording.mappings,
    part = knowsResident(recording) ? rows.rss_bytes : rows.bytes;
  const sums = new Map(MAPPING_CLASSES.map((entry) => [entry.id, { ...entry, part: 0, bytes: 0, rows: 0 }]));
  for (let i = 0; i < rows.count; i++) {
    const id = recording.text(rows.class[i]),
      sum = sums.get(id) ?? sums.get('other');
    if (id === SEEP) continue;
    sum.part += Math.max(0, part[i]);
    sum.bytes += rows.bytes[i];
    sum.rows++;
  }
  return [...sums.values()].filter((sum) => sum.rows > 0).sort((a, b) => b.part - a.part);
}

/** What seep itself has resident in the process; 0 where it is not known. */
export function seepResident(recording) {
  const { rows } = recording.mappings;
  return rows.rss_bytes.reduce((sum, n, i) => (recording.text(rows.class[i]) === SEEP ? sum + Math.max(0, n) : sum), 0);
}

export const mappingSum = (classes) => classes.reduce((sum, entry) => sum + entry.part, 0);

/** The largest part in a sentence. */
export function mappingVerdict(classes, resident) {
  const all = mappingSum(classes),
    partOf = (wanted) => classes.find(({ id }) => id === wanted)?.part ?? 0;
  const largest = classes.reduce((most, entry) => (entry.part > most.part ? entry : most), classes[0]);
  const words = [`${bytes(all)} are ${resident ? 'resident' : 'mapped'}. The largest part: ${largest.label}, with ${share(largest.part, all)}.`];
  const heap = partOf('heap'),
    free = partOf('allocator free');
  if (free > heap / 2 && free > all / 4)
    words.push(
      `The allocator keeps ${bytes(free)} free beside a heap of ${bytes(heap)}: memory that was freed and not given back, or holes between blocks.`,
    );
  return words.join(' ');
}

// ---- source ----

/**
 * The rows of a listing: the lines of the text, or without a text those that cost something: [{ line, text, total, own, count }].
 * text: { first_line, lines } or null.
 */
export function listing(costed, text) {
  const rows = new Map(
    (text?.lines ?? []).map((words, i) => [text.first_line + i, { line: text.first_line + i, text: words, total: 0, own: 0, count: 0 }]),
  );
  for (const cost of costed) rows.set(cost.line, { text: '', ...rows.get(cost.line), ...cost });
  return [...rows.values()].sort((a, b) => a.line - b.line);
}
