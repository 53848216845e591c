// SPDX-License-Identifier: MIT
// explain.js -- a node of a call tree in words: for tooltips, for those who listen, for the clipboard.
import { bothText, valueText } from './controls.js';
import { bytes, share, time } from './format.js';
import { nameOf, pathTo } from './tree.js';

/** Average size and lifetime, where they are known; of a node of a tree or a row of groups.js. */
export const averageBytes = (row) => (row.bytes > 0 && row.count > 0 ? row.bytes / row.count : NaN);
export const averageLife = (row) => (row.frees > 0 && row.lifetime_ms > 0 ? row.lifetime_ms / row.frees : NaN);

/** The numbers of a node, named as in groups.js. */
export const rowOf = (tree, node) => ({
  self: tree.self[node], total: tree.total[node], bytes: tree.bytes[node], count: tree.calls[node],
  frees: tree.frees[node], lifetime_ms: tree.lifetime_ms[node],
});

/** { title, rows: [[name, value], ...] } */
export function describeNode(tree, node) {
  const { recording, view: { cost } } = tree, frame = tree.frame[node], row = rowOf(tree, node), all = tree.total[0];
  const facts = [
    ['total', `${valueText(cost, row.total)}, ${share(row.total, all)} of all`],
    ['self', `${valueText(cost, row.self)}, ${share(row.self, all)} of all`],
    [cost.label === 'calls' ? 'together' : cost.label, bothText(cost, row.bytes, row.count)],
    ['average size', Number.isNaN(averageBytes(row)) ? '' : bytes(averageBytes(row))],
    ['average lifetime', Number.isNaN(averageLife(row)) ? '' : time(averageLife(row))],
    ['place', recording.fileOf(frame) ? recording.placeOf(frame) : ''],
    ['module', recording.moduleOf(frame)],
  ];
  return { title: node ? recording.functionFullName(frame) : nameOf(tree, node), rows: facts.filter(([, value]) => value) };
}

/** What the filter box takes to see a function: its name, or, when that is part of another one's, a regular expression. */
export function functionTerm(recording, name) {
  const low = name.toLowerCase(), { short, count } = recording.functions;
  let others = 0;
  for (let f = 0; f < count && !others; f++) {
    const other = recording.text(short[f]);
    if (other !== name && other.toLowerCase().includes(low)) others++;
  }
  const exact = others || name.includes('"') || /^\/.+\/$/.test(name);
  return `fn:"${exact ? `/^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('"', '.')}$/` : name}"`;
}

/** The stack of a node, innermost first. */
export function nodeStackText(tree, node, inverted) {
  const { recording } = tree, path = pathTo(tree, node);
  if (!inverted) path.reverse();
  return path.map((n) => `${recording.functionName(tree.frame[n])} (${recording.placeOf(tree.frame[n])})`).join('\n');
}
