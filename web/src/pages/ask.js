// SPDX-License-Identifier: MIT
// ask.js -- the page of questions to the server: search the process for leaks, take a snapshot, SQL, what keeps a block alive.
import { h, fill } from '../dom.js';
import { bytes, count } from '../format.js';
import { copyButton, lead, section } from '../parts.js';

const EXAMPLES = [
  ['Largest now', 'SELECT function, live_bytes, live_blocks FROM top ORDER BY live_bytes DESC LIMIT 20'],
  ['Leaks', 'SELECT function, bytes, blocks FROM leaks'],
  ['Heap over time', 'SELECT ms, live_bytes, rss_bytes FROM timeline'],
  ['Tables and views', "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1"],
];
const ROWS_MAX = 1000;

/** A list of objects, as `seep sql --json` has it, as a table. */
function resultTable(rows) {
  if (!rows.length) return h('p', { class: 'empty' }, 'No rows.');
  const names = Object.keys(rows[0]),
    isNumber = (name) => rows.every((row) => row[name] === null || typeof row[name] === 'number');
  const numeric = new Set(names.filter(isNumber)),
    text = (value) => (value === null ? '' : String(value));
  return h(
    'div',
    { class: 'wide', tabindex: '0', role: 'region', 'aria-label': 'Result' },
    h(
      'table',
      null,
      h('caption', null, `${count(rows.length, 'row')}${rows.length > ROWS_MAX ? `, of which ${ROWS_MAX} are shown` : ''}`),
      h('thead', null, h('tr', null, names.map((name) => h('th', { scope: 'col', class: numeric.has(name) ? 'num' : null }, name)))),
      h(
        'tbody',
        null,
        rows.slice(0, ROWS_MAX).map((row) => h('tr', null, names.map((name) => h('td', { class: numeric.has(name) ? 'num' : null }, text(row[name]))))),
      ),
    ),
  );
}

/** `seep sql --json` has a list for one statement; what has several is shown one after another. */
const resultOf = (lists) => (Array.isArray(lists[0]) ? lists.map(resultTable) : resultTable(lists));

class AskPage {
  constructor(root, context) {
    this.context = context;
    this.said = h('p', { role: 'status', class: 'muted' });
    this.answer = h('div', { class: 'answer' });
    this.result = h('div', { class: 'answer' });
    this.process = h('div');
    this.sql = h('textarea', { name: 'query', rows: 3, spellcheck: false, 'aria-label': 'SQL', class: 'mono', value: context.state.get('sql') || EXAMPLES[0][1] });
    this.sql.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.#runSql();
    });
    root.append(
      lead('Questions that need more than the data in this page: the server asks the process, or the recording.'),
      this.process,
      section('What keeps a block alive', this.#whyForm(), this.answer),
      section('SQL', this.#sqlForm(), this.result),
    );
    this.update(context);
  }

  update(context) {
    this.context = context;
    if (this.live === context.feed.live) return;
    this.live = context.feed.live;
    fill(this.process, this.live && section('The process', this.#processForm(), this.said));
  }

  #processForm() {
    const label = h('input', { type: 'text', name: 'label', size: 20, placeholder: 'name', 'aria-label': 'Name of the snapshot', autocomplete: 'off' });
    return h(
      'form',
      { class: 'toolbar', onsubmit: (event) => event.preventDefault() || this.#snapshot(label.value.trim()) },
      searchButton(this.context, (text) => { this.said.textContent = text; }),
      label,
      h('button', { type: 'submit' }, 'Take a snapshot'),
    );
  }

  async #snapshot(label) {
    this.said.textContent = 'Taking a snapshot …';
    try {
      const { seq, live_bytes: live, report } = await this.context.feed.ask('snapshot', { label }, 'POST');
      this.said.textContent = `Snapshot ${seq}: ${bytes(live)} live. Its report is in ${report}.`;
      this.context.feed.now();
    } catch (error) {
      this.said.textContent = error.message;
    }
  }

  #whyForm() {
    const what = h('input', { type: 'text', name: 'what', size: 40, placeholder: 'address, #site, function or file:line', 'aria-label': 'Which block', autocomplete: 'off', spellcheck: false });
    return h('form', { class: 'toolbar', onsubmit: (event) => event.preventDefault() || this.#why(what.value.trim()) }, what, h('button', { type: 'submit' }, 'Why?'));
  }

  async #why(what) {
    if (!what) return;
    fill(this.answer, h('p', { role: 'status' }, 'Searching …'));
    try {
      const { text } = await this.context.feed.ask('why', { what });
      fill(this.answer, h('pre', { class: 'said', tabindex: '0' }, text.trimEnd()), copyButton(text, 'answer'));
    } catch (error) {
      fill(this.answer, h('p', { class: 'error', role: 'alert' }, error.message));
    }
  }

  #sqlForm() {
    return h(
      'form',
      { onsubmit: (event) => event.preventDefault() || this.#runSql() },
      this.sql,
      h(
        'div',
        { class: 'toolbar' },
        h('button', { type: 'submit', title: 'Ctrl Enter' }, 'Run'),
        EXAMPLES.map(([label, query]) => h('button', { type: 'button', class: 'plain', onclick: () => { this.sql.value = query; this.#runSql(); } }, label)),
      ),
    );
  }

  async #runSql() {
    const query = this.sql.value.trim();
    if (!query) return;
    this.context.state.set({ sql: query === EXAMPLES[0][1] ? '' : query });
    fill(this.result, h('p', { role: 'status' }, 'Asking …'));
    try {
      fill(this.result, resultOf(await this.context.feed.ask('sql', { query })));
    } catch (error) {
      fill(this.result, h('p', { class: 'error', role: 'alert' }, error.message));
    }
  }
}

/** Has the process searched; the page then shows it as it was at the search, until live updates go on.  TELL(text): how it goes. */
export function searchButton({ feed }, tell) {
  return h(
    'button',
    {
      type: 'button',
      class: 'search-leaks',
      onclick: async () => {
        tell('Searching the memory of the process …');
        try {
          await feed.search();
          tell('Searched. Leaks and Owners have what was found; the page stays at this moment until live updates go on (p).');
        } catch (error) {
          tell(error.message);
        }
      },
    },
    'Search for leaks',
  );
}

export default {
  id: 'ask',
  title: 'Ask',
  filter: false,
  memory: false,
  served: true,
  render: (root, context) => new AskPage(root, context),
};
