// SPDX-License-Identifier: MIT
// dom.js -- elements, tables that sort and hold 100,000 rows, tooltips, menus.  Text becomes text nodes, never markup.

/** h('td', {class: 'num', onclick: f, 'aria-label': 'x'}, 'text', element, [more], null) */
export function h(tag, properties, ...children) {
  const svg = SVG_TAGS.has(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') element.setAttribute('class', value);
    else if (key === 'style') Object.entries(value).forEach(([name, text]) => element.style.setProperty(name, text));
    else if (key === 'dataset') Object.assign(element.dataset, value);
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key in element && !svg && !/^(aria|role|list|form|href)/.test(key)) element[key] = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

const SVG_TAGS = new Set(['svg', 'path', 'g', 'rect', 'line', 'polyline', 'polygon', 'circle', 'text', 'title']);

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Empties an element and fills it again. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** The same, for what has the focus: the element at its place gets it again. */
export function refill(element, ...children) {
  const path = [];
  for (let e = document.activeElement; e && e !== element && element.contains(e); e = e.parentElement)
    path.unshift([...e.parentElement.children].indexOf(e));
  fill(element, ...children);
  let at = element;
  for (const i of path) at = at?.children[i];
  if (at && at !== element) at.focus({ preventScroll: true });
  return element;
}

/** A group of buttons of which one is pressed.  OPTIONS: [{value, label, title}] */
export function choice(label, options, value, onchoose) {
  return h(
    'div',
    { class: 'choice', role: 'group', 'aria-label': label },
    options.map((option) =>
      h(
        'button',
        {
          type: 'button',
          title: option.title ?? null,
          'aria-pressed': String(option.value === value),
          onclick: () => onchoose(option.value),
        },
        option.label,
      ),
    ),
  );
}

export function checkbox(label, checked, onchange, title = null) {
  return h('label', { class: 'check', title }, h('input', { type: 'checkbox', checked, onchange: (event) => onchange(event.target.checked) }), label);
}

/** Tells people who do not see the screen. */
export function announce(text) {
  let region = document.getElementById('announce');
  if (!region) document.body.append((region = h('div', { id: 'announce', class: 'unseen', role: 'status', 'aria-live': 'polite' })));
  region.textContent = text;
}

// ---- tooltips ----

let tip = null;

export function hideTip() {
  tip?.remove();
  tip = null;
}

/** Shows CONTENT (text or elements) near a point of the window, inside of it. */
export function showTip(content, x, y) {
  hideTip();
  tip = h('div', { class: 'tip', role: 'tooltip', id: 'tip' }, content);
  document.body.append(tip);
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
  return tip;
}

/** A tooltip on hover and on focus; CONTENT(): text or elements. */
export function withTip(element, content) {
  const show = () => {
    const box = element.getBoundingClientRect();
    showTip(content(), box.left, box.bottom - 12);
    element.setAttribute('aria-describedby', 'tip');
  };
  const hide = () => {
    hideTip();
    element.removeAttribute('aria-describedby');
  };
  element.addEventListener('mouseenter', show);
  element.addEventListener('focus', show);
  element.addEventListener('mouseleave', hide);
  element.addEventListener('blur', hide);
  element.addEventListener('keydown', (event) => event.key === 'Escape' && hide());
  return element;
}

// ---- menus ----

/** A menu at a point of the window.  ITEMS: [{label, action}]; Escape or a click elsewhere closes it. */
export function menu(items, x, y) {
  const before = document.activeElement;
  const close = () => {
    box.remove();
    document.removeEventListener('pointerdown', outside, true);
    before?.focus?.();
  };
  const outside = (event) => box.contains(event.target) || close();
  const move = (step) => {
    const all = [...box.children],
      at = all.indexOf(document.activeElement);
    all[(at + step + all.length) % all.length].focus();
  };
  const keys = { Escape: close, ArrowDown: () => move(1), ArrowUp: () => move(-1), Tab: close };
  const box = h(
    'div',
    {
      class: 'menu',
      role: 'menu',
      onkeydown: (event) => {
        event.stopPropagation();
        if (keys[event.key]) {
          event.preventDefault();
          keys[event.key]();
        }
      },
    },
    items.map((item) =>
      h(
        'button',
        {
          type: 'button',
          role: 'menuitem',
          onclick: () => {
            close();
            item.action();
          },
        },
        item.label,
      ),
    ),
  );
  document.body.append(box);
  const size = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(x, innerWidth - size.width - 4))}px`;
  box.style.top = `${Math.max(4, Math.min(y, innerHeight - size.height - 4))}px`;
  document.addEventListener('pointerdown', outside, true);
  box.firstElementChild?.focus();
  return box;
}

// ---- tables ----

const ROW_PX = 26,
  SPARE_ROWS = 12,
  PRINTED_ROWS = 500;

/**
 * A table that sorts and draws only the rows that are seen.
 *
 * caption   what it lists, for people and screen readers
 * columns   [{id, label, title, numeric, value(row), cell(row)}]: value is sorted by, cell gives text or an element (default: value)
 * rows      an array of anything
 * sort      {id, descending}; onsort({id, descending}) when the user chose another
 * onopen    (row, element) on a click or Enter; selected(row): whether it is marked
 * height    of the box: a CSS length; null: as high as the rows (for short lists)
 *
 * For tables that fold: role ('treegrid'), attributes(row) of its element, arrange(rows, sort) instead of sorting, and
 * onkey(event, row, index), which gives the number of the row to go to, or -1 when the key is not for it.
 */
export class Table {
  #options;
  #rows;
  #shown = [0, 0];
  #cursor = 0;

  constructor(options) {
    this.#options = { height: null, sort: null, empty: 'Nothing to show.', ...options };
    this.body = h('tbody');
    this.head = h('tr');
    this.table = h('table', { role: options.role ?? null, 'aria-label': options.caption }, h('thead', null, this.head), this.body);
    this.element = h(
      'div',
      {
        class: 'table',
        tabindex: '0',
        role: 'region',
        'aria-label': options.caption,
        onscroll: () => this.#draw(),
        onkeydown: (event) => this.#key(event),
      },
      this.table,
    );
    if (this.#options.height) this.element.style.height = this.#options.height;
    this.body.addEventListener('click', (event) => this.#click(event));
    this.setRows(options.rows);
    addEventListener('beforeprint', (this.print = () => this.element.isConnected && this.#draw(PRINTED_ROWS)));
    this.observer = new ResizeObserver(() => this.#draw());
    this.observer.observe(this.element);
  }

  destroy() {
    removeEventListener('beforeprint', this.print);
    this.observer.disconnect();
  }

  setRows(rows) {
    this.#rows = this.#sorted([...rows]);
    this.table.setAttribute('aria-rowcount', String(this.#rows.length + 1));
    this.#cursor = Math.min(this.#cursor, Math.max(0, this.#rows.length - 1));
    this.#drawHead();
    this.#draw(0, true);
  }

  /** The rows in the order shown. */
  get rows() {
    return this.#rows;
  }

  refresh() {
    this.#draw(0, true);
  }

  #sorted(rows) {
    const { sort, columns, arrange } = this.#options,
      column = sort && columns.find((c) => c.id === sort.id);
    if (arrange) return arrange(rows, sort);
    if (!column) return rows;
    const sign = sort.descending ? -1 : 1,
      keys = new Map(rows.map((row) => [row, column.value(row)]));
    return rows.sort((a, b) => {
      const x = keys.get(a),
        y = keys.get(b);
      return x === y ? 0 : (x < y ? -1 : 1) * sign;
    });
  }

  #drawHead() {
    const { columns, sort } = this.#options;
    fill(
      this.head,
      columns.map((column) => {
        const here = sort?.id === column.id;
        const label =
          column.value && this.#options.sort
            ? h(
                'button',
                { type: 'button', title: column.title ?? null, onclick: () => this.#sortBy(column) },
                column.label,
                h('span', { class: 'arrow', 'aria-hidden': 'true' }, here ? (sort.descending ? ' ▼' : ' ▲') : ''),
              )
            : column.label;
        return h(
          'th',
          { scope: 'col', class: column.numeric ? 'num' : null, 'aria-sort': here ? (sort.descending ? 'descending' : 'ascending') : null },
          label,
        );
      }),
    );
  }

  #sortBy(column) {
    const { sort, onsort } = this.#options;
    const next = { id: column.id, descending: sort.id === column.id ? !sort.descending : Boolean(column.numeric) };
    this.#options.sort = next;
    const focused = this.head.contains(document.activeElement);
    this.setRows(this.#rows);
    if (focused) this.head.children[this.#options.columns.indexOf(column)].querySelector('button')?.focus();
    onsort?.(next);
  }

  #row(row, index) {
    const { columns, onopen, selected, attributes } = this.#options;
    const marked = selected?.(row) ?? false;
    return h(
      'tr',
      {
        'aria-rowindex': String(index + 2),
        class: onopen ? 'open' : null,
        'aria-selected': marked ? 'true' : null,
        dataset: { index: String(index) },
        tabindex: onopen ? (index === this.#cursor ? '0' : '-1') : null,
        ...attributes?.(row),
      },
      columns.map((column, i) =>
        h(
          i === 0 && column.head !== false ? 'th' : 'td',
          { scope: i === 0 && column.head !== false ? 'row' : null, class: column.numeric ? 'num' : (column.class ?? null) },
          (column.cell ?? column.value)(row),
        ),
      ),
    );
  }

  /** LEAST: how many rows must be there, for printing. */
  #draw(least = 0, always = false) {
    const rows = this.#rows.length,
      all = !this.#options.height;
    const first = all || least ? 0 : Math.max(0, Math.floor(this.element.scrollTop / ROW_PX) - SPARE_ROWS);
    const seen = Math.ceil((this.element.clientHeight || 600) / ROW_PX) + 2 * SPARE_ROWS;
    const last = Math.min(rows, all ? rows : Math.max(first + seen, least));
    if (!always && first === this.#shown[0] && last === this.#shown[1]) return;
    const focused = this.body.contains(document.activeElement);
    this.#shown = [first, last];
    const space = (count) =>
      count > 0 &&
      h(
        'tr',
        { class: 'space', 'aria-hidden': 'true', style: { height: `${count * ROW_PX}px` } },
        h('td', { colSpan: this.#options.columns.length }),
      );
    const drawn = [];
    for (let i = first; i < last; i++) drawn.push(this.#row(this.#rows[i], i));
    fill(
      this.body,
      space(first),
      drawn,
      space(rows - last),
      !rows && h('tr', null, h('td', { colSpan: this.#options.columns.length, class: 'empty' }, this.#options.empty)),
    );
    if (focused) this.#focusCursor();
  }

  #focusCursor() {
    this.body.querySelector(`tr[data-index="${this.#cursor}"]`)?.focus({ preventScroll: true });
  }

  #click(event) {
    const element = event.target.closest('tr[data-index]');
    if (!element || !this.#options.onopen || event.target.closest('a,button,input')) return;
    this.#cursor = Number(element.dataset.index);
    this.#options.onopen(this.#rows[this.#cursor], element);
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_PX) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const { onopen, onkey } = this.#options,
      row = event.target.closest('tr[data-index]');
    if (!onopen || !row || event.target.closest('a,button,input') || event.ctrlKey || event.metaKey || event.altKey) return;
    this.#cursor = Number(row.dataset.index); // the focus may have been put there from outside
    const there = onkey?.(event, this.#rows[this.#cursor], this.#cursor) ?? -1;
    if (there >= 0) {
      event.preventDefault();
      this.reveal(there);
      this.#focusCursor();
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      onopen(this.#rows[this.#cursor], row);
    } else if (event.key in steps) {
      event.preventDefault();
      this.reveal(this.#cursor + steps[event.key]);
      this.#focusCursor();
    }
  }

  /** Makes row number INDEX the one that keys are for, and scrolls it into the box. */
  reveal(index) {
    this.#cursor = Math.max(0, Math.min(this.#rows.length - 1, index));
    const box = this.element,
      top = this.#cursor * ROW_PX,
      head = this.head.offsetHeight;
    if (this.#options.height) {
      if (top < box.scrollTop) box.scrollTop = top;
      else if (top + ROW_PX + head > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_PX + head - box.clientHeight;
    }
    this.#draw(0, true);
  }
}

/** Gives a file to the user: no server needed. */
export function download(name, text, type = 'text/plain') {
  const url = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies; says so; falls back to a prompt where the browser forbids it. */
export async function copy(text, what = 'text') {
  try {
    await navigator.clipboard.writeText(text);
    announce(`Copied the ${what}.`);
  } catch {
    window.prompt(`Copy the ${what}:`, text);
  }
}
