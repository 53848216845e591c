// SPDX-License-Identifier: MIT
// feed.js -- newer data of a running process, and data on demand of a recording that was cut, from `seep html --serve`.
import { decode, unpack } from './data.js';
import { announce, h } from './dom.js';
import { momentOf, wordOfMoment } from './moments.js';

const ASK_MS = 2000;

export class Feed {
  #onchange;
  #timer = 0;
  #etag = '';
  #paused = false;
  #asked = '';
  #special = null;

  /** DATA: as load() gave it; replaced in place when newer ones come. */
  constructor(data, state, onchange, everyMs = ASK_MS) {
    this.everyMs = everyMs;
    this.data = data;
    this.state = state;
    this.trouble = '';
    this.#onchange = onchange;
  }

  get live() {
    return Boolean(this.data.path && this.data.live);
  }

  get paused() {
    return this.#paused;
  }

  /** The recording to show: of the chosen moment, where the page had to ask for it. */
  recording() {
    const { recordings } = this.data,
      usual = this.data.together ? 0 : recordings.length - 1,
      index = this.state.get('recording') === '' ? usual : Number(this.state.get('recording'));
    const own = recordings[index] ?? recordings[usual];
    return this.#special && this.#special.key === this.#key(own) ? this.#special.recording : own;
  }

  start() {
    if (this.live) this.#later();
    this.wanted();
  }

  toggle() {
    this.#paused = !this.#paused;
    announce(this.#paused ? 'Live updates paused.' : 'Live updates go on.');
    if (!this.#paused) this.#ask();
    this.#onchange();
  }

  /** What the server answers to WHAT ("sql", "why", "snapshot") with the PARAMETERS. */
  async ask(what, parameters = {}, method = 'GET') {
    const answer = await fetch(`${this.data.path.replace(/data$/, what)}?${new URLSearchParams(parameters)}`, { method, cache: 'no-store' });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.error ?? `the server answered ${answer.status}`);
    return said;
  }

  /** Has the process searched for leaks.  The page shows it as it was then, and live updates wait. */
  async search() {
    const answer = await fetch(this.data.path.replace(/data$/, 'search'), { method: 'POST', cache: 'no-store' });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? `the server answered ${answer.status}`);
    const { recordings } = decode(await unpack(await answer.arrayBuffer()));
    this.#paused = true;
    Object.assign(this.data, { recordings });
    this.#special = null;
    this.#onchange();
  }

  /** Newer data at once. */
  now() {
    if (this.live) this.#ask();
  }

  /** The mark in the head; null where nothing is live. */
  control() {
    if (!this.live) return null;
    const words = this.#paused ? '‖ paused' : '● live';
    return h(
      'button',
      {
        type: 'button',
        class: `live${this.#paused ? ' paused' : ''}`,
        'aria-pressed': String(this.#paused),
        title: this.#paused ? 'Go on with live updates (p)' : 'Pause live updates (p)',
        onclick: () => this.toggle(),
      },
      words,
    );
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), this.everyMs);
  }

  async #ask() {
    clearTimeout(this.#timer);
    if (this.#paused || !this.live) return;
    try {
      const answer = await fetch(this.data.path, { headers: this.#etag ? { 'If-None-Match': this.#etag } : {}, cache: 'no-store' });
      if (answer.status === 200 && !this.#paused) {
        this.#etag = answer.headers.get('ETag') ?? '';
        const { recordings, live } = decode(await unpack(await answer.arrayBuffer()));
        Object.assign(this.data, { recordings, live });
        this.#special = null;
        this.trouble = '';
        this.#onchange();
        this.wanted();
      } else if (answer.status !== 304 && answer.status !== 200) throw new Error(`the server answered ${answer.status}`);
    } catch (error) {
      this.#tell(`No newer data: ${error.message}. The page shows the last that came and keeps asking.`);
    }
    this.#later();
  }

  #tell(trouble) {
    if (trouble === this.trouble) return;
    this.trouble = trouble;
    this.#onchange();
  }

  // ---- on demand ----

  /** '' when the page has what the state means. */
  #key(own) {
    const moment = momentOf(own, this.state),
      choosing = moment.of === 'time' || moment.of === 'range';
    return this.data.path && own.cut.length && choosing ? this.state.key('at', 'range') : '';
  }

  /** Asks the server for the numbers of the chosen moment, if the page does not have them all. */
  async wanted() {
    const { recordings } = this.data,
      own = recordings[recordings.length - 1],
      key = this.#key(own);
    if (!key || recordings.length > 1 || this.#special?.key === key || this.#asked === key) return;
    this.#asked = key;
    const query = new URLSearchParams();
    if (this.state.get('range'))
      query.set(
        'range',
        this.state
          .get('range')
          .split('..')
          .map((end) => wordOfMoment(own, end))
          .join('..'),
      );
    else query.set('at', wordOfMoment(own, this.state.get('at')));
    try {
      const answer = await fetch(`${this.data.path}?${query}`, { cache: 'no-store' });
      if (answer.status !== 200) throw new Error(`the server answered ${answer.status}`);
      const {
        recordings: [recording],
      } = decode(await unpack(await answer.arrayBuffer()));
      for (const table of ['slices', 'marks', 'events']) if (!recording[table].count) recording[table] = own[table];
      recording.fixed = true;
      this.#special = { key, recording };
      this.trouble = '';
      this.#onchange();
    } catch (error) {
      this.#tell(`The numbers of this moment could not be had: ${error.message}. Shown are those that the page has.`);
    } finally {
      this.#asked = '';
    }
  }
}
