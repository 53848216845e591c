// SPDX-License-Identifier: MIT
/*
 * groups.js -- the numbers of a view by function, file, module, thread or size: rows of
 * { name, place, filter, self, total, bytes, count, frees, lifetime_ms }.
 *
 * total counts a stack once for each group that it meets, however often; filter is what the filter box takes to see only it
 * (of functions: the name is enough).
 */
import { base, bytes as formatBytes } from './format.js';
import { treeOf } from './tree.js';

const quoted = (key, text) => (text ? `${key}:"${text.replaceAll('"', '')}"` : '');

/** By kind: the number of the group of a frame, and the words for it. */
const FRAME_GROUPS = {
  function: {
    of: (recording, frame) => recording.frames.function[frame],
    row: (recording, frame) => ({ name: recording.functionName(frame), place: recording.placeOf(frame) }),
  },
  file: {
    of: (recording, frame) => recording.functions.file[recording.frames.function[frame]],
    row(recording, frame) {
      const path = recording.fileOf(frame);
      return { name: base(path), place: path, filter: quoted('file', path) };
    },
  },
  module: {
    of: (recording, frame) => recording.functions.module[recording.frames.function[frame]],
    row: (recording, frame) => ({ name: recording.moduleOf(frame), place: '', filter: quoted('mod', recording.moduleOf(frame)) }),
  },
};

const newRow = (words) => ({ ...words, self: 0, total: 0, bytes: 0, count: 0, frees: 0, lifetime_ms: 0 });

/** Calls enter(node) and leave(node) in the order of calls. */
function walk(tree, enter, leave) {
  let node = tree.firstChild[0] ?? -1;
  while (node > 0) {
    enter(node);
    if (tree.firstChild[node] >= 0) {
      node = tree.firstChild[node];
      continue;
    }
    leave(node);
    while (node > 0 && tree.nextSibling[node] < 0) {
      node = tree.parent[node];
      if (node > 0) leave(node);
    }
    if (node > 0) node = tree.nextSibling[node];
  }
}

/** By function, file or module, over a tree from main inwards. */
export function groupFrames(view, kind, options = {}) {
  const tree = treeOf(view, { ...options, inverted: false });
  const { recording } = tree, { of, row } = FRAME_GROUPS[kind];
  const rows = new Map(), open = new Map();
  const groupOf = (node) => (tree.function[node] >= 0 ? of(recording, tree.frame[node]) : -1);
  walk(tree, (node) => {
    const group = groupOf(node), times = open.get(group) ?? 0;
    if (!rows.has(group)) rows.set(group, newRow(group >= 0 ? row(recording, tree.frame[node]) : { name: '(unknown)', place: '', filter: '' }));
    const entry = rows.get(group);
    entry.self += tree.self[node];
    if (!times) addTotals(entry, tree, node);
    open.set(group, times + 1);
  }, (node) => open.set(groupOf(node), open.get(groupOf(node)) - 1));
  return [...rows.values()];
}

function addTotals(entry, tree, node) {
  entry.total += tree.total[node];
  entry.bytes += tree.bytes[node];
  entry.count += tree.calls[node];
  entry.frees += tree.frees[node];
  entry.lifetime_ms += tree.lifetime_ms[node];
}

function addSite(entry, view, site) {
  entry.self += view.weight[site];
  entry.total += view.weight[site];
  entry.bytes += view.bytes[site];
  entry.count += view.count[site];
  entry.frees += view.columns.frees[site];
  entry.lifetime_ms += view.columns.lifetime_ms[site];
}

/** By the average size of what a stack allocates, in the classes of the recording. */
export function groupSizes(view) {
  const { recording } = view, { size_bounds: bounds, sites } = recording, rows = new Map();
  for (const site of view.order) {
    if (!(view.weight[site] > 0)) continue;
    const average = sites.allocs[site] ? sites.alloc_bytes[site] / sites.allocs[site] : 0;
    let at = 0;
    while (at + 1 < bounds.length && bounds[at + 1] <= average) at++;
    if (!rows.has(at)) rows.set(at, newRow(sizeWords(bounds, at)));
    addSite(rows.get(at), view, site);
  }
  return [...rows.values()];
}

function sizeWords(bounds, at) {
  const low = bounds[at] ?? 0, high = bounds[at + 1];
  const filter = `average>=${low}${high === undefined ? '' : ` average<${high}`}`;
  if (high === undefined) return { name: `${formatBytes(low)} and more`, place: '', filter, low };
  const name = high - low <= 1 ? formatBytes(low) : `${formatBytes(low)} to ${formatBytes(high - 1)}`;
  return { name, place: 'average size of a stack', filter, low };
}

/** Columns of "shares" that tell a cost by thread. */
const SHARED = {
  live: ['live_bytes', 'live_blocks'],
  total: ['alloc_bytes', 'allocs'],
  allocs: ['alloc_bytes', 'allocs'],
  temporary: [null, 'temporary'],
};

/** By thread; null where the cost is not known by thread (it is known for the whole run only). */
export function groupThreads(view) {
  const { recording } = view, { shares, threads } = recording, columns = SHARED[view.cost.id];
  if (!columns || !['run', 'threads'].includes(view.moment.of)) return null;
  const rows = new Map();
  for (let i = 0; i < shares.count; i++) {
    const thread = shares.thread[i], bytes = columns[0] ? shares[columns[0]][i] : 0, count = shares[columns[1]][i];
    if (view.threads && !view.threads[thread]) continue;
    if (!view.included[shares.site[i]] || !(view.value[shares.site[i]] > 0) || !(bytes || count)) continue;
    if (!rows.has(thread)) rows.set(thread, newRow({ name: recording.threadName(thread), place: `thread ${threads.tid[thread] ?? '?'}`, thread }));
    const entry = rows.get(thread), weight = view.cost.unit === 'bytes' ? bytes : count;
    entry.self += weight;
    entry.total += weight;
    entry.bytes += bytes;
    entry.count += count;
    entry.frees += shares.frees[i];
  }
  return [...rows.values()];
}
