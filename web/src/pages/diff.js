// SPDX-License-Identifier: MIT
// diff.js -- the page that compares two moments of a recording, or two recordings: red and blue flame graph, and rows.
import { comparing, placeCell } from '../columns.js';
import { valueText } from '../controls.js';
import { toCsv } from '../csv.js';
import { Table, checkbox, choice, download, fill, h, refill } from '../dom.js';
import { changeOf, changedStacks, degreeOf, frameOf, mergeTrees } from '../differ.js';
import { flameGraph } from '../flame.js';
import { CHANGE_PALETTE } from '../flame-paint.js';
import { drawCrumbs, legendItems, nodeByPath, resetButton, searchBox } from '../flame-tools.js';
import { bytes, middle, number, signed, time } from '../format.js';
import { commonCosts, momentsToChoose, sidesOf, textOfSide, viewOfSide } from '../sides.js';
import { pathTo } from '../tree.js';

const LABEL = 'Flame graph of the differences. Arrows move, Enter zooms, Backspace goes back. The table below has the same in rows.';
const STATUS = { new: '✚ new', gone: '✖ gone', more: '▲ more', less: '▼ less' };
const LEGEND = [
  ['less-3', '− less'], ['less-1', '− a little less'], ['group-0', '= the same'], ['more-1', '+ a little more'], ['more-3', '+ more'],
];

/* ---- the recordings as a whole */

/** What is compared first: name, its value in a recording (undefined: nobody knows), and how it is written. */
const WHOLE = [
  ['Peak heap', ({ totals }) => totals.peak_bytes, bytes],
  ['Heap at the end', ({ totals }) => totals.live_bytes, bytes],
  ['Blocks at the end', ({ totals }) => totals.live_blocks, number],
  ['Allocations', ({ totals }) => totals.allocations, number],
  ['Bytes allocated', ({ totals }) => totals.bytes_allocated, bytes],
  ['Peak RSS', ({ totals }) => totals.rss_peak_bytes || undefined, bytes],
  ['Definitely lost', ({ leaks }) => (leaks.scanned ? leaks.definite.bytes : undefined), bytes],
  ['Duration', ({ meta }) => meta.duration_ms, time],
];

/** Old and new side by side, of both runs from begin to end; null where two moments of one are compared. */
function wholeTable(recordings) {
  if (recordings.length < 2) return null;
  const [old, now] = recordings, names = recordings.map(({ meta }) => meta.file ?? meta.program ?? '');
  const row = ([label, of, form]) => {
    const before = of(old), after = of(now), change = after - before, known = before !== undefined && after !== undefined;
    const percent = known && before > 0 && change ? `${signed(Math.round((100 * change) / before), number)} %` : '';
    return h('tr', null, h('th', { scope: 'row' }, label),
      [before, after].map((value) => h('td', { class: 'num' }, value === undefined ? 'not known' : form(value))),
      h('td', { class: 'num' }, known ? `${change > 0 ? '+' : change < 0 ? '-' : ''}${form(Math.abs(change))}` : ''), h('td', { class: 'num' }, percent));
  };
  return h('table', { class: 'old-new' }, h('caption', null, 'The whole runs'),
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, ''), ['Old', 'New'].map((word, i) => h('th', { scope: 'col', class: 'num', title: names[i] }, `${word}: `, h('code', null, middle(names[i], 24)))),
      ['Change', ''].map((word) => h('th', { scope: 'col', class: 'num' }, word || h('span', { class: 'unseen' }, 'Percent'))))),
    h('tbody', null, WHOLE.map(row)));
}

/* ---- nodes in words */

function nameOf(tree, node) {
  const { recording, frame } = frameOf(tree, node);
  return node ? recording.functionName(frame) : 'all';
}

function placeOf(tree, node) {
  const { recording, frame } = frameOf(tree, node);
  return frame >= 0 ? recording.placeOf(frame) : '';
}

const signOf = (change) => (change > 0 ? '+' : change < 0 ? '−' : '=');

/** The way to a node as text for the URL, and back. */
const zoomText = (tree, node) => pathTo(tree, node).map((n) => tree.name[n]).join(';');
const zoomNode = (tree, text) => nodeByPath(tree, text ? text.split(';') : [], (child, name) => tree.name[child] === name);

function describe(tree, cost, node) {
  const change = changeOf(tree, node), [before, after] = tree.sides.map((side) => side[node]), text = (value) => valueText(cost, value);
  const percent = before && change ? `, ${signed(Math.round((100 * change) / before), number)} %` : '';
  const rows = [
    ['change', signed(change, text) + percent],
    ['before', text(before)],
    ['after', text(after)],
    ['count', signed(tree.calls[1][node] - tree.calls[0][node], number)],
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

/** Changes are sorted by their size, whatever their sign. */
function columnsOf(tree, cost) {
  const numeric = true, text = (value) => valueText(cost, value), name = (row) => nameOf(tree, row.node);
  const sizeOf = (key) => (row) => Math.abs(row[key]);
  const caller = (row) => (tree.parent[row.node] > 0 ? nameOf(tree, tree.parent[row.node]) : '');
  return [
    { id: 'function', label: 'Function', value: name, cell: (row) => h('span', { class: 'name', title: tree.name[row.node] }, name(row)) },
    { id: 'status', label: 'Status', value: (row) => row.status, cell: (row) => h('span', { class: `status ${row.status}` }, STATUS[row.status]) },
    { id: 'change', label: 'Change', numeric, value: (row) => row.change, order: sizeOf('change'), cell: (row) => signed(row.change, text) },
    { id: 'before', label: 'Before', numeric, value: (row) => row.before, cell: (row) => text(row.before) },
    { id: 'after', label: 'After', numeric, value: (row) => row.after, cell: (row) => text(row.after) },
    { id: 'count', label: 'Count', numeric, value: (row) => row.calls, order: sizeOf('calls'), cell: (row) => signed(row.calls, number) },
    { id: 'place', label: 'Place', class: 'place', value: (row) => placeOf(tree, row.node), cell: (row) => placeCell(placeOf(tree, row.node)) },
    { id: 'called_from', label: 'Called from', class: 'place', value: caller },
  ];
}

class DiffPage {
  constructor(root, context) {
    this.search = searchBox(context.state);
    this.reset = resetButton(() => this.graph.reset());
    this.graph = flameGraph({ label: LABEL, zoomed: (node) => this.zoom(node), found: (result) => this.search.tell(result),
      moved: (zoomed) => this.reset.follow(zoomed) });
    this.sides = h('div', { class: 'toolbar' });
    this.paper = h('p', { class: 'printed' });
    this.controls = h('div', { class: 'toolbar' });
    this.sum = h('p', { class: 'sum', role: 'status' });
    this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'Zoom' });
    this.chooser = h('div', { class: 'toolbar' });
    this.place = h('div');
    root.append(
      ...[wholeTable(context.recordings)].filter(Boolean), this.sides, this.controls, this.paper, this.sum, h('div', { class: 'toolbar' }, ...this.search.element, this.reset.element, this.crumbs), this.graph.element,
      h('p', { class: 'axis' }, '← share of bytes or calls, not time → (width: the larger of both sides)'),
      h('ul', { class: 'legend', 'aria-label': 'Colours and patterns' }, legendItems(LEGEND)),
      h('h2', null, 'Stacks that differ'), this.chooser, this.place,
    );
    this.update(context);
  }

  update(context) {
    this.context = context;
    const { state } = context, sides = sidesOf(context), costs = commonCosts(context, sides);
    this.cost = costs.find((cost) => cost.id === state.get('cost')) ?? costs.find((cost) => cost.id === 'live');
    this.merge(sides.map((side) => viewOfSide(context, side, this.cost.id)));
    this.drawSides(sides);
    this.drawControls(costs);
    this.drawSum();
    this.search.follow();
    const { tree } = this, zoom = zoomNode(tree, state.get('zoom'));
    drawCrumbs(this.crumbs, { tree, node: zoom, name: (node) => nameOf(tree, node), zoom: (node) => this.zoom(node) });
    this.graph.element.hidden = !(tree.total[0] > 0);
    this.graph.show(this.model, { zoom, search: state.get('search'), upwards: state.get('upwards') === '1' });
    this.drawTable(state.get('status'));
  }

  zoom(node) {
    this.context.state.set({ zoom: zoomText(this.tree, node) });
  }

  /** Both views as one tree, unless they are the same as before. */
  merge(views) {
    const { state } = this.context, options = { wrappers: state.get('wrappers') === '1', mergeRecursion: state.get('again') !== '1' };
    const key = JSON.stringify(options);
    if (this.key === key && this.views.every((view, i) => view === views[i])) return;
    const tree = mergeTrees(...views, options);
    const { cost } = this;
    Object.assign(this, { views, key, tree, model: modelOf(tree, cost), columns: columnsOf(tree, cost), rows: changedStacks(tree), drawn: null });
  }

  drawSides(sides) {
    const { state } = this.context, text = sides.map(textOfSide);
    const chooser = (key, words, i) => h('label', { class: 'field' }, `${words} `,
      h('select', { onchange: (event) => state.set({ [key]: event.target.value, zoom: '' }) },
        momentsToChoose(this.context, sides[i]).map(([value, label]) => h('option', { value, selected: value === text[i] }, label))));
    const words = sides.map((side, i) => momentsToChoose(this.context, side).find(([value]) => value === text[i])?.[1] ?? text[i]);
    this.paper.textContent = `Before: ${words[0]}. After: ${words[1]}.`;
    const swap = () => state.set({ from: text[1], to: text[0], zoom: '' });
    refill(this.sides, chooser('from', 'Before', 0), chooser('to', 'After', 1), h('button', { type: 'button', onclick: swap }, 'Swap'));
  }

  drawControls(costs) {
    const { state } = this.context, on = (key) => state.get(key) === '1';
    refill(
      this.controls,
      choice('Cost', costs.map((cost) => ({ value: cost.id, label: cost.short, title: cost.help })), this.cost.id, (cost) => state.set({ cost })),
      choice('Direction', [
        { value: '', label: 'Icicle' },
        { value: '1', label: 'Flame' },
      ], state.get('upwards'), (upwards) => state.set({ upwards })),
      checkbox('Merge recursion', !on('again'), (merged) => state.set({ again: !merged })),
      checkbox('Just my code', !on('wrappers'), (hidden) => state.set({ wrappers: !hidden })),
    );
  }

  drawSum() {
    const text = (value) => valueText(this.cost, value), [before, after] = this.tree.sides.map((side) => side[0]);
    this.sum.textContent = [
      `${this.cost.short}: ${text(before)} before, ${text(after)} after, ${signed(after - before, text)}.`,
      this.rows.length ? '' : 'No stack differs.',
      this.context.recordings.length > 1 ? 'Stacks are matched by the names of their functions.' : '',
    ].join(' ');
  }

  drawTable(status) {
    if (this.drawn === status) return;
    this.drawn = status;
    const { state } = this.context, of = (id) => this.rows.filter((row) => row.status === id);
    const options = Object.keys(STATUS).map((id) => ({ value: id, label: `${STATUS[id]} ${number(of(id).length)}` }));
    const save = () => download('seep-diff.csv', toCsv(this.columns, this.table.rows), 'text/csv');
    refill(
      this.chooser,
      choice('Which stacks', [{ value: '', label: `All ${number(this.rows.length)}` }, ...options], status, (value) => state.set({ status: value })),
      h('button', { type: 'button', onclick: save }, 'Download CSV'),
    );
    this.table?.destroy();
    this.table = new Table({
      caption: 'Stacks that differ', columns: this.columns, rows: STATUS[status] ? of(status) : this.rows, height: 'var(--table-height)',
      sort: { id: 'change', descending: true }, empty: 'No stack differs.',
      arrange: (rows, sort) => rows.sort(comparing(this.columns, sort)),
      onopen: (row) => this.zoom(row.node),
    });
    fill(this.place, this.table.element);
  }

  destroy() {
    this.graph.destroy();
    this.table?.destroy();
  }
}

export default {
  id: 'diff',
  key: 'd',
  title: 'Diff',
  render: (root, context) => new DiffPage(root, context),
};
