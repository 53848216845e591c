// SPDX-License-Identifier: MIT
// table.js -- the page with the same numbers as the flame graph in rows: as a tree, or by function, file, module, thread, size.
import { meter } from '../charts.js';
import { costChooser, stackList, valueText } from '../controls.js';
import { toCsv } from '../csv.js';
import { Table, checkbox, choice, download, fill, h, refill } from '../dom.js';
import { averageBytes, averageLife, functionTerm } from '../explain.js';
import { bytes, count, number, share, time } from '../format.js';
import { groupFrames, groupSizes, groupThreads } from '../groups.js';
import { treeOf } from '../tree.js';
import { Unfolded, nodeOfStack } from '../unfold.js';

const FIRST_ROWS = 25;
const MODES = [
  { value: '', label: 'Top-down', title: 'From main inwards' },
  { value: 'up', label: 'Bottom-up', title: 'From the allocating functions to those that call them' },
  { value: 'function', label: 'Function' }, { value: 'file', label: 'File' }, { value: 'module', label: 'Module' },
  { value: 'thread', label: 'Thread' }, { value: 'size', label: 'Size' },
];
const GROUPERS = {
  function: (view, options) => groupFrames(view, 'function', options),
  file: (view, options) => groupFrames(view, 'file', options),
  module: (view, options) => groupFrames(view, 'module', options),
  thread: groupThreads,
  size: groupSizes,
};
const isTree = (mode) => mode === '' || mode === 'up';

const parseSort = (text) => (text ? { id: text.replace(/-up$/, ''), descending: !text.endsWith('-up') } : { id: 'total', descending: true });
const sortText = ({ id, descending }) => (descending ? (id === 'total' ? '' : id) : `${id}-up`);

/** Orders rows by a column; what is not known comes last. */
function comparing(column, descending) {
  const sign = descending ? -1 : 1;
  const last = (value) => (Number.isNaN(value) ? 1 : 0);
  return (a, b) => {
    const x = column.value(a), y = column.value(b);
    if (last(x) || last(y)) return last(x) - last(y);
    return x === y ? 0 : (x < y ? -1 : 1) * sign;
  };
}

function columnsOf(view, total, first) {
  const { cost } = view, text = (value) => valueText(cost, value);
  const calls = ['total', 'allocs', 'temporary'].includes(cost.id);
  return [
    first,
    { id: 'total', label: 'Total', csv: 'total', numeric: true, title: 'With what it calls', value: (row) => row.total, cell: (row) => text(row.total) },
    { id: 'share', label: 'Share', csv: 'share', numeric: true, value: (row) => (total ? row.total / total : 0), cell: (row) => meter(row.total, total, share(row.total, total)) },
    { id: 'self', label: 'Self', csv: 'self', numeric: true, title: 'Without what it calls', value: (row) => row.self, cell: (row) => text(row.self) },
    { id: 'count', label: calls ? 'Calls' : 'Blocks', csv: calls ? 'calls' : 'blocks', numeric: true, value: (row) => row.count, cell: (row) => number(row.count) },
    { id: 'average', label: 'Average size', csv: 'average_bytes', numeric: true, value: averageBytes, cell: (row) => known(averageBytes(row), bytes) },
    { id: 'lifetime', label: 'Average lifetime', csv: 'average_lifetime_ms', numeric: true, title: 'Of the blocks that were freed, over the whole run', value: averageLife, cell: (row) => known(averageLife(row), time) },
    { id: 'place', label: 'Place', csv: 'place', class: 'place', value: (row) => row.place },
  ];
}

const known = (value, form) => (Number.isNaN(value) ? '' : form(value));

class TablePage {
  constructor(root, context) {
    this.controls = h('div', { class: 'toolbar' });
    this.note = h('p', { class: 'muted', role: 'status' });
    this.place = h('div');
    this.details = h('section', { class: 'details', 'aria-label': 'The stack', hidden: true });
    root.append(this.controls, this.note, this.place, this.details);
    this.update(context);
  }

  update(context) {
    this.context = context;
    const { state, view } = context, mode = state.get('table');
    const options = { wrappers: state.get('wrappers') === '1', mergeRecursion: state.get('recursion') === '1' };
    const key = JSON.stringify([mode, options, state.get('site')]);
    if (this.view === view && this.key === key && this.sort === state.get('sort')) return;
    this.view = view;
    this.key = key;
    this.sort = state.get('sort');
    this.drawControls(mode);
    this.table?.destroy();
    this.table = isTree(mode) ? this.treeTable({ ...options, inverted: mode === 'up' }) : this.groupTable(mode, options);
    fill(this.place, this.table?.element);
    this.drawSite();
  }

  drawControls(mode) {
    const { state } = this.context, on = (key) => state.get(key) === '1';
    refill(this.controls,
      costChooser(this.context),
      choice('Rows', MODES, mode, (table) => state.set({ table, sort: '', site: '' })),
      checkbox('Merge recursion', on('recursion'), (recursion) => state.set({ recursion })),
      checkbox('Hide allocator frames', !on('wrappers'), (hidden) => state.set({ wrappers: !hidden })),
      isTree(mode) && h('button', { type: 'button', onclick: () => this.refold((rows) => rows.openAll()) }, 'Open all'),
      isTree(mode) && h('button', { type: 'button', onclick: () => this.refold((rows) => rows.closeAll()) }, 'Close all'),
      h('button', { type: 'button', onclick: () => this.save() }, 'Download CSV'));
  }

  /** The table has sorted itself: the state shall know, nothing is to be drawn again. */
  sorted(next) {
    this.sort = sortText(next);
    this.context.state.set({ sort: this.sort });
  }

  /* ---- by group */

  groupTable(mode, options) {
    const { view, state } = this.context, rows = GROUPERS[mode](view, options), sort = parseSort(state.get('sort'));
    this.note.textContent = rows ? '' : `By thread it is not known what was ${view.cost.label}. Choose another cost, or the whole run.`;
    if (!rows) return null;
    const label = MODES.find((entry) => entry.value === mode).label;
    const columns = columnsOf(view, view.totals.weight, { id: 'name', label, csv: mode, value: (row) => (mode === 'size' ? row.low : row.name), cell: (row) => h('span', { class: 'name' }, row.name) });
    this.columns = columns.map((column) => (column.id === 'name' ? { ...column, value: (row) => row.name } : column));
    this.note.textContent = `${count(rows.length, 'row')}. Enter or a click: see only this one.`;
    return new Table({ caption: `By ${label.toLowerCase()}`, columns, rows, height: 'var(--table-height)', sort, onsort: (next) => this.sorted(next),
      arrange: (all, { id, descending }) => all.sort(comparing(columns.find((column) => column.id === id), descending)),
      onopen: (row) => this.narrow(row) });
  }

  /** Only the stacks of a row from now on, as a tree. */
  narrow(row) {
    const { state, recording } = this.context, term = state.get('table') === 'function' ? functionTerm(recording, row.name) : row.filter;
    if (row.thread !== undefined) state.set({ thread: row.thread, table: '' });
    else if (term) state.set({ filter: `${state.get('filter')} ${term}`.trim(), table: '' });
  }

  /* ---- as a tree */

  treeTable(options) {
    const { view, state, recording } = this.context, tree = treeOf(view, options), sort = parseSort(state.get('sort'));
    if (this.unfolded?.tree !== tree) {
      this.unfolded = new Unfolded(tree);
      this.unfolded.openLargest(FIRST_ROWS);
    }
    this.note.textContent = tree.total[0] > 0 ? 'Right and Left open and close a row.' : `Nothing ${view.cost.label} in this choice.`;
    const site = state.get('site');
    this.chosen = site !== '' && !options.inverted ? nodeOfStack(tree, recording.sites.node[site]) : -1;
    if (this.chosen > 0) this.unfolded.openPath(this.chosen);
    const columns = columnsOf(view, tree.total[0], { id: 'name', label: options.inverted ? 'Function and its callers' : 'Function and what it calls', csv: 'function',
      value: (row) => row.name, cell: (row) => this.nameCell(row) });
    this.columns = [{ label: 'Level', csv: 'level', value: (row) => row.level }, ...columns];
    const arrange = (rows, { id, descending }) => this.unfolded.rows(id === 'total' && descending ? null : comparing(columns.find((column) => column.id === id), descending));
    return new Table({ caption: 'Call tree', role: 'treegrid', columns, rows: [], arrange, height: 'var(--table-height)', sort, onsort: (next) => this.sorted(next),
      attributes: (row) => ({ 'aria-level': String(row.level), 'aria-expanded': row.leaf ? null : String(this.unfolded.isOpen(row)) }),
      selected: (row) => row.node === this.chosen,
      onopen: (row) => this.refold((rows) => rows.toggle(row)),
      onkey: (event, row, index) => this.fold(event.key, row, index) });
  }

  nameCell(row) {
    const sign = row.leaf ? '' : this.unfolded.isOpen(row) ? '▾' : '▸';
    return h('span', { class: 'name', style: { 'padding-left': `${Math.min(row.level - 1, 40) * 14}px` }, title: row.name }, h('span', { class: 'fold', 'aria-hidden': 'true' }, sign), row.name);
  }

  refold(change) {
    change(this.unfolded);
    this.table.setRows(this.table.rows);
  }

  /** Right opens, then goes inwards; Left closes, then goes outwards.  Returns the row to go to, or -1: the key is not for us. */
  fold(key, row, index) {
    const open = this.unfolded.isOpen(row);
    if (key !== 'ArrowRight' && key !== 'ArrowLeft') return -1;
    if (key === 'ArrowRight' && open) return index + 1;
    if (key === 'ArrowLeft' && !open) {
      const parent = this.unfolded.tree.parent[row.node];
      return parent > 0 ? this.table.rows.indexOf(this.unfolded.row(parent)) : index;
    }
    if (!row.leaf) this.refold((rows) => rows.toggle(row));
    return index;
  }

  /** The stack of a site that a link led to. */
  drawSite() {
    const { state, recording } = this.context, site = state.get('site');
    this.details.hidden = !(site !== '' && recording.sites.node[site] > 0);
    if (this.details.hidden) return;
    fill(this.details, h('h2', null, `The stack of ${recording.siteName(site)}`), stackList(this.context, recording.sites.node[site]),
      h('button', { type: 'button', onclick: () => state.set({ site: '' }) }, 'Close'));
    const at = this.table?.rows.findIndex((row) => row.node === this.chosen) ?? -1;
    if (at > 0) this.table.reveal(at);
  }

  save() {
    const { state } = this.context;
    if (this.table) download(`seep-${state.get('table') || 'top-down'}-${this.view.cost.id}.csv`, toCsv(this.columns, this.table.rows), 'text/csv');
  }

  destroy() {
    this.table?.destroy();
  }
}

export default {
  id: 'table',
  key: '4',
  title: 'Table',
  render: (root, context) => new TablePage(root, context),
};
