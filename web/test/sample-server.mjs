// SPDX-License-Identifier: MIT
// sample-server.mjs -- a server of a minute with three threads, leaks, tags, snapshots, owners and mappings, as the page gets it.
import { SITE_COLUMNS, Texts, columns, generator, sum } from './forge.mjs';

const FUNCTIONS = [
  ['main', 'server.c', 0],
  ['serve', 'server.c', 0],
  ['accept_client', 'server.c', 0],
  ['read_request', 'request.c', 0],
  ['parse_request', 'request.c', 0],
  ['parse_header', 'request.c', 0],
  ['route', 'route.c', 0],
  ['load_image', 'image.c', 0],
  ['decode_png', 'image.c', 0],
  ['open_page', 'page.c', 0],
  ['render', 'page.c', 0],
  ['cache_insert', 'cache.c', 0],
  ['session_new', 'session.c', 0],
  ['session_log', 'session.c', 0],
  ['inflateInit2_', null, 2],
  ['png_malloc', 'pngmem.c', 3],
  ['xmalloc', 'util.c', 0],
  ['std::string::_M_create', 'basic_string.h', 4],
  ['std::vector<Row, std::allocator<Row>>::push_back', 'stl_vector.h', 4],
  ['json::Value::append', 'json.cpp', 0],
  ['worker_loop', 'worker.c', 0],
  ['start_thread', null, 1],
  ['walk', 'walk.c', 0],
];
const MODULES = [
  '/srv/bin/server',
  '/lib/x86_64-linux-gnu/libc.so.6',
  '/lib/x86_64-linux-gnu/libz.so.1',
  '/lib/x86_64-linux-gnu/libpng16.so.16',
  '/lib/x86_64-linux-gnu/libstdc++.so.6',
];
const WRAPPERS = ['xmalloc', 'std::string::_M_create', 'png_malloc'];

/** stack (outermost first), kind, thread, shape of its course, bytes of a block, blocks per second, share that stays, leak class */
const SITES = [
  ['main serve accept_client session_new xmalloc', 0, 1, 'grows', 512, 40, 0.02, 'definite'],
  ['main serve accept_client session_new session_log', 0, 1, 'grows', 96, 60, 0.05, 'indirect'],
  ['main serve read_request parse_request parse_header xmalloc', 0, 1, 'churn', 48, 4000, 0, null],
  ['main serve read_request parse_request', 0, 1, 'churn', 4096, 300, 0, null],
  ['main serve route open_page load_image decode_png png_malloc', 0, 1, 'hill', 262144, 12, 0, null],
  ['main serve route open_page load_image', 0, 1, 'hill', 65536, 12, 0.01, 'definite'],
  ['main serve route open_page render std::string::_M_create', 3, 1, 'churn', 120, 6500, 0, null],
  ['main serve route open_page render json::Value::append std::vector<Row, std::allocator<Row>>::push_back', 3, 1, 'churn', 320, 2500, 0, null],
  ['main cache_insert', 1, 1, 'once', 1048576, 0, 1, 'reachable'],
  ['main serve route cache_insert xmalloc', 1, 1, 'bounded', 2048, 70, 0.3, 'reachable'],
  ['start_thread worker_loop walk walk walk walk json::Value::append', 3, 2, 'bounded', 220, 900, 0.02, 'reachable'],
  ['start_thread worker_loop inflateInit2_', 0, 2, 'churn', 7152, 90, 0, null],
  ['start_thread worker_loop parse_request parse_header xmalloc', 0, 3, 'churn', 48, 1500, 0, null],
  ['start_thread worker_loop open_page render', 0, 3, 'bounded', 16384, 25, 0.04, 'possible'],
];

/** How much of the site's most is live at share X of the run. */
const SHAPES = {
  grows: (x) => x,
  churn: () => 0.4,
  once: (x) => (x > 0.05 ? 1 : 0),
  bounded: (x, r) => Math.min(1, x * 6) * (0.8 + 0.2 * r()),
  hill: (x) => Math.exp(-(((x - 0.62) / 0.13) ** 2)),
};

/** Functions, frames and nodes of stacks given as lists of names. */
class Stacks {
  constructor(texts, functions, random) {
    this.texts = texts;
    this.random = random;
    this.functions = functions.map(([name, file, module]) => ({
      name: texts.of(/^(std|json)::/.test(name) ? `${name}(unsigned long)` : name),
      short: texts.of(name),
      file: texts.of(file && `/usr/src/server/${file}`),
      module,
      text: name,
    }));
    this.frames = [];
    this.nodes = [{ parent: -1, frame: -1 }];
    this.known = new Map();
  }

  frame(f, line) {
    const key = `${f}:${line}`;
    if (!this.known.has(key)) {
      const { text, file } = this.functions[f];
      this.known.set(
        key,
        this.frames.push({
          function: f,
          line: file < 0 ? 0 : line,
          inlined: text.endsWith('push_back') ? 1 : 0,
          wrapper: WRAPPERS.includes(text) ? 1 : 0,
        }) - 1,
      );
    }
    return this.known.get(key);
  }

  child(parent, frame) {
    const key = `n${parent}:${frame}`;
    if (!this.known.has(key)) this.known.set(key, this.nodes.push({ parent, frame }) - 1);
    return this.known.get(key);
  }

  node(stack) {
    return stack.reduce((parent, name, depth) => {
      const f = this.functions.findIndex((one) => one.text === name);
      return this.child(parent, this.frame(f, 20 + ((f * 37 + depth * 11) % 400)));
    }, 0);
  }
}

function courses(sites, duration, slices, random) {
  const at = [],
    live = sites.map(() => 0),
    rows = { slices: [], changes: [] };
  let previous = sites.map(() => '');
  for (let k = 0; k < slices; k++) {
    const x = k / (slices - 1),
      ms = Math.round(x * duration),
      slice = { ms, live_bytes: 0, live_blocks: 0, allocs: 0, alloc_bytes: 0, frees: 0, rss_bytes: 0 };
    sites.forEach((site, s) => {
      const blocks = Math.round(site.most * SHAPES[site.shape](x, random)),
        allocs = Math.max(blocks, Math.round((site.rate * ms) / 1000) + blocks, live[s]);
      live[s] = allocs;
      const row = { slice: k, site: s, live_bytes: blocks * site.size, live_blocks: blocks, allocs, alloc_bytes: allocs * site.size };
      slice.live_bytes += row.live_bytes;
      slice.live_blocks += blocks;
      slice.allocs += allocs;
      slice.alloc_bytes += row.alloc_bytes;
      const key = `${blocks} ${allocs}`;
      if (key !== previous[s]) rows.changes.push(row);
      previous[s] = key;
    });
    slice.frees = slice.allocs - slice.live_blocks;
    slice.rss_bytes = Math.round(Math.max(slice.live_bytes * 1.18 + 5e6, (rows.slices.at(-1)?.rss_bytes ?? 0) * 0.985));
    rows.slices.push(slice);
    at.push(ms);
  }
  return rows;
}

/** Numbers of the whole run from its course. */
function settle(sites, rows) {
  const peak = rows.slices.reduce((best, slice, k) => (slice.live_bytes > rows.slices[best].live_bytes ? k : best), 0);
  const state = sites.map(() => null);
  for (const change of rows.changes) {
    state[change.site] = change;
    if (change.slice <= peak) Object.assign(sites[change.site], { peak_blocks: change.live_blocks, peak_bytes: change.live_bytes });
  }
  sites.forEach((site, s) => {
    const { live_blocks, live_bytes, allocs, alloc_bytes } = state[s] ?? { live_blocks: 0, live_bytes: 0, allocs: 0, alloc_bytes: 0 };
    Object.assign(site, { live_blocks, live_bytes, allocs, alloc_bytes, frees: allocs - live_blocks });
    site.temporary = site.shape === 'churn' ? Math.round(site.frees * 0.6) : 0;
    site.lifetime_ms = site.frees * (site.shape === 'churn' ? 1 : 900);
    site.growth = { once: 1, bounded: 2, hill: 2, churn: 2, grows: 3 }[site.shape];
    site.growth_bytes_per_hour = site.growth === 3 ? Math.round((live_bytes * 3600) / 60) : 0;
    if (site.leak) Object.assign(site, { [`${site.leak}_blocks`]: live_blocks, [`${site.leak}_bytes`]: live_bytes });
  });
  return peak;
}

function classesOf(sites, bounds, value) {
  const out = bounds.map(() => 0);
  for (const site of sites)
    out[
      Math.max(
        0,
        bounds.findLastIndex((b) => b <= value(site)),
      )
    ] += site.allocs;
  return out;
}

/** OPTIONS: factor (of all amounts), name (of a function), program */
export function smallRecording({ factor = 1, odd = null, slices = 240 } = {}) {
  const random = generator(7),
    texts = new Texts(),
    duration = 60000;
  const functions = FUNCTIONS.map(([name, file, module]) => [odd && name === 'parse_header' ? odd : name, file, module]);
  const stacks = new Stacks(texts, functions, random);
  const sites = SITES.map(([stack, kind, thread, shape, size, rate, stay, leak], i) => ({
    id: i + 1,
    node: stacks.node(split(stack).map((name) => (odd && name === 'parse_header' ? odd : name))),
    kind,
    heap: 1,
    thread,
    shape,
    size,
    rate: rate * factor,
    leak,
    most: Math.round(
      shape === 'once' ? 18 * factor : shape === 'hill' ? 160 * factor : shape === 'churn' ? rate * 0.02 : Math.max(1, rate * 60 * stay * factor),
    ),
  }));
  const rows = courses(sites, duration, slices, random),
    peak = settle(sites, rows);
  const mapped = {
    id: sites.length + 1,
    node: stacks.node(['main', 'cache_insert']),
    kind: 6,
    heap: 0,
    allocs: 4,
    frees: 1,
    alloc_bytes: 33554432,
    live_blocks: 3,
    live_bytes: 25165824,
    peak_blocks: 3,
    peak_bytes: 25165824,
  };
  const threads = ['', 'server', 'worker-1', 'worker-2'].map((name, t) => {
    const own = sites.filter((site) => site.thread === t);
    return {
      tid: t ? 4710 + t : 0,
      name: texts.of(name),
      start_ms: t > 1 ? 800 * t : 0,
      end_ms: t === 3 ? 52000 : 0,
      allocations: sum(own, 'allocs'),
      bytes_allocated: sum(own, 'alloc_bytes'),
      live_blocks: sum(own, 'live_blocks'),
      live_bytes: sum(own, 'live_bytes'),
    };
  });
  const last = rows.slices.at(-1),
    sizeBounds = [0, ...Array.from({ length: 41 }, (_, i) => 2 ** i)],
    lifetimeBounds = [0, ...Array.from({ length: 33 }, (_, i) => 2 ** i)];
  const leakSum = (name) => ({ blocks: sum(sites, `${name}_blocks`), bytes: sum(sites, `${name}_bytes`) });
  const text = (...list) => list.map((one) => texts.of(one));
  const markRows = [
    ['tag', 'loaded', 4000, 0, 1],
    ['snapshot', 'before the rush', 20000, 1, 0],
    ['tag', 'rush', 30000, 0, 1],
    ['snapshot', 'after the rush', 48000, 2, 0],
  ].map(([type, label, ms, seq, thread]) => ({
    ms,
    slice: rows.slices.findLastIndex((s) => s.ms <= ms),
    type: texts.of(type),
    seq,
    label: texts.of(label),
    thread,
  }));
  const [root, global, stack] = text('session_table', 'global', 'stack');
  return {
    strings: texts.list,
    meta: {
      file: 'server.4711.seep',
      program: './server',
      args: ['./server', '--port', '8080', odd ?? '--quiet'],
      cwd: '/srv',
      host: 'build7',
      pid: 4711,
      ppid: 4700,
      start_unix_ms: 1760000000000,
      duration_ms: duration,
      engine: 'preload',
      version: '0.1.0',
      word_bytes: 8,
      complete: true,
      running: false,
      sampled: 0,
      end: 'ended with status 0',
      exit_code: 0,
      exit_signal: 0,
    },
    warnings: ['2 libraries have no debug information (libz.so.1, libc.so.6): names only, no lines.'],
    cut: [],
    verdicts: [
      {
        level: 'bad',
        text: `LEAKS: ${leakSum('definite').bytes} bytes in ${leakSum('definite').blocks} blocks definitely lost`,
        page: 'leaks',
        site: 0,
      },
      { level: 'warn', text: 'session_new grows: 614.4 KiB/min', page: 'leaks', site: 0 },
      { level: 'warn', text: '60 % of all allocations are temporary, most of them in render', page: 'temporaries', site: 6 },
      { level: 'info', text: 'Peak RSS is 18 % more than the peak of the heap', page: 'mappings', site: -1 },
    ],
    totals: {
      allocations: last.allocs,
      frees: last.frees,
      bytes_allocated: last.alloc_bytes,
      live_blocks: last.live_blocks,
      live_bytes: last.live_bytes,
      peak_bytes: rows.slices[peak].live_bytes,
      peak_blocks: rows.slices[peak].live_blocks,
      peak_ms: rows.slices[peak].ms,
      peak_error_bytes: 0,
      temporary: sum(sites, 'temporary'),
      unknown_frees: 0,
      double_frees: 1,
      mismatched: 1,
      mmap_live_bytes: mapped.live_bytes,
      mmap_calls: 4,
      mmap_bytes: mapped.alloc_bytes,
      rss_peak_bytes: Math.max(...rows.slices.map((s) => s.rss_bytes)),
      size_classes: classesOf(sites, sizeBounds, (s) => s.size),
      lifetime_classes: classesOf(sites, lifetimeBounds, (s) => (s.frees ? s.lifetime_ms / s.frees : 0)),
    },
    size_bounds: sizeBounds,
    lifetime_bounds: lifetimeBounds,
    modules: columns(
      'path short load_ms gone_ms',
      MODULES.map((path, i) => ({ path: texts.of(path), short: texts.of(path.slice(path.lastIndexOf('/') + 1)), load_ms: i === 3 ? 2500 : 0 })),
    ),
    functions: columns('name short file module', stacks.functions),
    frames: columns('function line inlined wrapper', stacks.frames),
    nodes: columns('parent frame', stacks.nodes),
    kinds: ['malloc', 'calloc', 'realloc', 'new', 'new[]', 'memalign', 'mmap'],
    sites: columns(SITE_COLUMNS, [...sites, mapped]),
    threads: columns('tid name start_ms end_ms allocations bytes_allocated live_blocks live_bytes', threads),
    shares: columns(
      'site thread allocs alloc_bytes frees free_bytes temporary live_blocks live_bytes',
      sites.map((s, site) => ({ ...s, site, free_bytes: s.alloc_bytes - s.live_bytes })),
    ),
    slices: columns('ms live_bytes live_blocks allocs alloc_bytes frees rss_bytes', rows.slices),
    changes: columns('slice site live_bytes live_blocks allocs alloc_bytes', rows.changes),
    marks: columns('ms slice type seq label thread', markRows),
    events: columns(
      'ms type text',
      [
        [800, 'thread', 'worker-1 started'],
        [1600, 'thread', 'worker-2 started'],
        [2500, 'load', 'libpng16.so.16'],
        [35000, 'fork', 'child 4790'],
      ].map(([ms, type, what]) => ({ ms, type: texts.of(type), text: texts.of(what) })),
    ),
    leaks: {
      scanned: true,
      why_not: '',
      when: 'at exit',
      ms: 60000,
      definite: leakSum('definite'),
      indirect: leakSum('indirect'),
      possible: leakSum('possible'),
      reachable: leakSum('reachable'),
      suppressed: { blocks: 3, bytes: 4198 },
      rows: columns(
        'site class blocks bytes hanging_blocks hanging_bytes birth_ms address type path lsan valgrind',
        sites
          .map((s, site) => ({ s, site }))
          .filter(({ s }) => s.leak)
          .map(({ s, site }) => ({
            site,
            class: { reachable: 1, possible: 2, indirect: 3, definite: 4 }[s.leak],
            blocks: s.live_blocks,
            bytes: s.live_bytes,
            hanging_blocks: site === 0 ? sites[1].live_blocks : 0,
            hanging_bytes: site === 0 ? sites[1].live_bytes : 0,
            birth_ms: 1200 + site * 100,
            address: texts.of(`0x55d0c3a0e${(0x2a0 + site * 16).toString(16)}`),
            type: site === 0 ? texts.of('struct session') : -1,
            path: s.leak === 'reachable' ? 0 : -1,
            lsan: texts.of('leak:session_new'),
            valgrind: texts.of('{\n   session_new\n   Memcheck:Leak\n   match-leak-kinds: definite\n   fun:malloc\n   fun:session_new\n}'),
          })),
      ),
    },
    paths: [
      {
        root: 'global session_table (session.c:12)',
        steps: [
          { text: '[17]', block: '0x55d0c3a0f000', bytes: 4096, type: 'struct session *[512]', site: 9 },
          { text: '.next +8', block: '0x55d0c3a0e2a0', bytes: 64, type: 'struct session', site: 8 },
        ],
        retained_bytes: 1048576,
      },
    ],
    owners: columns('name kind where retained_bytes retained_blocks own_bytes own_blocks pointers', [
      {
        name: root,
        kind: global,
        where: texts.of('session.c:12, server'),
        retained_bytes: sites[8].live_bytes,
        retained_blocks: sites[8].live_blocks,
        own_bytes: 4096,
        own_blocks: 1,
        pointers: 2,
      },
      {
        name: texts.of('cache'),
        kind: texts.of('static'),
        where: texts.of('cache.c:9, server'),
        retained_bytes: sites[9].live_bytes,
        retained_blocks: sites[9].live_blocks,
        own_bytes: 8192,
        own_blocks: 2,
        pointers: 1,
      },
      {
        name: texts.of('main: config'),
        kind: stack,
        where: texts.of('server.c:301'),
        retained_bytes: 2048,
        retained_blocks: 3,
        own_bytes: 64,
        own_blocks: 1,
        pointers: 1,
      },
    ]),
    errors: columns('type address times first_ms size site release_node thread', [
      {
        type: texts.of('double-free'),
        address: texts.of('0x55d0c3a11230'),
        times: 1,
        first_ms: 31000,
        size: 48,
        site: 2,
        release_node: stacks.node(['main', 'serve', 'read_request']),
        thread: 1,
      },
      {
        type: texts.of('mismatched'),
        address: texts.of('0x55d0c3a11990'),
        times: 1,
        first_ms: 31500,
        size: 320,
        site: 7,
        release_node: stacks.node(['main', 'serve']),
        thread: 1,
      },
    ]),
    mappings: {
      at: 'end',
      rows: columns(
        'class name address bytes rss_bytes blocks',
        [
          ['heap', '[heap]', last.live_bytes, last.live_bytes],
          ['allocator free', 'free in malloc arenas of threads', last.live_bytes * 0.3, last.live_bytes * 0.16],
          ['mmap', 'cache_insert', 25165824, 8388608],
          ['stack', 'stack of server', 8388608, 135168],
          ['stack', 'stack of worker-1', 8388608, 40960],
          ['module', 'server', 1048576, 700416],
          ['module', 'libc.so.6', 2097152, 1540096],
          ['file', 'fonts.dat', 5242880, 262144],
          ['other', '[vdso]', 8192, 8192],
        ].map(([kind, name, size, rss], i) => ({
          class: texts.of(kind),
          name: texts.of(name),
          address: texts.of(`0x7f${(i * 0x111000).toString(16).padStart(10, '0')}`),
          bytes: Math.round(size),
          rss_bytes: Math.round(rss),
          blocks: i === 0 ? last.live_blocks : 0,
        })),
      ),
    },
    resources: columns('type node acquired released held amount', [
      { type: texts.of('texture'), node: stacks.node(['main', 'serve', 'route', 'open_page']), acquired: 40, released: 37, held: 3, amount: 12288 },
    ]),
    processes: columns('pid ppid program file peak_bytes live_bytes allocations lost_bytes this', [
      {
        pid: 4711,
        ppid: 4700,
        program: texts.of('./server'),
        file: texts.of('server.4711.seep'),
        peak_bytes: rows.slices[peak].live_bytes,
        live_bytes: last.live_bytes,
        allocations: last.allocs,
        lost_bytes: leakSum('definite').bytes,
        this: 1,
      },
      {
        pid: 4790,
        ppid: 4711,
        program: texts.of('convert'),
        file: texts.of('convert.4790.seep'),
        peak_bytes: 4194304,
        live_bytes: 0,
        allocations: 1204,
        lost_bytes: 0,
        this: 0,
      },
    ]),
    source: [
      {
        file: '/usr/src/server/session.c',
        first_line: 1,
        lines: Array.from({ length: 460 }, (_, i) => (i % 9 ? `        session->field_${i} = ${i};` : '')),
      },
    ],
  };
}

/** Names of a stack are separated by blanks that are not inside of <>. */
function split(stack) {
  return stack.match(/(?:<[^ ]*(?: [^ ]*)*?>>::\S+|[^ <]+<[^>]*>>::\S+|\S+)/g);
}
