// SPDX-License-Identifier: MIT
// parts.js -- what the pages of findings are made of: the sentence at the top, empty states, rows that open, texts to be copied.
import { timeChart } from './charts.js';
import { stackList, stackText } from './controls.js';
import { Table, announce, copy, fill, h } from './dom.js';
import { OF } from './costs.js';
import { callerOf } from './findings.js';
import { count, time } from './format.js';
import { momentOf } from './moments.js';
import { courseOf } from './view.js';

const ROWS_AT_ONCE = 50;
const SAID_MS = 1500;

/**
 * A page that is drawn anew at each change.  draw(context, keep) gives elements; keep(x) gives x back and calls x.destroy() when it is no
 * longer shown.  What was focused, opened and scrolled to stays so, where the elements have the same dataset.keep as before.
 */
export function drawnPage(id, title, draw, more = {}) {
  return {
    id,
    title,
    ...more,
    render(root, first) {
      let kept = [];
      const end = () => kept.splice(0).forEach((one) => one.destroy());
      const update = (context) => {
        const before = remember(root);
        end();
        fill(
          root,
          draw(context, (one) => (kept.push(one), one)),
        );
        restore(root, before);
      };
      update(first);
      return { update, destroy: end };
    },
  };
}

const keyed = (root) => [...root.querySelectorAll('[data-keep]')];

/** Rows and heads of a table have no key of their own: they are known by that of the table, and their place. */
function keyOf(element) {
  const table = element.closest('.table')?.dataset.keep;
  if (table && element.dataset.index !== undefined) return `${table} row ${element.dataset.index}`;
  if (table && element.closest('thead')) return `${table} head ${element.closest('th').cellIndex}`;
  return element.dataset.keep;
}

function remember(root) {
  const active = root.contains(document.activeElement) ? document.activeElement : null;
  return {
    focus: active && keyOf(active),
    open: new Map(
      keyed(root)
        .filter((one) => one.tagName === 'DETAILS')
        .map((one) => [one.dataset.keep, one.open]),
    ),
    scrolled: new Map(
      keyed(root)
        .filter((one) => one.scrollTop > 0)
        .map((one) => [one.dataset.keep, one.scrollTop]),
    ),
  };
}

function restore(root, before) {
  for (const one of keyed(root)) {
    const key = one.dataset.keep;
    if (before.open.has(key)) one.open = before.open.get(key);
    if (before.scrolled.has(key)) one.scrollTop = before.scrolled.get(key);
  }
  if (!before.focus) return;
  [...root.querySelectorAll('[data-keep], .table tr[data-index], .table thead button')]
    .find((one) => keyOf(one) === before.focus)
    ?.focus({ preventScroll: true });
}

/** The sentence that tells a beginner what a page shows. */
export const lead = (...text) => h('p', { class: 'lead' }, text);

/** Why there is nothing, and what to do about it. */
export function emptyState(title, why, ...todo) {
  return h('div', { class: 'empty-state' }, h('p', null, h('strong', null, title)), why && h('p', null, why), todo.length > 0 && h('p', null, todo));
}

/** Something that must not be passed over.  level: bad, warn, info; its word is written out. */
export function notice(level, title, ...text) {
  return h('div', { class: `notice ${level}`, role: level === 'info' ? null : 'note' }, h('strong', null, title), ' ', text);
}

/** A heading with what belongs to it. */
export const section = (title, ...content) => h('section', null, h('h2', null, title), content);

/** A command as it can be typed, with a button that copies it. */
export function command(text) {
  return h('span', { class: 'command' }, h('code', null, text), ' ', copyButton(text, 'command'));
}

export function copyButton(text, what, label = 'Copy') {
  const button = h(
    'button',
    {
      type: 'button',
      class: 'copy',
      'aria-label': `${label} the ${what}`,
      onclick: async () => {
        await copy(text, what);
        button.textContent = 'Copied ✓';
        setTimeout(() => {
          button.textContent = label;
        }, SAID_MS);
      },
    },
    label,
  );
  return button;
}

/** For a terminal: the file of a recording as an argument of a command. */
export function fileArgument({ meta }) {
  const file = meta.file || String(meta.pid ?? '');
  return /^[\w./@%+:,-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
}

/** A Table whose order is in the state, so that it stays when the page is drawn anew. */
export function keptTable(state, name, options) {
  const key = `by-${name}`,
    [, down, id] = /^(-?)(\w+)$/.exec(state.get(key)) ?? [];
  const known = id && options.columns.some((column) => column.id === id);
  const table = new Table({
    ...options,
    sort: known ? { id, descending: down === '-' } : options.sort,
    onsort: (sort) => state.set({ [key]: `${sort.descending ? '-' : ''}${sort.id}` }),
  });
  table.element.dataset.keep = name;
  return table;
}

/** What that means in words; null when nothing is chosen. */
export function wholeRunNote(view, what) {
  const when = { [OF.RANGE]: 'allocated between', [OF.TIME]: 'had allocated by', [OF.PEAK]: null }[view.moment.of];
  if (!when) return null;
  const time = view.moment.of === OF.RANGE ? view.moment.text.replace(' to ', ' and ') : view.moment.text;
  return h('p', { class: 'follow' }, `${what} of the whole run; listed are the stacks that ${when} ${time}.`);
}

/**
 * A table whose rows open: a button in the first cell shows detail(row) below.
 *
 * caption; columns: [{label, numeric, class, cell(row)}], the first is what the row is about; rows; key(row): text, unique
 * state, name: the key of the state that has the open rows, by key ('none': not even the first)
 * opened: the rows that are open to begin with
 */
export function openTable({ caption, columns, rows, key, detail, state, name, opened: before = [] }) {
  const chosen = state.get(name);
  const open = new Set(chosen === '' ? before.map(key) : chosen.split(','));
  open.delete('none');
  const body = h('tbody');
  const write = () => state.set({ [name]: open.size ? [...open].join(',') : 'none' });
  const toggle = (row) => {
    if (!open.delete(key(row))) open.add(key(row));
    write();
  };
  const more = h('p', { class: 'more' });
  const draw = (limit) => {
    fill(
      body,
      rows.slice(0, limit).map((row) => pair(row, open.has(key(row)), { columns, key, detail, toggle, name })),
    );
    fill(
      more,
      rows.length > limit &&
        h(
          'button',
          {
            type: 'button',
            onclick: () => {
              draw(limit + 10 * ROWS_AT_ONCE);
              announce(`${count(Math.min(rows.length, limit + 10 * ROWS_AT_ONCE), 'row')} are shown.`);
            },
          },
          `Show more (${count(rows.length - limit, 'row')} left)`,
        ),
    );
  };
  const opened = rows.findLastIndex((row) => open.has(key(row)));
  draw(Math.max(ROWS_AT_ONCE, opened + 1));
  return h(
    'div',
    { class: 'wide' },
    h(
      'table',
      { class: 'opens' },
      h('caption', null, caption),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          columns.map((column) => h('th', { scope: 'col', class: column.numeric ? 'num' : null, title: column.title ?? null }, column.label)),
        ),
      ),
      body,
    ),
    more,
  );
}

function pair(row, isOpen, { columns, key, detail, toggle, name }) {
  const id = `${name}-${key(row)}`;
  const button = h(
    'button',
    {
      type: 'button',
      class: 'opener',
      'aria-expanded': String(isOpen),
      'aria-controls': isOpen ? id : null,
      dataset: { keep: id },
      onclick: (event) => {
        event.stopPropagation();
        toggle(row);
      },
    },
    h('span', { class: 'arrow', 'aria-hidden': 'true' }, isOpen ? '▾' : '▸'),
    columns[0].cell(row),
  );
  return [
    h(
      'tr',
      {
        class: isOpen ? 'opened' : 'closed',
        onclick: (event) => event.target.closest('a,button') || window.getSelection()?.toString() || toggle(row),
      },
      h('th', { scope: 'row' }, button),
      columns.slice(1).map((column) => h('td', { class: column.numeric ? 'num' : (column.class ?? null) }, column.cell(row))),
    ),
    isOpen && h('tr', { class: 'detail', id }, h('td', { colSpan: columns.length }, detail(row))),
  ];
}

/** "parse_table table.c:214 ← read_all" without a link: for buttons. */
export function siteWords(recording, site) {
  const caller = recording.sites.node[site] > 0 ? callerOf(recording, site) : -1;
  return [
    h('code', null, recording.siteName(site)),
    ' ',
    h(
      'span',
      { class: 'place' },
      recording.placeBeside(recording.siteFrame(site)),
      caller >= 0 ? [' ← ', h('code', null, recording.functionName(caller))] : null,
    ),
  ];
}

/** An average lifetime; they are counted in whole milliseconds. */
export const lifeText = (ms) => (ms < 1 ? '< 1 ms' : time(ms));

/** How much the sites of a place held over the run, with the marks; a drag chooses a range, a click a moment. */
export function siteChart({ recording, state }, sites, keep) {
  const course = courseOf(recording, ...sites),
    { marks } = recording;
  if (course.ms.length < 3 || !recording.changes.count) return null;
  const moment = momentOf(recording, state);
  const chart = keep(
    timeChart({
      label: 'Held by this place over the run',
      ms: course.ms,
      height: 120,
      small: true,
      series: [{ label: 'held', values: course.live_bytes, color: 'heap', fill: true, steps: true }],
      marks: Array.from({ length: marks.count }, (_, i) => ({
        ms: marks.ms[i],
        type: recording.text(marks.type[i]),
        label: recording.text(marks.label[i]),
      })),
      chosen: moment.of === 'range' ? [moment.from, moment.to] : moment.of === 'time' ? [moment.to, moment.to] : null,
      onmoment: (ms) => state.set({ at: ms, range: '' }),
      onrange: (from, to) => state.set({ range: `${from}..${to}`, at: '' }),
    }),
  );
  return h('div', { class: 'part' }, h('h3', null, 'Held over time'), chart.element);
}

/** The whole stack of a node with a button that copies it. */
export function stackPart(context, node, title = 'Stack, from the allocation outwards') {
  return h(
    'div',
    { class: 'part' },
    h('h3', null, title, ' ', node > 0 && copyButton(stackText(context.recording, node), 'stack')),
    stackList(context, node),
  );
}

/** What is said of a place below one of its STACKS; null: it is the only one. */
export const otherStacks = (stacks) => (stacks > 1 ? h('p', { class: 'place' }, `and ${count(stacks - 1, 'other stack')} with the same place`) : null);

/** Where else the same stacks can be looked at. */
export function siteLinks({ recording, state }, site) {
  const filter = `fn:"${recording.siteName(site).replaceAll('"', '')}"`;
  const frame = recording.siteFrame(site);
  return h(
    'p',
    { class: 'elsewhere' },
    `Site #${recording.sites.id[site]}. Look at it in: `,
    h('a', { href: state.link({ page: 'flame', filter, zoom: '' }) }, 'Flame graph'),
    ' · ',
    h('a', { href: state.link({ page: 'table', filter }) }, 'Table'),
    ' · ',
    h('a', { href: state.link({ page: 'timeline', filter }) }, 'Timeline'),
    recording.fileOf(frame) && [
      ' · ',
      h('a', { href: state.link({ page: 'source', file: recording.fileOf(frame), line: recording.frames.line[frame] || '' }) }, 'Source'),
    ],
  );
}
