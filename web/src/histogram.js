// SPDX-License-Identifier: MIT
// histogram.js -- classes of sizes and lifetimes, and the parts of them that are chosen.

/** The classes that have something, and all between them: [{ index, from, to, count }]; class i holds from bounds[i] up to, not including, to. */
export function classes(counts, bounds) {
  let first = 0;
  let last = counts.length - 1;
  while (first < counts.length && !counts[first]) first++;
  while (last > first && !counts[last]) last--;
  const out = [];
  for (let index = first; index <= last && index < counts.length; index++) {
    out.push({ index, from: bounds[index], to: bounds[index + 1] ?? Infinity, count: counts[index] });
  }
  return out;
}

/** Which of the bars from..to of a list of classes an interval [low, high) touches: [first, last], or null. */
export function touched(list, low, high) {
  let first = -1;
  let last = -1;
  list.forEach((entry, i) => {
    if (entry.to <= low || entry.from >= high) return;
    if (first < 0) first = i;
    last = i;
  });
  return first < 0 ? null : [first, last];
}

/** The middle of all that is counted: the class in which half of it is reached. */
export function median(list) {
  const all = list.reduce((sum, entry) => sum + entry.count, 0);
  let sum = 0;
  for (const entry of list) {
    sum += entry.count;
    if (sum * 2 >= all) return entry;
  }
  return null;
}

/** From..to of the state's form ("A..B", B not included; open where it is all); '' for the whole. */
export function rangeText(list, [first, last]) {
  const from = list[first].from,
    to = list[last].to;
  if (first === 0 && last === list.length - 1) return '';
  return `${first === 0 ? '' : from}..${last === list.length - 1 || to === Infinity ? '' : to}`;
}

/** A logarithmic scale from `low` (and less) to `high` over 0..1. */
export function logScale(low, high) {
  const from = Math.log2(low),
    span = Math.max(1, Math.log2(high) - from);
  const place = (value) => Math.max(0, Math.min(1, (Math.log2(Math.max(value, low)) - from) / span));
  const value = (part) => 2 ** (from + span * part);
  return { place, value };
}

/** What the blocks of each site are like on average: [{ site, size, life (NaN: none was freed), weight }], heaviest first, at most `most`. */
export function sitePoints(recording, view, most) {
  const { sites } = recording,
    points = [];
  for (let site = 0; site < sites.count; site++) {
    if (!view.included[site] || !(view.columns.allocs[site] > 0) || !sites.allocs[site]) continue;
    points.push({
      site,
      size: sites.alloc_bytes[site] / sites.allocs[site],
      life: sites.frees[site] ? sites.lifetime_ms[site] / sites.frees[site] : NaN,
      weight: view.weight[site],
    });
  }
  points.sort((a, b) => b.weight - a.weight || a.site - b.site);
  return { points: points.slice(0, most), left: Math.max(0, points.length - most) };
}
