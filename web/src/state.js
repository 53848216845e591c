// SPDX-License-Identifier: MIT
// state.js -- what is chosen.  It lives in the hash of the URL, so that a view can be sent: #flame?cost=peak&at=8100

/** Values that are not written.  Pages may use keys of their own; their default is ''. */
const DEFAULTS = { page: 'summary', cost: 'peak', recording: '' };
/** What is chosen of one process means nothing in another. */
export const OTHER_PROCESS = { at: '', range: '', thread: '', zoom: '', size: '', life: '' };

/** A change of one of these is a step back in the browser; others are not worth one. */
const STEPS = ['page', 'zoom', 'at', 'range', 'cost', 'thread', 'recording', 'mapped'];
const WRITE_AFTER_MS = 150;

export function parseHash(hash) {
  const [page, query = ''] = hash.replace(/^#/, '').split('?');
  const values = Object.fromEntries(new URLSearchParams(query));
  delete values.page;
  if (/^[a-z]+$/.test(page)) values.page = page;
  return values;
}

export function formatHash(values) {
  const { page = DEFAULTS.page, ...rest } = values;
  const query = new URLSearchParams(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))).toString();
  return `#${page}${query ? `?${query}` : ''}`;
}

export class State {
  #values = {};
  #defaults = { ...DEFAULTS };
  #subscribers = new Set();
  #window;
  #timer = 0;

  /** WINDOW: the browser's, or null in tests. */
  constructor(window = null) {
    this.#window = window;
    if (!window) return;
    this.#values = parseHash(window.location.hash);
    window.addEventListener('hashchange', () => this.#read());
    window.addEventListener('popstate', () => this.#read());
  }

  get(key) {
    return this.#values[key] ?? this.default(key);
  }

  default(key) {
    return this.#defaults[key] ?? '';
  }

  /** Before anything is shown: defaults that depend on the data. */
  assume(defaults) {
    Object.assign(this.#defaults, defaults);
  }

  /** All that is not default. */
  all() {
    return { ...this.#values };
  }

  /** Changes several keys at once; '' and null take back to the default. */
  set(changes) {
    const changed = [];
    for (const [key, value] of Object.entries(changes)) {
      const text = value === null || value === undefined || value === false ? '' : value === true ? '1' : String(value);
      if (text === this.get(key)) continue;
      changed.push(key);
      if (text === '' || text === this.#defaults[key]) delete this.#values[key];
      else this.#values[key] = text;
    }
    if (!changed.length) return;
    this.#write(changed.some((key) => STEPS.includes(key)));
    this.#tell(changed);
  }

  /** The URL of this state with CHANGES: for links that can be opened in another tab. */
  link(changes = {}) {
    const values = { ...this.#values };
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === '' || value === undefined || String(value) === this.#defaults[key]) delete values[key];
      else values[key] = String(value);
    }
    return formatHash(values);
  }

  /** CALLBACK(keys that changed); returns how to stop. */
  subscribe(callback) {
    this.#subscribers.add(callback);
    return () => this.#subscribers.delete(callback);
  }

  /** A text that is equal for equal values of the keys: for caches. */
  key(...keys) {
    return JSON.stringify(keys.map((k) => this.get(k)));
  }

  #tell(changed) {
    for (const callback of [...this.#subscribers]) callback(changed);
  }

  #read() {
    const values = parseHash(this.#window.location.hash);
    const keys = new Set([...Object.keys(values), ...Object.keys(this.#values)]);
    const changed = [...keys].filter((key) => (values[key] ?? this.default(key)) !== this.get(key));
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#values = values;
    if (changed.length) this.#tell(changed);
  }

  /** Browsers refuse a page that writes its address too often: small changes are gathered. */
  #write(step) {
    if (!this.#window) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    const write = (method) => this.#window.history[method](null, '', formatHash(this.#values));
    if (step) write('pushState');
    else
      this.#timer = setTimeout(() => {
        this.#timer = 0;
        write('replaceState');
      }, WRITE_AFTER_MS);
  }
}
