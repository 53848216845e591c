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
