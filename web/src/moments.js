// SPDX-License-Identifier: MIT
/*
 * moments.js -- which moment, or which range, the state means.
 *
 * A moment is written as milliseconds, "peak", or "m3": mark (tag, snapshot) number 3 of the recording.  A mark is more exact than its
 * time: the numbers are those of the mark itself, also where several lie within a millisecond.
 */
import { OF } from './costs.js';
import { moment as momentText } from './format.js';

/** "A..B" -> [A, B], an open end is -Infinity or Infinity; null when it is none. */
export function parseRange(text) {
  const found = /^([\d.]*)\.\.([\d.]*)$/.exec(text);
  if (!found) return null;
  const low = found[1] === '' ? -Infinity : Number(found[1]),
    high = found[2] === '' ? Infinity : Number(found[2]);
  return Number.isNaN(low) || Number.isNaN(high) || low > high ? null : [low, high];
}

export const textOfMark = (mark) => `m${mark}`;

/** The row of the mark that is meant; -1: none. */
export function markOf(recording, text) {
  const [, row] = /^m(\d{1,9})$/.exec(text) ?? [];
  return row !== undefined && Number(row) < recording.marks.count ? Number(row) : -1;
}

/** "snapshot 2 (after load)", "tag begin": as the terminal names it. */
export function markName(recording, mark) {
  const { marks } = recording,
    seq = marks.seq[mark],
    label = recording.text(marks.label[mark]);
  if (!seq) return `${recording.text(marks.type[mark])} ${label}`.trim();
  return `snapshot ${seq}${label ? ` (${label})` : ''}`;
}

/** One moment: {ms, slice, text}; null when it is none. */
export function pointOf(recording, text) {
  const mark = markOf(recording, text);
  if (mark >= 0) {
    const ms = recording.marks.ms[mark],
      slice = recording.marks.slice[mark];
    return { ms, slice: slice >= 0 ? slice : recording.sliceAt(ms), text: `${markName(recording, mark)}, ${momentText(ms)}` };
  }
  const ms = text === '' ? NaN : Number(text);
  return Number.isFinite(ms) ? { ms, slice: recording.sliceAt(ms), text: momentText(ms) } : null;
}

/** Both ends of a range; null when it is none. */
function endsOf(recording, text) {
  const [low, high, more] = text.split('..'),
    limit = recording.meta.duration_ms ?? Infinity;
  if (high === undefined || more !== undefined) return null;
  const from = low === '' ? { ms: 0, slice: -1, text: momentText(0) } : pointOf(recording, low),
    to = high === '' ? { ms: limit, slice: recording.slices.count - 1, text: momentText(limit) } : pointOf(recording, high);
  if (!from || !to || from.ms > to.ms || (to.ms === from.ms && from.slice > to.slice)) return null;
  return to.ms > limit ? [from, { ms: limit, slice: to.slice, text: momentText(limit) }] : [from, to];
}

/** The chosen moment: {of, from, to (ms), start, end (slices; -1: before the first), text}.  A range wins over a moment. */
export function momentOf(recording, state) {
  const ends = endsOf(recording, state.get('range')),
    at = state.get('at');
  if (ends) {
    const [from, to] = ends;
    return { of: OF.RANGE, from: from.ms, to: to.ms, start: from.slice, end: to.slice, text: `${from.text} to ${to.text}` };
  }
  if (at === 'peak') {
    const ms = recording.totals.peak_ms ?? 0;
    return { of: OF.PEAK, from: 0, to: ms, start: -1, end: recording.sliceAt(ms), text: `the peak, ${momentText(ms)}` };
  }
  const point = pointOf(recording, at);
  if (point) return { of: OF.TIME, from: 0, to: point.ms, start: -1, end: point.slice, text: point.text };
  return { of: OF.RUN, from: 0, to: recording.meta.duration_ms ?? 0, start: -1, end: recording.slices.count - 1, text: '' };
}

/** The words that `seep report` has for a moment: "1500ms"; of a mark its number, or its name for the how-manieth time. */
export function wordOfMoment(recording, text) {
  const mark = markOf(recording, text);
  if (mark < 0) return text === '' ? '' : `${text}ms`;
  const { seq, label, ms } = recording.marks,
    same = (row) => label[row] === label[mark] && row <= mark;
  if (seq[mark]) return String(seq[mark]);
  if (!recording.text(label[mark])) return `${ms[mark]}ms`;
  return `${recording.text(label[mark])}:${Array.from(label.keys()).filter(same).length}`;
}

/**
 * Marks [{ x, letter, name, type }] in their order, those within NEAR of the first of them together: [{ x, letters, text: "PS loaded", type }].  Names are
 * those that tags and snapshots were given; the type is that of the first with a name, or else of the first.
 */
export function nearMarks(marks, near) {
  const groups = [];
  for (const mark of marks) {
    if (groups.length && mark.x - groups.at(-1)[0].x <= near) groups.at(-1).push(mark);
    else groups.push([mark]);
  }
  return groups.map((group) => {
    const letters = [...new Set(group.map((mark) => mark.letter))].join(''),
      named = group.filter((mark) => mark.name);
    return { x: group[0].x, letters, text: [letters, named.map((mark) => mark.name).join(', ')].filter(Boolean).join(' '), type: (named[0] ?? group[0]).type };
  });
}
