// SPDX-License-Identifier: MIT
// data.js -- from the text in the page, or the answer of the server, to recordings (docs/PAGE.md).
//
// Columns become typed arrays: indices Int32Array, everything else Float64Array (bytes are exact up to 2^53).
import { base } from './format.js';

/** By table: the columns that are indices or text ... and those that are numbers. */
const TABLES = {
  modules: ['path short', 'load_ms gone_ms'],
  functions: ['name short file module', ''],
  frames: ['function line', 'inlined wrapper library kind'],
  nodes: ['parent frame', ''],
  sites: [
    'id node kind heap growth',
    'allocs frees alloc_bytes live_blocks live_bytes peak_blocks peak_bytes temporary lifetime_ms growth_bytes_per_hour definite_blocks ' +
      'definite_bytes indirect_blocks indirect_bytes possible_blocks possible_bytes reachable_blocks reachable_bytes reserved',
  ],
  threads: ['tid name', 'start_ms end_ms last allocations bytes_allocated live_blocks live_bytes'],
  shares: ['site thread', 'allocs alloc_bytes frees free_bytes temporary live_blocks live_bytes'],
  slices: ['', 'ms live_bytes live_blocks allocs alloc_bytes frees rss_bytes'],
  changes: ['slice site', 'live_bytes live_blocks allocs alloc_bytes'],
  marks: ['slice type label thread', 'ms seq'],
  events: ['type text', 'ms'],
  holdings: ['owner site', 'bytes blocks'],
  errors: ['type address site release_node first_node thread what', 'times first_ms size'],
  resources: ['type node', 'acquired released held amount'],
  type_moments: ['at', 'bytes blocks known_bytes exact'],
  types: ['at name by site', 'sites size bytes blocks'],
  type_sites: ['type site', 'bytes blocks'],
  processes: ['program file', 'pid ppid peak_bytes live_bytes allocations lost_bytes this'],
};
/** Whose code a frame is; 0, of older data: nobody knows, and it counts as own. */
const KIND = { own: 1, language: 2, library: 3 };
const LEAK_ROWS = ['site class address type path lsan valgrind', 'blocks bytes hanging_blocks hanging_bytes birth_ms'];
const OWNERS = ['name kind where', 'retained_bytes retained_blocks own_bytes own_blocks pointers'];
const FRAGMENTATION = {
  heaps: ['address', 'main bytes rss_bytes blocks live_bytes taken_bytes holes hole_bytes top_bytes'],
  holes: ['address block site', 'bytes above above_bytes block_bytes'],
  pins: ['site', 'blocks live_bytes taken_bytes pinned_bytes'],
  classes: ['', 'up_to blocks live_bytes taken_bytes holes hole_bytes'],
};
const MAPPING_ROWS = ['class name address', 'bytes rss_bytes blocks'];

const names = (list) => list.split(' ').filter(Boolean);

/** A column as typed array; a single number stands for a column of it, and one that the writer did not have is all FILL. */
function column(json, key, count, Type, fill) {
  const values = json[key] ?? fill;
  if (typeof values === 'number') return new Type(count).fill(values);
  if (!Array.isArray(values) || values.length !== count) {
    throw new Error(`the column ${key} has ${values?.length ?? 'no'} entries instead of ${count}`);
  }
  return new Type(values); // much faster than from() with a list of this length
}

function table(json, [indices, numbers], label) {
  const count = json?.count ?? 0;
  if (!Number.isInteger(count) || count < 0) throw new Error(`the table ${label} has no length`);
  const out = { count };
  try {
    for (const key of names(indices)) out[key] = column(json ?? {}, key, count, Int32Array, -1);
    for (const key of names(numbers)) out[key] = column(json ?? {}, key, count, Float64Array, 0);
  } catch (error) {
    throw new Error(`table ${label}: ${error.message}`);
  }
  return out;
}

/** What the page knows of one recording.  Tables as in docs/PAGE.md, and answers about names and stacks. */
export class Recording {
  constructor(json, index) {
    this.index = index;
    this.strings = json.strings ?? [];
    this.meta = json.meta ?? {};
    for (const key of ['warnings', 'cut', 'verdicts', 'kinds', 'paths', 'cycles', 'source', 'size_bounds', 'lifetime_bounds']) this[key] = json[key] ?? [];
    this.totals = json.totals ?? {};
    for (const [key, columns] of Object.entries(TABLES)) this[key] = table(json[key], columns, key);
    const leaks = json.leaks ?? {},
      none = { blocks: 0, bytes: 0 };
    this.leaks = {
      scanned: false,
      definite: none,
      indirect: none,
      possible: none,
      reachable: none,
      suppressed: none,
      ...leaks,
      rows: table(leaks.rows, LEAK_ROWS, 'leaks'),
    };
    this.owners = json.owners ? table(json.owners, OWNERS, 'owners') : null;
    this.owners_why_not = json.owners_why_not ?? '';
    const map = json.fragmentation ?? null;
    this.fragmentation = map && { ...map, ...Object.fromEntries(Object.entries(FRAGMENTATION).map(([key, columns]) => [key, table(map[key], columns, key)])) };
    this.type_ways = json.type_ways ?? {}; // how a type can be known, in words
    this.fragmentation_why_not = json.fragmentation_why_not ?? '';
    this.mappings = {
      at: json.mappings?.at ?? 'end',
      rss_bytes: json.mappings?.rss_bytes ?? -1,
      advice: json.mappings?.advice ?? '',
      rows: table(json.mappings?.rows, MAPPING_ROWS, 'mappings'),
    };
    this.#check();
  }

  /** What loops and stacks rely on. */
  #check() {
    const { nodes, frames, functions, sites, changes, slices } = this;
    const inside = (values, low, high, what) => {
      for (let i = 0; i < values.length; i++)
        if (values[i] < low || values[i] >= high) throw new Error(`${what} ${i} points to ${values[i]}, which is not there`);
    };
    for (let i = 1; i < nodes.count; i++) if (nodes.parent[i] < 0 || nodes.parent[i] >= i) throw new Error(`node ${i} has no valid parent`);
    inside(nodes.frame, -1, frames.count, 'node');
    inside(frames.function, -1, functions.count, 'frame');
    inside(functions.module, -1, this.modules.count, 'function');
    inside(sites.node, 0, Math.max(nodes.count, 1), 'site');
    inside(changes.site, 0, sites.count, 'change');
    inside(changes.slice, 0, slices.count, 'change');
    inside(this.shares.site, 0, sites.count, 'share');
  }

  /** Text number I; '' for none. */
  text(i) {
    return i >= 0 ? (this.strings[i] ?? '') : '';
  }

  /** The function of a frame without parameters, or what is known instead. */
  functionName(frame) {
    const f = frame >= 0 ? this.frames.function[frame] : -1;
    return (f >= 0 && this.text(this.functions.short[f])) || '(unknown)';
  }

  /** The function with its parameters. */
  functionFullName(frame) {
    const f = frame >= 0 ? this.frames.function[frame] : -1;
    return (f >= 0 && this.text(this.functions.name[f])) || this.functionName(frame);
  }

  /** Path of the source file; '' unknown. */
  fileOf(frame) {
    const f = frame >= 0 ? this.frames.function[frame] : -1;
    return f >= 0 ? this.text(this.functions.file[f]) : '';
  }

  /** File name of the module; '' unknown. */
  moduleOf(frame) {
    const f = frame >= 0 ? this.frames.function[frame] : -1;
    const m = f >= 0 ? this.functions.module[f] : -1;
    return m >= 0 ? this.text(this.modules.short[m]) || base(this.text(this.modules.path[m])) : '';
  }

  /** "table.c:214", or the module where there is no line. */
  placeOf(frame) {
    const file = this.fileOf(frame),
      line = frame >= 0 ? this.frames.line[frame] : 0;
    if (file) return line > 0 ? `${base(file)}:${line}` : base(file);
    return this.moduleOf(frame);
  }

  /** The same beside the name of the function; '' where that says it, or it is the program itself, which the head of the page names. */
  placeBeside(frame) {
    const place = this.placeOf(frame),
      f = frame >= 0 ? this.frames.function[frame] : -1,
      module = f >= 0 ? this.functions.module[f] : -1;
    if (!this.fileOf(frame) && module >= 0 && this.text(this.modules.path[module]) === this.meta.exe) return '';
    return this.functionName(frame).startsWith(`${place}+`) ? '' : place; // "libfoo.so+0x12"
  }

  /** Frames of a node, innermost first. */
  framesOf(node) {
    const out = [];
    for (let n = node; n > 0; n = this.nodes.parent[n]) if (this.nodes.frame[n] >= 0) out.push(this.nodes.frame[n]);
    return out;
  }

  /** By node: 1 where just the program's own code and what that called are shown (src/query/fold.h). */
  get shownNodes() {
    if (this.shown) return this.shown;
    const { count, parent, frame } = this.nodes,
      context = new Uint8Array(Math.max(count, 1)), // 0 outside of own code, 1 in it, 2 in a library that it called
      leads = new Uint8Array(Math.max(count, 1)); // to own code
    const kindOf = (n) => (frame[n] >= 0 ? this.frames.kind[frame[n]] : KIND.own);
    const isOwn = (kind) => kind !== KIND.language && kind !== KIND.library;
    for (let n = count - 1; n > 0; n--) if (leads[n] || isOwn(kindOf(n))) leads[parent[n]] = 1;
    this.shown = new Uint8Array(Math.max(count, 1));
    for (let n = 1; n < count; n++) {
      const kind = kindOf(n),
        outer = context[parent[n]],
        own = isOwn(kind);
      this.shown[n] = own || (outer === 0 && !leads[n]) || (kind === KIND.library && outer === 1) ? 1 : 0;
      context[n] = own ? 1 : kind === KIND.library && outer ? 2 : outer;
    }
    return this.shown;
  }

  /** The node that a stack is shown from when library code is hidden: the first one that is shown, and no wrapper. */
  trimmedNode(node) {
    const { shownNodes } = this;
    let n = node;
    while (n > 0 && this.nodes.frame[n] >= 0 && (!shownNodes[n] || this.frames.wrapper[this.nodes.frame[n]])) n = this.nodes.parent[n];
    return n > 0 ? n : node;
  }

  /** By text of a file: 1 where some frame of the program's own code is in it. */
  get ownFiles() {
    if (this.filesOfOwn) return this.filesOfOwn;
    const { frames, functions } = this;
    this.filesOfOwn = new Uint8Array(this.strings.length);
    for (let frame = 0; frame < frames.count; frame++) {
      const file = frames.function[frame] >= 0 ? functions.file[frames.function[frame]] : -1;
      if (file >= 0 && !frames.library[frame] && frames.kind[frame] !== KIND.language && frames.kind[frame] !== KIND.library) this.filesOfOwn[file] = 1;
    }
    return this.filesOfOwn;
  }

  /** Whether a frame is of the program's own code. */
  isOwn(frame) {
    const { wrapper, library, kind } = this.frames;
    return !wrapper[frame] && !library[frame] && kind[frame] !== KIND.language && kind[frame] !== KIND.library;
  }

  /** The frame that stands for a site in lists: the first own one, of no wrapper and no library of the language. */
  siteFrame(site) {
    const { frame, parent } = this.nodes,
      node = this.sites.node[site];
    for (let n = node; n > 0; n = parent[n]) if (frame[n] >= 0 && this.isOwn(frame[n])) return frame[n];
    return node > 0 ? frame[this.trimmedNode(node)] : -1;
  }

  /** The line of the function that stands for a site: stacks that have the same are one place. */
  placeKey(site) {
    const frame = this.siteFrame(site);
    return frame < 0 ? `site ${site}` : `${this.frames.function[frame]}:${this.frames.line[frame]}`;
  }

  /** "parse_table", or what the row is if it is no stack. */
  siteName(site) {
    if (this.sites.node[site] <= 0 && this.sites.id[site] === 0) return '(all others)';
    return this.functionName(this.siteFrame(site));
  }

  kindOf(site) {
    return this.kinds[this.sites.kind[site]] ?? '';
  }

  threadName(thread) {
    const name = thread >= 0 && thread < this.threads.count ? this.text(this.threads.name[thread]) : '';
    return name || (thread > 0 ? `thread ${this.threads.tid[thread] ?? thread}` : 'unknown');
  }

  /** The name and the number: several threads may have the same name. */
  threadLabel(thread) {
    const name = thread >= 0 && thread < this.threads.count ? this.text(this.threads.name[thread]) : '';
    return name && this.threads.tid[thread] > 0 ? `${name} (${this.threads.tid[thread]})` : this.threadName(thread);
  }

  /** The last slice that is not later than MS; -1 when there is none. */
  sliceAt(ms) {
    const at = this.slices.ms;
    let low = 0,
      high = at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] <= ms) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** The whole: {recordings, live, together, view, compare}. */
export function decode(json) {
  if (!json || json.seep_page !== 1) throw new Error('these are not the data of a seep page, or of a version that this page does not know');
  return {
    recordings: (json.recordings ?? []).map((r, i) => new Recording(r, i)),
    live: Boolean(json.live),
    together: Boolean(json.together), // processes of a run, the largest first; else one recording, or old and new
    view: json.view ?? null,
    compare: json.compare ?? null,
  };
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text),
    out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** JSON from its gzip. */
export async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

/** What is in the page, and where newer data come from (null: nowhere). */
export async function load(document) {
  const tag = document.getElementById('seep-data');
  const text = tag?.textContent.trim();
  if (!text) throw new Error('there are no data in this page: it is the bare template');
  const data = decode(await unpack(fromBase64(text)));
  tag.textContent = '';
  return { ...data, path: tag.dataset.live || null };
}
