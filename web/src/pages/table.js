// SPDX-License-Identifier: MIT
// table.js -- the page with the same numbers as the flame graph in rows: as a tree, or by function, file, module, thread, size.
import { comparing, costColumns, sortOf, sortText } from '../columns.js';
import { costChooser, stackList } from '../controls.js';
import { toCsv } from '../csv.js';
import { Table, checkbox, choice, download, fill, h, refill } from '../dom.js';
import { functionTerm } from '../explain.js';
import { count } from '../format.js';
import { groupFrames, groupSizes, groupThreads } from '../groups.js';
import { treeOf } from '../tree.js';
import { Unfolded, nodeOfStack } from '../unfold.js';

const FIRST_ROWS = 25;
const HEIGHT = 'var(--table-height)';
const INDENT_PX = 14, MAX_INDENTS = 40;
/** rows(view, options): of groups.js; without it the mode is a tree. */
const MODES = [
  { value: '', label: 'Top-down', title: 'From main inwards' },
  { value: 'up', label: 'Bottom-up', title: 'From the allocating functions to those that call them' },
  { value: 'function', label: 'Function', rows: (view, options) => groupFrames(view, 'function', options) },
  { value: 'file', label: 'File', rows: (view, options) => groupFrames(view, 'file', options) },
  { value: 'module', label: 'Module', rows: (view, options) => groupFrames(view, 'module', options) },
  { value: 'thread', label: 'Thread', rows: groupThreads },
  { value: 'size', label: 'Size', rows: groupSizes },
];

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
    const { state, view } = context, mode = MODES.find((one) => one.value === state.get('table')) ?? MODES[0];
    const options = { wrappers: state.get('wrappers') === '1', mergeRecursion: state.get('again') !== '1' };
    const key = JSON.stringify([mode.value, options, state.get('site')]);
    if (this.view === view && this.key === key && this.sort === state.get('sort')) return;
    Object.assign(this, { view, key, sort: state.get('sort') });
    this.drawControls(mode);
    this.table?.destroy();
    this.table = mode.rows ? this.groupTable(mode, mode.rows(view, options)) : this.treeTable({ ...options, inverted: mode.value === 'up' });
    fill(this.place, this.table?.element);
    this.drawSite();
  }

  drawControls(mode) {
    const { state } = this.context, on = (key) => state.get(key) === '1';
    const button = (label, onclick) => h('button', { type: 'button', onclick }, label);
    refill(
      this.controls,
      costChooser(this.context),
      choice('Rows', MODES, mode.value, (table) => state.set({ table, sort: '', site: '' })),
      checkbox('Merge recursion', !on('again'), (merged) => state.set({ again: !merged })),
      checkbox('Just my code', !on('wrappers'), (hidden) => state.set({ wrappers: !hidden })),
      !mode.rows && button('Open all', () => this.refold((rows) => rows.openAll())),
      !mode.rows && button('Close all', () => this.refold((rows) => rows.closeAll())),
      button('Download CSV', () => this.save(mode)),
    );
  }

  say(...words) {
    this.note.textContent = [...this.view.notes, ...words].join(' ');
  }

  /** The table has sorted itself: the state shall know, nothing is to be drawn again. */
  sorted(next) {
    this.sort = sortText(next);
    this.context.state.set({ sort: this.sort });
  }

  /* ---- by group */

  groupTable(mode, rows) {
    const { view } = this;
    if (!rows) {
      this.say(`By thread it is not known what was ${view.cost.label}. Choose another cost, or the whole run.`);
      return null;
    }
    this.say(`${count(rows.length, 'row')}. Enter or a click: see only this one.`);
    const name = { id: 'name', label: mode.label, csv: mode.value, value: (row) => row.name, cell: (row) => h('span', { class: 'name' }, row.name) };
    if (mode.value === 'size') name.order = (row) => row.low;
    this.columns = costColumns(view, view.totals.weight, name);
    return new Table({
      caption: `By ${mode.label.toLowerCase()}`, columns: this.columns, rows, height: HEIGHT,
      sort: sortOf(this.sort, this.columns), onsort: (next) => this.sorted(next),
      arrange: (all, sort) => all.sort(comparing(this.columns, sort)),
      onopen: (row) => this.narrow(row),
    });
  }

  /** Only the stacks of a row from now on, as a tree. */
  narrow(row) {
    const { state, recording } = this.context, term = state.get('table') === 'function' ? functionTerm(recording, row.name) : row.filter;
    if (row.thread !== undefined) state.set({ thread: row.thread, table: '' });
    else if (term) state.set({ filter: `${state.get('filter')} ${term}`.trim(), table: '' });
  }

  /* ---- as a tree */

  treeTable(options) {
    const { view } = this, tree = treeOf(view, options);
    this.unfold(tree, options);
    this.say(tree.total[0] > 0 ? 'Right and Left open and close a row.' : `Nothing ${view.cost.label} in this choice.`);
    const label = options.inverted ? 'Function and its callers' : 'Function and what it calls';
    const name = { id: 'name', label, csv: 'function', value: (row) => row.name, cell: (row) => this.nameCell(row) };
    const columns = costColumns(view, tree.total[0], name);
    this.columns = [{ id: 'level', label: 'Level', value: (row) => row.level }, ...columns];
    return new Table({
      caption: 'Call tree', role: 'treegrid', columns, rows: [], height: HEIGHT,
      sort: sortOf(this.sort, columns), onsort: (next) => this.sorted(next),
      arrange: (rows, sort) => this.unfolded.rows(sort.id === 'total' && sort.descending ? null : comparing(columns, sort)),
      attributes: (row) => ({ 'aria-level': String(row.level), 'aria-expanded': row.leaf ? null : String(this.unfolded.isOpen(row)) }),
      selected: (row) => row.node === this.chosen,
      onopen: (row) => this.refold((rows) => rows.toggle(row)),
      onkey: (event, row, index) => this.fold(event.key, row, index),
    });
  }

  /** Which rows are open: the largest, and the way to the site that a link led to. */
  unfold(tree, { inverted }) {
    const { state, recording } = this.context, site = state.get('site');
    if (this.unfolded?.tree !== tree) {
      this.unfolded = new Unfolded(tree);
      this.unfolded.openLargest(FIRST_ROWS);
    }
    this.chosen = site !== '' && !inverted ? nodeOfStack(tree, recording.sites.node[site]) : -1;
    if (this.chosen > 0) this.unfolded.openPath(this.chosen);
  }

  nameCell(row) {
    const sign = row.leaf ? '' : this.unfolded.isOpen(row) ? '▾' : '▸', indent = Math.min(row.level - 1, MAX_INDENTS) * INDENT_PX;
    return h('span', { class: 'name', style: { 'padding-left': `${indent}px` }, title: row.name },
      h('span', { class: 'fold', 'aria-hidden': 'true' }, sign), row.name);
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

  /** The stack of the site that a link led to. */
  drawSite() {
    const { state, recording } = this.context, site = state.get('site'), node = recording.sites.node[site];
    this.details.hidden = !(site !== '' && node > 0);
    if (this.details.hidden) return;
    fill(this.details, h('h2', null, `The stack of ${recording.siteName(site)}`), stackList(this.context, node),
      h('button', { type: 'button', onclick: () => state.set({ site: '' }) }, 'Close'));
    const at = this.table?.rows.findIndex((row) => row.node === this.chosen) ?? -1;
    if (at > 0) this.table.reveal(at);
  }

  save(mode) {
    if (this.table) download(`seep-${mode.value || 'top-down'}-${this.view.cost.id}.csv`, toCsv(this.columns, this.table.rows), 'text/csv');
  }

  destroy() {
    this.table?.destroy();
  }
}

export default {
  id: 'table',
  key: '4',
  costs: true,
  title: 'Table',
  render: (root, context) => new TablePage(root, context),
};
