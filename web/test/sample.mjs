// SPDX-License-Identifier: MIT
// sample.mjs -- forges the data of a page (docs/PAGE.md), for development and tests.
//
// usage: node test/sample.mjs small|huge|pair|bare|hostile > DATA.json
//
//   small    a server of a minute with three threads, leaks, tags, snapshots, owners, mappings
//   huge     100,000 sites, 200,000 nodes of stacks, 2,000 slices
//   pair     two recordings to compare
//   bare     a recording with nothing in it
//   hostile  small, with names that would like to be markup
import { pathToFileURL } from 'node:url';
import { SITE_COLUMNS, Texts, columns, generator, sum } from './forge.mjs';
import { smallRecording } from './sample-server.mjs';

export { smallRecording };

export function hugeRecording({ siteCount = 100_000, nodeCount = 200_000, slices = 2000 } = {}) {
  const random = generator(11),
    texts = new Texts(),
    functionCount = 8000,
    duration = 3600000;
  const modules = Array.from({ length: 60 }, (_, i) => ({
    path: texts.of(`/opt/big/lib/libpart${i}.so.${i % 4}`),
    short: texts.of(`libpart${i}.so.${i % 4}`),
  }));
  const functions = Array.from({ length: functionCount }, (_, i) => ({
    name: texts.of(`big::part${i % 60}::Worker${i}::handle(Request const&, int)`),
    short: texts.of(`big::part${i % 60}::Worker${i}::handle`),
    file: texts.of(`/opt/big/src/part${i % 60}/worker${i % 700}.cpp`),
    module: i % 60,
  }));
  const frames = Array.from({ length: 30_000 }, (_, i) => ({
    function: i % functionCount,
    line: 1 + ((i * 7) % 900),
    inlined: i % 11 === 0 ? 1 : 0,
    wrapper: i % 50 === 0 ? 1 : 0,
  }));
  const nodes = [
    { parent: -1, frame: -1 },
    { parent: 0, frame: 1 },
  ];
  for (let n = 2; n < nodeCount; n++)
    nodes.push({
      parent: Math.max(1, Math.floor(n * (1 - 0.25 * random() ** 3)) - 1 - Math.floor(random() * 40)),
      frame: Math.floor(random() * frames.length),
    });
  const sites = Array.from({ length: siteCount }, (_, i) => {
    const size = 2 ** Math.floor(4 + random() * 14),
      allocs = Math.floor(1 + 20000 * random() ** 8),
      live = Math.floor(allocs * random() * 0.2),
      leaked = i % 97 === 0;
    return {
      id: i + 1,
      node: nodeCount - 1 - Math.floor(random() * nodeCount * 0.6),
      kind: i % 4,
      heap: 1,
      allocs,
      frees: allocs - live,
      alloc_bytes: allocs * size,
      live_blocks: live,
      live_bytes: live * size,
      peak_blocks: live,
      peak_bytes: live * size,
      temporary: Math.floor(allocs * 0.2),
      lifetime_ms: (allocs - live) * 20,
      growth: i % 4,
      definite_blocks: leaked ? live : 0,
      definite_bytes: leaked ? live * size : 0,
      reachable_blocks: leaked ? 0 : live,
      reachable_bytes: leaked ? 0 : live * size,
    };
  });
  const totals = Object.fromEntries(SITE_COLUMNS.split(' ').map((key) => [key, sum(sites, key)]));
  const total = (key) => totals[key],
    changes = [],
    sliceRows = [];
  for (let k = 0; k < slices; k++) {
    const x = (k + 1) / slices;
    sliceRows.push({
      ms: Math.round(x * duration),
      live_bytes: Math.round(total('live_bytes') * x ** 0.5 * (0.9 + 0.1 * random())),
      live_blocks: Math.round(total('live_blocks') * x),
      allocs: Math.round(total('allocs') * x),
      alloc_bytes: Math.round(total('alloc_bytes') * x),
      frees: Math.round(total('frees') * x),
      rss_bytes: Math.round(total('live_bytes') * 1.2),
    });
    for (let c = 0; c < 200; c++) {
      const s = (k * 200 + c) % siteCount,
        site = sites[s];
      changes.push({
        slice: k,
        site: s,
        live_bytes: Math.round(site.live_bytes * x),
        live_blocks: Math.round(site.live_blocks * x),
        allocs: Math.round(site.allocs * x),
        alloc_bytes: Math.round(site.alloc_bytes * x),
      });
    }
  }
  const small = smallRecording({ slices: 8 });
  return {
    ...small,
    strings: texts.list,
    warnings: [],
    cut: ['The history of 24,000 small stacks was left out.'],
    verdicts: [],
    paths: [],
    source: [],
    owners: null,
    owners_why_not: 'The recording was made without --graph.',
    meta: { ...small.meta, program: '/opt/big/bin/big', args: ['big'], duration_ms: duration, file: 'big.1.seep' },
    totals: {
      ...small.totals,
      allocations: total('allocs'),
      frees: total('frees'),
      bytes_allocated: total('alloc_bytes'),
      live_blocks: total('live_blocks'),
      live_bytes: total('live_bytes'),
      peak_bytes: total('peak_bytes'),
      peak_blocks: total('peak_blocks'),
      peak_ms: duration,
      temporary: total('temporary'),
      rss_peak_bytes: Math.round(total('peak_bytes') * 1.2),
    },
    modules: columns('path short load_ms gone_ms', modules),
    functions: columns('name short file module', functions),
    frames: columns('function line inlined wrapper', frames),
    nodes: columns('parent frame', nodes),
    sites: columns(SITE_COLUMNS, sites),
    threads: columns('tid name start_ms end_ms allocations bytes_allocated live_blocks live_bytes', [
      { name: -1 },
      { tid: 1, name: texts.of('main') },
    ]),
    shares: columns(
      'site thread allocs alloc_bytes frees free_bytes temporary live_blocks live_bytes',
      sites.map((s, site) => ({ ...s, site, thread: 1 })),
    ),
    slices: columns('ms live_bytes live_blocks allocs alloc_bytes frees rss_bytes', sliceRows),
    changes: columns('slice site live_bytes live_blocks allocs alloc_bytes', changes),
    marks: columns('ms slice type seq label thread', []),
    events: columns('ms type text', []),
    errors: columns('type address times first_ms size site release_node thread', []),
    resources: columns('type node acquired released held amount', []),
    processes: columns('pid ppid program file peak_bytes live_bytes allocations lost_bytes this', []),
    mappings: { at: 'end', rows: columns('class name address bytes rss_bytes blocks', []) },
    leaks: {
      ...small.leaks,
      rows: columns(
        'site class blocks bytes hanging_blocks hanging_bytes birth_ms address type path lsan valgrind',
        sites
          .map((s, site) => ({ s, site }))
          .filter(({ s }) => s.definite_blocks)
          .map(({ s, site }) => ({
            site,
            class: 4,
            blocks: s.definite_blocks,
            bytes: s.definite_bytes,
            address: -1,
            type: -1,
            path: -1,
            lsan: -1,
            valgrind: -1,
          })),
      ),
    },
  };
}

/** What the writer gives for a recording in which nothing was allocated. */
export function bareRecording() {
  return {
    strings: [],
    meta: {
      file: 'true.1.seep',
      program: 'true',
      args: ['true'],
      pid: 1,
      start_unix_ms: 0,
      duration_ms: 3,
      engine: 'preload',
      version: '0.1.0',
      complete: true,
      running: false,
      sampled: 0,
      end: 'ended with status 0',
      exit_code: 0,
      exit_signal: 0,
    },
    warnings: [],
    cut: [],
    verdicts: [{ level: 'info', text: 'nothing was recorded: the program made no allocation that seep can see', page: '', site: -1 }],
    totals: {
      allocations: 0,
      frees: 0,
      bytes_allocated: 0,
      live_blocks: 0,
      live_bytes: 0,
      peak_bytes: 0,
      peak_blocks: 0,
      peak_ms: 0,
      peak_error_bytes: 0,
      temporary: 0,
      rss_peak_bytes: 0,
      mmap_live_bytes: 0,
      size_classes: [],
      lifetime_classes: [],
    },
    size_bounds: [],
    lifetime_bounds: [],
    kinds: [],
    owners: null,
    owners_why_not: 'There was no search.',
    leaks: { scanned: false, why_not: 'the program ended without a chance' },
    paths: [],
    source: [],
    nodes: { count: 1, parent: [-1], frame: [-1] },
  };
}

/** A main arena, and one of threads with FREE bytes behind its last block. */
function heaps(free) {
  const fields = 'bytes rss_bytes blocks live_bytes taken_bytes own_bytes holes hole_bytes whole_bytes top_bytes',
    main = { main: 1, bytes: 980_000, rss_bytes: 980_000, blocks: 9000, live_bytes: 680_000, taken_bytes: 780_000, holes: 300, hole_bytes: 160_000, top_bytes: 40_000 },
    other = { bytes: 1000 + free, rss_bytes: 1000 + free, blocks: 10, live_bytes: 900, taken_bytes: 1000, top_bytes: free };
  const total = Object.fromEntries(fields.split(' ').map((key) => [key, (main[key] ?? 0) + (other[key] ?? 0)]));
  return {
    exact: true,
    total: { ...total, mapped_bytes: 0, unrecorded_bytes: 0 },
    heaps: columns(`address main ${fields}`, [{ address: -1, ...main }, { address: -1, main: 0, ...other }]),
    cells: [[], []],
    holes: columns('address bytes above above_bytes block block_bytes site', []),
    pins: columns('site blocks live_bytes taken_bytes pinned_bytes', []),
    classes: columns('up_to blocks live_bytes taken_bytes holes hole_bytes', []),
  };
}

export const page = (...recordings) => ({ seep_page: 1, recordings, live: false, view: null });

export const KINDS = {
  small: () => page(smallRecording()),
  heaps: () => page({ ...smallRecording(), fragmentation: heaps(20_000) }),
  arenas: () => page({ ...smallRecording(), fragmentation: heaps(4_000_000) }),
  huge: () => page(hugeRecording()),
  pair: () => page(smallRecording(), smallRecording({ factor: 1.6 })),
  bare: () => page(bareRecording()),
  hostile: () => page(smallRecording({ odd: '</script><img/src=x/onerror=alert(1)>&lt;"\'\u202e' })),
};

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const make = KINDS[process.argv[2]];
  if (!make) {
    console.error(`usage: node sample.mjs ${Object.keys(KINDS).join('|')}`);
    process.exit(2);
  }
  process.stdout.write(JSON.stringify(make()));
}
