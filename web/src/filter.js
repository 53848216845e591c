// SPDX-License-Identifier: MIT
// filter.js -- the filter box: plain words and  fn:parse mod:libfoo file:x.c thread:worker kind:new size>1M count>10 average<64 lifetime>2s
//
// Every term must hold.  A word holds when some frame of the stack has it in the name of its function, file or module; a term with
// a minus in front must not hold.  Capitals do not matter; /x/ is a regular expression; "two words" are one.
import { parseBytes, parseTime } from './format.js';

const NAME_KEYS = { fn: 'fn', function: 'fn', mod: 'mod', module: 'mod', file: 'file', thread: 'thread', kind: 'kind' };
const NUMBER_KEYS = {
  size: parseBytes,
  bytes: parseBytes,
  average: parseBytes,
  avg: parseBytes,
  count: Number,
  blocks: Number,
  calls: Number,
  lifetime: parseTime,
  life: parseTime,
};
const SAME = { bytes: 'size', avg: 'average', blocks: 'count', life: 'lifetime' };

/** A test of names; throws where a regular expression is none. */
export function textMatcher(text) {
  const re = /^\/(.+)\/$/.exec(text);
  if (re) {
    const expression = new RegExp(re[1], 'i');
    return (name) => expression.test(name);
  }
  const low = text.toLowerCase();
  return (name) => name.toLowerCase().includes(low);
}

const COMPARE = { '>': (a, b) => a > b, '<': (a, b) => a < b, '>=': (a, b) => a >= b, '<=': (a, b) => a <= b, '=': (a, b) => a === b };

function parseTerm(word) {
  const not = word.length > 1 && /^[-!]/.test(word);
  const text = not ? word.slice(1) : word;
  const numeric = /^([a-z]+)(>=|<=|>|<|=)(.*)$/i.exec(text);
  if (numeric && NUMBER_KEYS[numeric[1].toLowerCase()]) {
    const key = numeric[1].toLowerCase(),
      value = numeric[3] === '' ? NaN : NUMBER_KEYS[key](numeric[3]);
    if (Number.isNaN(value))
      throw new Error(`${word}: ${numeric[3] || 'nothing'} is no number; try ${key}${numeric[2]}${key.startsWith('l') ? '2s' : '10k'}`);
    return { not, key: SAME[key] ?? key, compare: COMPARE[numeric[2]], value };
  }
  const named = /^([a-z]+):(?!:)(.*)$/i.exec(text);
  const key = named && NAME_KEYS[named[1].toLowerCase()];
  try {
    return key ? { not, key, matches: textMatcher(named[2]) } : { not, key: 'any', matches: textMatcher(text) };
  } catch (error) {
    throw new Error(`${word}: ${error.message}`);
  }
}

/** {terms, error}: an error is a sentence for the user, and then nothing is filtered. */
export function parseFilter(text) {
  const words = text.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  try {
    return { terms: words.map((word) => parseTerm(word.replaceAll('"', ''))), error: '' };
  } catch (error) {
    return { terms: [], error: error.message };
  }
}

const memo = (test) => {
  const known = new Map();
  return (i) => {
    if (!known.has(i)) known.set(i, test(i));
    return known.get(i);
  };
};

/** By function: 1 where a term of names holds. */
function functionsMatching(recording, term) {
  const { functions, modules } = recording,
    out = new Uint8Array(functions.count);
  const text = memo((i) => term.matches(recording.text(i)));
  const module = memo((m) => m >= 0 && (text(modules.short[m]) || text(modules.path[m])));
  for (let f = 0; f < functions.count; f++) {
    const any = term.key === 'any';
    out[f] =
      ((any || term.key === 'fn') && (text(functions.short[f]) || text(functions.name[f]))) ||
      ((any || term.key === 'file') && functions.file[f] >= 0 && text(functions.file[f])) ||
      ((any || term.key === 'mod') && module(functions.module[f]))
        ? 1
        : 0;
  }
  return out;
}

/** By node of the stacks: 1 where a frame of it or outside of it has a function of MATCHING. */
function nodesBelow(recording, matching) {
  const { nodes, frames } = recording,
    out = new Uint8Array(nodes.count);
  for (let n = 1; n < nodes.count; n++) {
    const f = nodes.frame[n] >= 0 ? frames.function[nodes.frame[n]] : -1;
    out[n] = out[nodes.parent[n]] || (f >= 0 && matching[f]) ? 1 : 0;
  }
  return out;
}

/** Which threads the terms want; null: all. */
export function threadsOf(recording, terms) {
  const about = terms.filter((term) => term.key === 'thread');
  if (!about.length) return null;
  return Uint8Array.from({ length: recording.threads.count }, (_, t) =>
    about.every((term) => term.not !== (term.matches(recording.threadName(t)) || term.matches(String(recording.threads.tid[t])))),
  );
}

/** By site: 1 where all terms of names hold. */
export function sitesNamed(recording, terms) {
  const { sites } = recording,
    out = new Uint8Array(sites.count).fill(1);
  for (const term of terms) {
    if (term.compare || term.key === 'thread') continue;
    if (term.key === 'kind') {
      for (let s = 0; s < sites.count; s++) if (term.matches(recording.kindOf(s)) === term.not) out[s] = 0;
      continue;
    }
    const nodes = nodesBelow(recording, functionsMatching(recording, term));
    for (let s = 0; s < sites.count; s++) if (Boolean(nodes[sites.node[s]]) === term.not) out[s] = 0;
  }
  return out;
}

/** Clears sites whose numbers do not fit; ROW(site) gives {size, count, average, calls, lifetime}. */
export function sitesNumbered(mask, terms, row) {
  const about = terms.filter((term) => term.compare);
  if (!about.length) return;
  for (let s = 0; s < mask.length; s++) {
    if (!mask[s]) continue;
    const numbers = row(s);
    if (!about.every((term) => term.compare(numbers[term.key], term.value) !== term.not)) mask[s] = 0;
  }
}
