// SPDX-License-Identifier: MIT
// leak-rows.js -- what the search for leaks found, as lists to be shown.

/** The classes, worst first; numbers as in the data.  The meaning is that of docs/LEAKS.md. */
export const LEAK_CLASSES = [
  {
    number: 4,
    id: 'definite',
    title: 'definitely lost',
    error: true,
    meaning: 'Nothing in the program points to it any more: it can never be freed. This is a leak.',
    todo: 'Fix these, the largest first.',
  },
  {
    number: 3,
    id: 'indirect',
    title: 'indirectly lost',
    error: false,
    meaning: 'Only lost blocks point to it: it is reachable only through a definitely lost block.',
    todo: 'Nothing to fix here: it goes away when that leak is fixed.',
  },
  {
    number: 2,
    id: 'possible',
    title: 'possibly lost',
    error: false,
    meaning: 'There are pointers, but only to the inside of the block: mostly a pointer that was moved forward, sometimes chance.',
    todo: 'Look at them after the definite ones.',
  },
  {
    number: 1,
    id: 'reachable',
    title: 'still reachable',
    error: false,
    meaning: 'The program can still get at it: caches, tables, globals. Not an error.',
    todo: 'Nothing to fix, unless it grows.',
  },
];

export const leakClass = (number) => LEAK_CLASSES.find((entry) => entry.number === number);

/**
 * What is lost by place, of the sites that keep(site) lets pass and of the given classes (ids): the worst class first, in it the heaviest, with
 * what hangs on it.  row, site: of the heaviest stack of the place; rows, sites: of all of them.
 */
export function leakRows(recording, keep, ids) {
  const { rows } = recording.leaks,
    places = new Map();
  for (let row = 0; row < rows.count; row++) {
    const site = rows.site[row];
    if (!rows.blocks[row] || !ids.includes(leakClass(rows.class[row])?.id) || (site >= 0 && !keep(site))) continue;
    const key = `${rows.class[row]} ${site >= 0 ? recording.placeKey(site) : ''}`,
      weight = rows.bytes[row] + rows.hanging_bytes[row],
      place = places.get(key) ?? { row, site, rows: [], sites: [], class: rows.class[row], blocks: 0, bytes: 0, hangingBlocks: 0, hangingBytes: 0, weight: 0, most: weight, ageMs: 0 };
    if (weight > place.most) Object.assign(place, { row, site, most: weight });
    place.rows.push(row);
    if (site >= 0) place.sites.push(site);
    place.blocks += rows.blocks[row];
    place.bytes += rows.bytes[row];
    place.hangingBlocks += rows.hanging_blocks[row];
    place.hangingBytes += rows.hanging_bytes[row];
    place.weight += weight;
    place.ageMs = Math.max(place.ageMs, recording.leaks.ms - rows.birth_ms[row]);
    places.set(key, place);
  }
  return [...places.values()].sort((a, b) => b.class - a.class || b.weight - a.weight || a.row - b.row);
}

/** Sums by class of the rows that keep() lets pass: { definite: { blocks, bytes, places }, ... }. */
export function leakSums(recording, keep) {
  const sums = {};
  for (const { id } of LEAK_CLASSES) {
    sums[id] = { blocks: 0, bytes: 0, places: 0 };
    for (const row of leakRows(recording, keep, [id])) {
      sums[id].blocks += row.blocks;
      sums[id].bytes += row.bytes;
      sums[id].places++;
    }
  }
  return sums;
}

/** The same by class, where the choice leaves out some of what the page lists; null: it does not.  A page may list less than there is. */
export function chosenSums(recording, keep) {
  const all = leakSums(recording, () => true),
    sums = leakSums(recording, keep);
  const narrowed = ({ id }) => sums[id].bytes !== all[id].bytes || sums[id].blocks !== all[id].blocks;
  return Object.fromEntries(LEAK_CLASSES.map((one) => [one.id, narrowed(one) ? sums[one.id] : null]));
}

const GROWTH = ['', 'once', 'bounded', 'grows'];
const GROWTH_HELP = {
  '': 'The run was too short to tell how it goes on.',
  once: 'All of it was allocated within a short time: it will not get more.',
  bounded: 'It goes on allocating, and gives back: it stays within bounds.',
  grows: 'It holds more and more: the longer the program runs, the more.',
};

/** { word, help, perHour } of a site; word '' when it is not known. */
export function growthOf(recording, site) {
  const word = GROWTH[recording.sites.growth[site]] ?? '';
  return { word, help: GROWTH_HELP[word], perHour: word === 'grows' ? recording.sites.growth_bytes_per_hour[site] : 0 };
}

const HELD_PART = 0.1; // what is lost all but for some blocks is a leak, no cache

/** Sites that hold more and more although the program can still reach (part of) it, fastest first: caches without a limit. */
export function growingSites(recording, keep) {
  const { sites } = recording;
  const lost = (site) => sites.definite_bytes[site] + sites.indirect_bytes[site];
  const out = [];
  for (let site = 0; site < sites.count; site++) {
    if (sites.growth[site] !== 3 || !sites.heap[site] || !keep(site)) continue;
    if (sites.live_bytes[site] - lost(site) > sites.live_bytes[site] * HELD_PART) out.push(site);
  }
  return out.sort((a, b) => sites.growth_bytes_per_hour[b] - sites.growth_bytes_per_hour[a] || a - b);
}

const WRONG = {
  'double-free': { title: 'freed twice', todo: 'Set the pointer to null after the first free, or let one owner free it.' },
  mismatched: { title: 'freed by the wrong function', todo: 'free() for malloc, delete for new, delete[] for new[]. Another size at delete: the base class may lack a virtual destructor.' },
  'unknown-free': { title: 'freed, but never allocated', todo: 'Free the address that was given, not one inside it; not stack or static memory.' },
};

/** What an invalid free is in words, from its type in the data. */
export function wrongRelease(type) {
  return WRONG[type] ?? { title: type, todo: '' };
}

/** The steps of a path, runs of the same step taken together: [{ step, times }]; the first and the last of a run stay. */
export function foldSteps(steps) {
  const out = [];
  const same = (a, b) => a.text === b.text && a.type === b.type && a.site === b.site;
  for (let i = 0; i < steps.length; i++) {
    let end = i;
    while (end + 1 < steps.length && same(steps[i], steps[end + 1])) end++;
    if (end - i < 3) {
      out.push({ step: steps[i], more: 0 });
      continue;
    }
    out.push({ step: steps[i], more: 0 }, { step: steps[i], more: end - i - 1 }, { step: steps[end], more: 0 });
    i = end;
  }
  return out;
}

/** The part of a course (view.js) that lies in from..to: { ms, values }; what was live before goes on to its begin. */
export function lineBetween(course, { from, to }) {
  const ms = [],
    values = [];
  for (let i = 0; i < course.ms.length && course.ms[i] <= to; i++) {
    if (course.ms[i] < from) {
      ms[0] = from;
      values[0] = course.live_bytes[i];
    } else {
      ms.push(course.ms[i]);
      values.push(course.live_bytes[i]);
    }
  }
  return { ms, values };
}

/** A time to come in words: "20 minutes", "5 hours", "30 days", "more than a year". */
export function hoursText(hours) {
  const whole = (value, noun) => `${Math.round(value)} ${noun}${Math.round(value) === 1 ? '' : 's'}`;
  if (hours < 1.5) return hours * 60 < 1.5 ? 'a minute' : whole(hours * 60, 'minute');
  if (hours < 48) return whole(hours, 'hour');
  return hours < 24 * 365 ? whole(hours / 24, 'day') : 'more than a year';
}
