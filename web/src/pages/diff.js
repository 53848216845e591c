// SPDX-License-Identifier: MIT
// diff.js -- the page that compares two moments of a recording, or two recordings: red and blue flame graph, and rows.
import { valueText } from '../controls.js';
import { costsOf } from '../costs.js';
import { toCsv } from '../csv.js';
import { Table, checkbox, choice, download, fill, h, refill } from '../dom.js';
import { changeOf, changedStacks, degreeOf, frameOf, mergeTrees, stateWith } from '../differ.js';
import { flameGraph } from '../flame.js';
import { CHANGE_PALETTE } from '../flame-paint.js';
import { count, moment as momentText, number, share, signed } from '../format.js';
import { pathTo } from '../tree.js';
import { momentOf, parseRange, view as viewOf } from '../view.js';

const STATUS = { new: '✚ new', gone: '✖ gone', more: '▲ more', less: '▼ less' };
/** Of one recording only these differ from moment to moment. */
const MOVING = ['live', 'total', 'allocs'];

/* ---- the two sides: "RECORDING@WHEN" */

const parseSide = (text, recordings) => {
  const [, index, when] = /^(\d+)@(peak|end|\d+(?:\.\d+)?)$/.exec(text) ?? [];
  return recordings[index] ? { index: Number(index), when } : null;
};

const sideText = ({ recording, ms, word }) => `${recording}@${word === 'end' || word === 'peak' ? word : ms}`;

/** What is compared when nothing was chosen: what seep html was given, the ends of the range, or the first mark and the end. */
function defaultSides({ recordings, compare, state }) {
  if (compare) return [sideText(compare.old), sideText(compare.new)];
  if (recordings.length > 1) return ['0@end', '1@end'];
  const range = parseRange(state.get('range')), { marks, meta } = recordings[0];
  if (range) return [`0@${Math.max(0, range[0])}`, Number.isFinite(range[1]) ? `0@${Math.min(range[1], meta.duration_ms)}` : '0@end'];
  return [marks.count ? `0@${marks.ms[0]}` : '0@0', '0@end'];
}

function sidesOf(context) {
  const usual = defaultSides(context);
  return ['from', 'to'].map((key, i) => parseSide(context.state.get(key), context.recordings) ?? parseSide(usual[i], context.recordings));
}

/** Moments to choose from: [value, words]. */
function momentsOf({ recordings, state }, side) {
  const list = new Map();
  recordings.forEach((recording, index) => {
    const { marks, totals, meta } = recording, which = recordings.length > 1 ? `${index ? 'new' : 'old'} (${meta.file ?? meta.program}): ` : '';
    const add = (when, words) => list.has(`${index}@${when}`) || list.set(`${index}@${when}`, which + words);
    add('0', 'start');
    for (let i = 0; i < marks.count; i++) add(marks.ms[i], `${recording.text(marks.type[i])} ${recording.text(marks.label[i])} at ${momentText(marks.ms[i])}`);
    add('peak', `peak, at ${momentText(totals.peak_ms ?? 0)}`);
    add('end', 'end');
    for (const ms of [...(parseRange(state.get('range')) ?? []), state.get('at')]) if (ms !== '' && Number.isFinite(Number(ms))) add(ms, momentText(Number(ms)));
    if (side.index === index) add(side.when, momentText(Number(side.when)));
  });
  return [...list];
}

/* ---- the two views */

/** The moment itself, or, for what the recording does not tell of its peak, the time of it. */
function atOf(recording, when, cost) {
  if (when === 'end') return '';
  return when === 'peak' && cost !== 'live' ? String(recording.totals.peak_ms ?? 0) : when;
}

function viewOfSide({ recordings, state }, { index, when }, cost) {
  const recording = recordings[index];
  const changes = { at: atOf(recording, when, cost), range: '', cost, ...(recordings.length > 1 ? { thread: '' } : {}) };
  return viewOf(recording, stateWith(state, changes));
}

/** The costs that both sides have numbers for. */
function commonCosts({ recordings, state }, sides) {
  const known = sides.map(({ index, when }) => costsOf(recordings[index], momentOf(recordings[index], stateWith(state, { at: atOf(recordings[index], when, 'live'), range: '' })).of));
  const both = known[0].filter((cost) => known[1].includes(cost));
  return sides[0].index === sides[1].index ? both.filter((cost) => MOVING.includes(cost.id)) : both;
}

/* ---- nodes */

const signOf = (change) => (change > 0 ? '+' : change < 0 ? '−' : '=');
const nameOf = (tree, node) => {
  if (!node) return 'all';
  const { recording, frame } = frameOf(tree, node);
  return recording.functionName(frame);
};
const placeOf = (tree, node) => {
  const { recording, frame } = frameOf(tree, node);
  return frame >= 0 ? recording.placeOf(frame) : '';
};
const zoomText = (tree, node) => pathTo(tree, node).map((n) => tree.name[n]).join(';');

function zoomNode(tree, text) {
  let at = 0;
  for (const name of text ? text.split(';') : []) {
    let child = tree.firstChild[at];
    while (child >= 0 && tree.name[child] !== name) child = tree.nextSibling[child];
    if (child < 0) break;
    at = child;
  }
  return at;
}

function describe(tree, cost, node) {
  const change = changeOf(tree, node), [before, after] = tree.sides.map((side) => side[node]);
  const rows = [
    ['change', `${signed(change, (value) => valueText(cost, value))}${before && change ? `, ${signed(Math.round(100 * change / before), number)} %` : ''}`],
    ['before', valueText(cost, before)],
    ['after', valueText(cost, after)],
    [cost.unit === 'bytes' && cost.id !== 'total' ? 'blocks' : 'calls', signed(tree.calls[1][node] - tree.calls[0][node], number)],
    ['place', placeOf(tree, node)],
  ];
  return { title: node ? tree.name[node] : 'all', rows: rows.filter(([, value]) => value) };
}

const modelOf = (tree, cost) => ({
  tree,
  label: (node) => `${signOf(changeOf(tree, node))} ${nameOf(tree, node)}`,
  key: (node) => tree.name[node],
  describe: (node) => describe(tree, cost, node),
  paint: (node) => degreeOf(tree, node) + 3,
  palette: CHANGE_PALETTE,
});

class DiffPage {
  constructor(root, context) {
    const { state } = context;
    this.graph = flameGraph({
      label: 'Flame graph of the differences. Arrows move, Enter zooms, Backspace goes back. The table below has the same in rows.',
      zoomed: (node) => state.set({ zoom: zoomText(this.tree, node) }),
      found: (result) => { this.found.textContent = !result ? '' : `${count(result.frames, 'frame')}, ${share(result.share, 1)} of the width`; },
    });
    this.sides = h('div', { class: 'toolbar' });
    this.controls = h('div', { class: 'toolbar' });
    this.sum = h('p', { class: 'sum', role: 'status' });
    this.found = h('output', { class: 'found' });
    this.input = h('input', { type: 'search', placeholder: 'Search: name or /regex/', 'aria-label': 'Search functions', oninput: () => state.set({ search: this.input.value }) });
    this.chooser = h('div', { class: 'toolbar' });
    this.place = h('div');
    root.append(this.sides, this.controls, this.sum, h('div', { class: 'toolbar' }, this.input, this.found), this.graph.element,
      h('p', { class: 'axis' }, '← share of bytes or calls, not time → (width: the larger of both sides)'), legend(), h('h2', null, 'Stacks that differ'), this.chooser, this.place);
    this.update(context);
  }

  update(context) {
    this.context = context;
    const { state } = context, sides = sidesOf(context), costs = commonCosts(context, sides);
    this.cost = costs.find((cost) => cost.id === state.get('cost')) ?? costs.find((cost) => cost.id === 'live');
    const views = sides.map((side) => viewOfSide(context, side, this.cost.id)), options = { wrappers: state.get('wrappers') === '1', mergeRecursion: state.get('recursion') === '1' };
    const key = JSON.stringify(options);
    if (!this.views?.every((view, i) => view === views[i]) || this.key !== key) {
      this.tree = mergeTrees(...views, options);
      this.model = modelOf(this.tree, this.cost);
      this.rows = changedStacks(this.tree);
      this.drawn = null;
    }
    Object.assign(this, { views, key });
    this.drawSides(sides);
    this.drawControls(costs);
    this.drawSum();
    if (this.input.value !== state.get('search')) this.input.value = state.get('search');
    this.graph.show(this.model, { zoom: zoomNode(this.tree, state.get('zoom')), search: state.get('search'), upwards: state.get('upwards') === '1' });
    this.drawTable(state.get('status'));
  }

  drawSides(sides) {
    const { state } = this.context, text = sides.map(({ index, when }) => `${index}@${when}`);
    const chooser = (key, i) => h('label', { class: 'field' }, i ? 'After ' : 'Before ', h('select', { onchange: (event) => state.set({ [key]: event.target.value, zoom: '' }) },
      momentsOf(this.context, sides[i]).map(([value, words]) => h('option', { value, selected: value === text[i] }, words))));
    refill(this.sides, chooser('from', 0), chooser('to', 1), h('button', { type: 'button', onclick: () => state.set({ from: text[1], to: text[0], zoom: '' }) }, 'Swap'));
  }

  drawControls(costs) {
    const { state } = this.context, on = (key) => state.get(key) === '1';
    refill(this.controls,
      choice('Cost', costs.map((cost) => ({ value: cost.id, label: cost.short, title: cost.help })), this.cost.id, (cost) => state.set({ cost })),
      choice('Direction', [{ value: '', label: 'Icicle' }, { value: '1', label: 'Flame' }], state.get('upwards'), (upwards) => state.set({ upwards })),
      checkbox('Hide allocator frames', !on('wrappers'), (hidden) => state.set({ wrappers: !hidden })));
  }

  drawSum() {
    const text = (value) => valueText(this.cost, value), [before, after] = this.tree.sides.map((side) => side[0]);
    this.sum.textContent = `${this.cost.short}: ${text(before)} before, ${text(after)} after, ${signed(after - before, text)}.`
      + `${this.rows.length ? '' : ' No stack differs.'}${this.context.recordings.length > 1 ? ' Stacks are matched by the names of their functions.' : ''}`;
    this.graph.element.hidden = !(this.tree.total[0] > 0);
  }

  drawTable(status) {
    const { state } = this.context, rows = status ? this.rows.filter((row) => row.status === status) : this.rows;
    if (this.drawn === status) return;
    this.drawn = status;
    const many = (id) => this.rows.filter((row) => row.status === id).length;
    refill(this.chooser, choice('Which stacks', [{ value: '', label: `All ${number(this.rows.length)}` }, ...Object.keys(STATUS).map((id) => ({ value: id, label: `${STATUS[id]} ${number(many(id))}` }))], status, (value) => state.set({ status: value })),
      h('button', { type: 'button', onclick: () => download('seep-diff.csv', toCsv(this.columns, this.table.rows), 'text/csv') }, 'Download CSV'));
    this.table?.destroy();
    this.columns = this.columnsOf();
    this.table = new Table({ caption: 'Stacks that differ', columns: this.columns, rows, height: 'var(--table-height)', sort: { id: 'change', descending: true }, empty: 'No stack differs.',
      arrange: (all, sort) => sortRows(all, this.columns, sort), onopen: (row) => state.set({ zoom: zoomText(this.tree, row.node) }) });
    fill(this.place, this.table.element);
  }

  columnsOf() {
    const { tree } = this, text = (value) => valueText(this.cost, value);
    return [
      { id: 'name', label: 'Function', csv: 'function', value: (row) => nameOf(tree, row.node), cell: (row) => h('span', { class: 'name', title: tree.name[row.node] }, nameOf(tree, row.node)) },
      { id: 'status', label: 'Status', csv: 'status', value: (row) => row.status, cell: (row) => h('span', { class: `status ${row.status}` }, STATUS[row.status]) },
      { id: 'change', label: 'Change', csv: 'change', numeric: true, value: (row) => row.change, cell: (row) => signed(row.change, text) },
      { id: 'before', label: 'Before', csv: 'before', numeric: true, value: (row) => row.before, cell: (row) => text(row.before) },
      { id: 'after', label: 'After', csv: 'after', numeric: true, value: (row) => row.after, cell: (row) => text(row.after) },
      { id: 'calls', label: 'Count', csv: 'count_change', numeric: true, value: (row) => row.calls, cell: (row) => signed(row.calls, number) },
      { id: 'place', label: 'Place', csv: 'place', class: 'place', value: (row) => placeOf(tree, row.node) },
      { id: 'caller', label: 'Called from', csv: 'called_from', class: 'place', value: (row) => (tree.parent[row.node] > 0 ? nameOf(tree, tree.parent[row.node]) : '') },
    ];
  }

  destroy() {
    this.graph.destroy();
    this.table?.destroy();
  }
}

/** Changes by their size, whatever their sign; all else as it is. */
function sortRows(rows, columns, { id, descending }) {
  const { value, numeric } = columns.find((column) => column.id === id), sign = descending ? -1 : 1;
  const key = id === 'change' || id === 'calls' ? (row) => Math.abs(value(row)) : value;
  return rows.sort((a, b) => sign * (numeric ? key(a) - key(b) : key(a).localeCompare(key(b))));
}

function legend() {
  const entries = [['less-3', '− less'], ['less-1', '− a little less'], ['group-0', '= the same'], ['more-1', '+ a little more'], ['more-3', '+ more']];
  return h('ul', { class: 'legend', 'aria-label': 'Colours and patterns' }, entries.map(([name, words]) => h('li', null, h('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), words)));
}

export default {
  id: 'diff',
  key: 'd',
  title: 'Diff',
  render: (root, context) => new DiffPage(root, context),
};
