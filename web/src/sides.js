// SPDX-License-Identifier: MIT
/*
 * sides.js -- which two moments Diff compares.
 *
 * A side is { index, when }: a recording of the page and "end", "peak", milliseconds or a mark; in the URL "0@peak", "0@m2" (keys from and to).
 */
import { COSTS, costsOf } from './costs.js';
import { stateWith } from './differ.js';
import { moment as momentText } from './format.js';
import { markName, momentOf, pointOf, textOfMark } from './moments.js';
import { view } from './view.js';

/** Of one recording only these differ from moment to moment. */
const MOVING = ['live', 'total', 'allocs'];

export const textOfSide = ({ index, when }) => `${index}@${when}`;

function parseSide(text, recordings) {
  const [, index, when] = /^(\d+)@(peak|end|m?\d+(?:\.\d+)?)$/.exec(text) ?? [], recording = recordings[index];
  return recording && (/^[pe]/.test(when) || pointOf(recording, when)) ? { index: Number(index), when } : null;
}

const comparedText = ({ recording, ms, word, mark }) =>
  `${recording}@${mark >= 0 ? textOfMark(mark) : word === 'end' || word === 'peak' ? word : ms}`;

/** What is compared when nothing was chosen: what seep html was given, the ends of the range, or the first mark and the end. */
function usualSides({ recordings, compare, state }) {
  if (compare) return [comparedText(compare.old), comparedText(compare.new)];
  if (recordings.length > 1) return ['0@end', '1@end'];
  if (momentOf(recordings[0], state).of === 'range') {
    const [low, high] = state.get('range').split('..');
    return [`0@${low || 0}`, `0@${high || 'end'}`];
  }
  return [recordings[0].marks.count ? `0@${textOfMark(0)}` : '0@0', '0@end'];
}

/** Both sides that the state means. */
export function sidesOf(context) {
  const { state, recordings } = context, usual = usualSides(context);
  return ['from', 'to'].map((key, i) => parseSide(state.get(key), recordings) ?? parseSide(usual[i], recordings));
}

/** [[value, words], ...]: start, marks, peak, end of each recording, and what is chosen elsewhere or here. */
export function momentsToChoose({ recordings, state }, side) {
  const list = new Map(), elsewhere = [...state.get('range').split('..'), state.get('at')];
  recordings.forEach((recording, index) => {
    const { marks, totals, meta } = recording, which = recordings.length > 1 ? `${index ? 'new' : 'old'} (${meta.file ?? meta.program}): ` : '';
    const add = (when, words) => list.has(`${index}@${when}`) || list.set(`${index}@${when}`, which + words);
    const addTime = (when) => pointOf(recording, when) && add(when, pointOf(recording, when).text);
    add('0', 'start');
    for (let i = 0; i < marks.count; i++) add(textOfMark(i), `${markName(recording, i)} at ${momentText(marks.ms[i])}`);
    add('peak', `peak, at ${momentText(totals.peak_ms ?? 0)}`);
    add('end', 'end');
    elsewhere.forEach(addTime);
    if (side.index === index) addTime(side.when);
  });
  return [...list];
}

/** The moment itself, or, for what the recording does not tell of its peak, the time of it. */
function atOf(recording, when, cost) {
  if (when === 'end') return '';
  return when === 'peak' && cost !== 'live' ? String(recording.totals.peak_ms ?? 0) : when;
}

/** Threads of two recordings have nothing to do with each other: then a chosen one is not meant. */
export function viewOfSide({ recordings, state }, { index, when }, cost) {
  const recording = recordings[index], changes = { at: atOf(recording, when, cost), range: '', cost };
  if (recordings.length > 1) changes.thread = '';
  return view(recording, stateWith(state, changes));
}

/** The costs that both sides have numbers for. */
export function commonCosts({ recordings, state }, sides) {
  const [before, after] = sides.map(({ index, when }) => {
    const recording = recordings[index], at = atOf(recording, when, 'live');
    const known = costsOf(recording, momentOf(recording, stateWith(state, { at, range: '' })).of);
    return when === 'peak' ? COSTS.filter((cost) => known.includes(cost) || MOVING.includes(cost.id)) : known;
  });
  const both = before.filter((cost) => after.includes(cost));
  return sides[0].index === sides[1].index ? both.filter((cost) => MOVING.includes(cost.id)) : both;
}
