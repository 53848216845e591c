// SPDX-License-Identifier: MIT
// shortcuts.js -- the keys, in one list, and the box that shows them.
import { h } from './dom.js';
import { PAGES } from './pages.js';

const KEYS = [
  ['?', 'this list'],
  ['[ and ]', 'page before, page after'],
  ['/', 'find: the search box of the page, or the filter'],
  ['f', 'the filter box'],
  ['x', 'clear moment, range, filter and brushes'],
  ['p', 'pause and resume live updates'],
  ['Escape', 'close a tooltip, a menu, a box'],
  ['The wheel', 'zooms the timeline where the pointer was moved to a chart, with Ctrl also the flame graph; 0 or Reset zoom takes back'],
  ['Arrow keys, Enter', 'in tables, trees, charts and the flame graph: move and open'],
];

/** Rows of keys and what they do: for the box and for Help. */
export function shortcutTable() {
  const pages = PAGES.filter((page) => page.key).map((page) => [page.key, page.title]);
  return h(
    'table',
    { class: 'keys' },
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Key'), h('th', { scope: 'col' }, 'What it does'))),
    h(
      'tbody',
      null,
      [...KEYS, ...pages].map(([key, what]) => h('tr', null, h('th', { scope: 'row' }, h('kbd', null, key)), h('td', null, what))),
    ),
  );
}

export function showShortcuts() {
  const dialog = h(
    'dialog',
    { 'aria-label': 'Keyboard shortcuts', onclose: () => dialog.remove() },
    h('h2', null, 'Keyboard shortcuts'),
    shortcutTable(),
    h('form', { method: 'dialog' }, h('button', { type: 'submit' }, 'Close')),
  );
  document.body.append(dialog);
  dialog.showModal();
}
