// SPDX-License-Identifier: MIT
// theme.js -- light or dark: as the system has it, or as the reader chose; on paper always light.
import { h } from './dom.js';

const THEMES = { system: '◐', light: '☀', dark: '☾' };

export class Theme {
  #dark = matchMedia('(prefers-color-scheme: dark)');
  #redraw;
  #onPaper = false;

  /** REDRAW(): what canvases show has to be drawn again in other colours. */
  constructor(redraw) {
    this.#redraw = redraw;
    this.#apply();
    this.#dark.addEventListener('change', () => this.#change());
    addEventListener('beforeprint', () => this.#paper(true));
    addEventListener('afterprint', () => this.#paper(false));
  }

  button() {
    const button = h('button', { type: 'button', onclick: () => this.#next() });
    this.shown = button;
    this.#label();
    return button;
  }

  get #chosen() {
    return localGet('theme') in THEMES ? localGet('theme') : 'system';
  }

  get #following() {
    const names = Object.keys(THEMES);
    return names[(names.indexOf(this.#chosen) + 1) % names.length];
  }

  #label() {
    const words = `Colours: ${this.#chosen}. Press for ${this.#following}.`;
    this.shown.title = words;
    this.shown.setAttribute('aria-label', words);
    this.shown.textContent = THEMES[this.#chosen];
  }

  #next() {
    localSet('theme', this.#following);
    this.#label();
    this.#change();
  }

  #change() {
    this.#apply();
    this.#redraw();
  }

  /** "system" is resolved here, so that the style sheet has each set of colours once. */
  #apply() {
    const system = this.#dark.matches ? 'dark' : 'light';
    document.documentElement.dataset.theme = this.#onPaper ? 'light' : this.#chosen === 'system' ? system : this.#chosen;
  }

  #paper(begins) {
    const before = document.documentElement.dataset.theme;
    this.#onPaper = begins;
    this.#apply();
    if (document.documentElement.dataset.theme === before) return;
    this.#redraw();
    if (begins) dispatchEvent(new Event('beforeprint')); // what was just drawn has not heard of it yet
  }
}

let memory = null;

/** Pages from files may have no storage: then the choice lasts as long as the page. */
function localGet(key) {
  try {
    return localStorage.getItem(`seep-${key}`);
  } catch {
    return memory;
  }
}

function localSet(key, value) {
  try {
    localStorage.setItem(`seep-${key}`, value);
  } catch {
    memory = value;
  }
}
