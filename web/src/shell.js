// SPDX-License-Identifier: MIT
// shell.js -- head, navigation, warnings, keyboard; and which page is shown.
import { Chosen, memoryChooser } from './chosen.js';
import { announce, fill, h, hideTip } from './dom.js';
import { base, bytes, count, date, time } from './format.js';
import { Feed } from './feed.js';
import { pagesOf } from './pages.js';
import { keepPlace } from './place.js';
import { showShortcuts } from './shortcuts.js';
import { Theme } from './theme.js';
import { hasMapped, view } from './view.js';
import { OTHER_PROCESS } from './state.js';

export class Shell {
  #page = null;
  #handle = null;
  #shown = '';

  constructor(root, data, state) {
    this.root = root;
    this.data = data;
    this.pages = pagesOf(data);
    this.state = state;
    // Where the program mapped more itself than its heap ever was, that is what the page is about.
    if (data.recordings.every((one) => one.totals.mostly_mapped)) state.assume({ mapped: 'both' });
    this.feed = new Feed(data, state, () => this.#refresh());
    this.nav = h('nav', { 'aria-label': 'Pages' });
    this.bars = h('section', { class: 'notices', 'aria-label': 'Warnings' });
    this.below = h('section', { class: 'notices', 'aria-label': 'Left out of this page' });
    this.chosen = new Chosen(state);
    this.theme = new Theme(() => this.#rebuild());
    this.main = h('main', { id: 'main', tabindex: '-1' });
    this.head = h('header');
  }

  start() {
    fill(
      this.root,
      h(
        'a',
        {
          class: 'skip',
          href: '#main',
          onclick: (event) => {
            event.preventDefault();
            this.main.focus();
          },
        },
        'Skip to the page',
      ),
      this.head,
      this.nav,
      this.bars,
      this.chosen.element,
      this.main,
      this.below,
    );
    this.state.subscribe((keys) => this.#changed(keys));
    document.addEventListener('keydown', (event) => this.#key(event));
    this.#refresh();
    this.feed.start();
  }

  /** What pages get.  The view is made when a page first asks for it. */
  context() {
    const { state, data } = this,
      recording = this.feed.recording(),
      shell = this;
    return {
      recordings: data.recordings,
      compare: data.compare,
      recording,
      state,
      get view() {
        return view(recording, state);
      },
      go: (page, changes = {}) => state.set({ page, ...changes }),
      served: data.path,
      feed: shell.feed,
    };
  }

  #current() {
    return this.pages.find((page) => page.id === this.state.get('page')) ?? this.pages[0];
  }

  #changed(keys) {
    if (keys.includes('page')) hideTip();
    if (keys.includes('recording')) {
      this.#close();
      this.#refresh();
      return;
    }
    this.feed.wanted();
    const turned = keys.includes('page'),
      inside = this.main.contains(document.activeElement);
    keepPlace(turned ? this.nav : this.root, () => {
      this.chosen.draw(this.context(), this.#current());
      this.#drawNav();
      if (turned) this.#drawNotices();
      this.#drawPage();
    });
    if (turned) {
      if (inside) this.main.focus({ preventScroll: true });
      scrollTo(0, 0);
      announce(this.#current().title);
    }
  }

  /** The data are others. */
  #refresh() {
    keepPlace(this.root, () => {
      this.#drawHead();
      this.#drawNav();
      this.#drawNotices();
      this.chosen.draw(this.context(), this.#current());
      this.#drawPage();
    });
  }

  /** Canvases have to be drawn again in other colours. */
  #rebuild() {
    this.#close();
    this.#drawPage();
  }

  #close() {
    this.#handle?.destroy?.();
    this.#handle = null;
    this.#page = null;
  }

  #drawPage() {
    const page = this.#current(),
      context = this.context();
    document.title = `${page.title} – ${context.recording.meta.program ?? 'seep'} – seep`;
    if (page === this.#page && this.#handle?.update) {
      this.#handle.update(context);
      return;
    }
    this.#close();
    this.#page = page;
    this.main.replaceChildren();
    this.main.className = `page-${page.id}`;
    this.#handle = page.render(this.main, context) ?? null;
  }

  // ---- head ----

  #drawHead() {
    const { meta } = this.feed.recording();
    const facts = [
      meta.start_unix_ms ? date(meta.start_unix_ms) : null,
      meta.host ? `on ${meta.host}` : null,
      meta.pid ? `pid ${meta.pid}` : null,
      meta.duration_ms !== undefined ? time(meta.duration_ms) : null,
      meta.end || (meta.running ? 'still running' : null),
      meta.engine ? `by ${meta.engine}` : null,
      meta.sampled ? `sampled every ${bytes(meta.sampled)}` : null,
      meta.version ? `seep ${meta.version}` : null,
    ];
    fill(
      this.head,
      h(
        'div',
        { class: 'title' },
        h(
          'h1',
          { title: [meta.program, ...(meta.args ?? []).slice(1)].join(' ') },
          h('strong', null, (meta.program ?? 'seep').startsWith('/') ? base(meta.program) : (meta.program ?? 'seep')),
          h('span', { class: 'args' }, ` ${(meta.args ?? []).slice(1).join(' ')}`),
        ),
        h('p', { class: 'facts' }, facts.filter(Boolean).join(' · ')),
        h('p', { class: 'printed' }, this.#paperTitle()),
      ),
      h(
        'div',
        { class: 'tools' },
        this.#notedLink(),
        this.#recordingChooser(),
        this.feed.control(),
        this.theme.button(),
        h('button', { type: 'button', onclick: () => showShortcuts(), title: 'Keyboard shortcuts (?)', 'aria-label': 'Keyboard shortcuts' }, '?'),
      ),
    );
  }

  /** On paper there is no navigation and no toolbar to tell what is shown. */
  #paperTitle() {
    const page = this.#current(),
      { state, view } = this.context();
    const cost = page.costs ? view.cost.short : '',
      filter = page.filter !== false && state.get('filter') ? `filter ${state.get('filter')}` : '';
    return [page.title, cost, filter].filter(Boolean).join(' · ');
  }

  #recordingChooser() {
    const { recordings } = this.data;
    if (recordings.length < 2) return null;
    const current = this.feed.recording().index,
      { together } = this.data,
      label = ({ meta, totals }, i) =>
        together ? `${base(meta.program ?? '')} (${meta.pid}), peak ${bytes(totals.peak_bytes)}` : `${i ? 'new' : 'old'}: ${meta.file ?? meta.program}`;
    return h(
      'label',
      { class: 'field' },
      together ? 'Process ' : 'Recording ',
      h(
        'select',
        { onchange: (event) => this.state.set({ ...(together ? OTHER_PROCESS : {}), recording: event.target.value }) },
        recordings.map((r, i) => h('option', { value: String(i), selected: i === current }, label(r, i))),
      ),
    );
  }

  #drawNav() {
    const current = this.#current(),
      shown = `${current.id} ${hasMapped(this.feed.recording())} ${this.state.link({})}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const focused = this.nav.contains(document.activeElement);
    fill(
      this.nav,
      h(
        'ul',
        null,
        this.pages.map((page) =>
          h(
            'li',
            null,
            h(
              'a',
              {
                href: this.state.link({ page: page.id, zoom: '', search: '' }),
                'aria-current': page === current ? 'page' : null,
              },
              page.short ?? page.title,
            ),
          ),
        ),
      ),
      memoryChooser(this.feed.recording(), this.state, current),
    );
    if (focused) this.nav.querySelector('[aria-current]')?.focus();
  }

  /** What the recording lacks is said in full on the first page, what only the page lacks at its end; on the others a mark in the head leads there. */
  #notedLink() {
    const { warnings, cut } = this.feed.recording(),
      words = [warnings.length && count(warnings.length, 'warning'), cut.length && `${cut.length} left out`].filter(Boolean).join(', ');
    this.noted = h('a', { class: 'noted', href: this.state.link({ page: 'summary' }), title: [...warnings, ...cut].join('\n'), hidden: true }, `⚠ ${words}`);
    return this.noted;
  }

  #drawNotices() {
    const { warnings, cut } = this.feed.recording();
    const notice = (kind, words, text) => h('p', { class: `notice ${kind}` }, h('strong', null, words), ' ', text);
    const all = this.#current().id === 'summary';
    fill(
      this.bars,
      all && warnings.map((text) => notice('warn', '⚠ Warning:', text)),
      this.feed.trouble && notice('warn', '⚠ Warning:', this.feed.trouble),
    );
    fill(this.below, all && cut.map((text) => notice('info', '✂ Left out:', text)));
    this.noted.hidden = all || !(warnings.length + cut.length);
  }

  // ---- keyboard ----

  #key(event) {
    if (event.key === 'Escape') hideTip();
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest?.('input, select, textarea, dialog, [role=menu]')) return;
    const action = this.#shortcut(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** The search box of the page, or the filter; a page without either has nothing to be found in: Table has. */
  #find() {
    const box = () => this.main.querySelector('input[type=search]') ?? document.getElementById('filter');
    if (!box()) this.state.set({ page: 'table' });
    box()?.focus();
    box()?.select();
  }

  #shortcut(key) {
    const step = (by) => () => this.state.set({ page: this.pages[(this.pages.indexOf(this.#current()) + by + this.pages.length) % this.pages.length].id });
    const page = this.pages.find((one) => one.key === key);
    if (page) return () => this.state.set({ page: page.id });
    return {
      '?': () => showShortcuts(),
      '[': step(-1),
      ']': step(1),
      f: () => document.getElementById('filter')?.focus(),
      '/': () => this.#find(),
      x: () => this.state.set({ at: '', range: '', filter: '', thread: '', size: '', life: '' }),
      p: this.feed.live ? () => this.feed.toggle() : null,
    }[key];
  }
}
