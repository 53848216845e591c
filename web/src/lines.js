// SPDX-License-Identifier: MIT
// lines.js -- costs by source file and line.
//
// A line has as total what the stacks cost that pass through it, each stack once (recursion adds nothing), and as own cost what was
// allocated by calls on this very line; wrappers (xmalloc ...) and the language's library (std::string ...) at the inner end are passed over.

const placesOf = new WeakMap();

/** Which (file, line) each frame is at: place[frame], -1 unknown; fileOf and lineOf by place. */
export function places(recording) {
  let known = placesOf.get(recording);
  if (!known) placesOf.set(recording, (known = findPlaces(recording)));
  return known;
}

function findPlaces({ frames, functions }) {
  const place = new Int32Array(frames.count).fill(-1);
  const fileOf = [];
  const lineOf = [];
  const numbers = new Map();
  for (let frame = 0; frame < frames.count; frame++) {
    const file = frames.function[frame] < 0 ? -1 : functions.file[frames.function[frame]];
    if (file < 0) continue;
    const key = `${file}:${frames.line[frame]}`;
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, (number = fileOf.length));
      fileOf.push(file);
      lineOf.push(frames.line[frame]);
    }
    place[frame] = number;
  }
  return { place, fileOf, lineOf };
}

/**
 * The files with a cost, largest total first: [{ file, total, own, count, lines: [{ line, total, own, count }] }], lines by number.
 * bytes and counts: by site.  Also `unknown`: the bytes of stacks without any known line.
 */
export function fileCosts(recording, bytes, counts) {
  const { sites, nodes } = recording;
  const known = places(recording);
  const sums = makeSums(known.fileOf.length);
  const files = new Map();
  const stamps = { place: new Int32Array(known.fileOf.length).fill(-1), file: new Int32Array(recording.strings.length).fill(-1) };
  let unknown = 0;
  for (let site = 0; site < sites.count; site++) {
    const cost = { site, bytes: bytes[site], count: counts[site] };
    if (!cost.bytes && !cost.count) continue;
    let found = false;
    for (let node = sites.node[site]; node > 0; node = nodes.parent[node]) {
      const place = known.place[nodes.frame[node]];
      if (place < 0) continue;
      found = true;
      addOnce(sums, files, stamps, { place, file: known.fileOf[place] }, cost);
    }
    addOwn(recording, known, sums, files, cost);
    if (!found) unknown += cost.bytes;
  }
  return { files: collect(known, sums, files), unknown };
}

function makeSums(count) {
  return { total: new Float64Array(count), own: new Float64Array(count), count: new Float64Array(count) };
}

function fileEntry(files, file) {
  let entry = files.get(file);
  if (!entry) files.set(file, (entry = { file, total: 0, own: 0, count: 0, lines: [] }));
  return entry;
}

function addOnce(sums, files, stamps, { place, file }, cost) {
  if (stamps.place[place] !== cost.site) {
    stamps.place[place] = cost.site;
    sums.total[place] += cost.bytes;
    sums.count[place] += cost.count;
  }
  if (stamps.file[file] !== cost.site) {
    stamps.file[file] = cost.site;
    const entry = fileEntry(files, file);
    entry.total += cost.bytes;
    entry.count += cost.count;
  }
}

function addOwn(recording, known, sums, files, cost) {
  const frame = recording.siteFrame(cost.site),
    place = frame >= 0 ? known.place[frame] : -1;
  if (place < 0) return;
  sums.own[place] += cost.bytes;
  fileEntry(files, known.fileOf[place]).own += cost.bytes;
}

function collect(known, sums, files) {
  for (let place = 0; place < known.fileOf.length; place++) {
    if (!sums.total[place] && !sums.count[place]) continue;
    const line = { line: known.lineOf[place], total: sums.total[place], own: sums.own[place], count: sums.count[place] };
    fileEntry(files, known.fileOf[place]).lines.push(line);
  }
  const list = [...files.values()];
  for (const entry of list) entry.lines.sort((a, b) => a.line - b.line);
  return list.sort((a, b) => b.total - a.total || b.count - a.count || a.file - b.file);
}
