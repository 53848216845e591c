// SPDX-License-Identifier: MIT
// source.js -- the page of source files: what each line costs, with its text where that is there.
import { meter } from '../charts.js';
import { costChooser, valueText } from '../controls.js';
import { checkbox, fill, h } from '../dom.js';
import { listing } from '../findings.js';
import { base, bytes, count, middle, number, share } from '../format.js';
import { fileCosts } from '../lines.js';
import { command, drawnPage, emptyState, fileArgument, keptTable, lead, notice, section } from '../parts.js';

const PATH_COLUMNS = 72;
const costs = new WeakMap();
const fetched = new Map(); // "recording file": { lines, first_line } | { trouble } | null while it is on its way

function costsOfView(view) {
  if (!costs.has(view)) costs.set(view, fileCosts(view.recording, view.weight, view.count));
  return costs.get(view);
}

/** The text of a file: of the page, or of the server, which calls again when it has come. */
function textOf({ recording, served, state }, file, again) {
  const own = recording.source.find((one) => one.file === file);
  if (own || !served) return own ?? null;
  const key = `${recording.index} ${file}`;
  if (!fetched.has(key)) {
    fetched.set(key, null);
    ask(served, recording, file)
      .then(
        (answer) => fetched.set(key, answer),
        (error) => fetched.set(key, { trouble: error.message }),
      )
      .then(() => state.get('page') === 'source' && again());
  }
  return fetched.get(key);
}

async function ask(served, recording, file) {
  const query = new URLSearchParams({ recording: recording.index, file });
  const answer = await fetch(`${served.replace(/data$/, 'source')}?${query}`);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
  const json = await answer.json();
  if (!Array.isArray(json.lines)) throw new Error('the answer of the server has no lines');
  return json;
}

function fileTable({ recording, state, view }, files, chosen) {
  const whole = view.totals.weight;
  return keptTable(state, 'files', {
    caption: 'Source files. Enter or a click opens one',
    rows: files,
    height: files.length > 12 ? '330px' : null,
    sort: { id: 'total', descending: true },
    onopen: (entry) => state.set({ file: recording.text(entry.file), line: '' }),
    selected: (entry) => recording.text(entry.file) === chosen,
    columns: [
      {
        id: 'name',
        label: 'File',
        value: (entry) => base(recording.text(entry.file)),
        cell: (entry) => [
          recording.text(entry.file) === chosen ? '✓ ' : '',
          h('code', { title: recording.text(entry.file) }, base(recording.text(entry.file))),
        ],
      },
      {
        id: 'total',
        label: 'Total',
        title: 'Of all stacks that pass through the file',
        numeric: true,
        value: (entry) => entry.total,
        cell: (entry) => meter(entry.total, whole, valueText(view.cost, entry.total)),
      },
      { id: 'share', label: 'Of all', numeric: true, value: (entry) => entry.total, cell: (entry) => share(entry.total, whole) },
      {
        id: 'own',
        label: 'Own',
        title: 'Allocated by calls in the file itself',
        numeric: true,
        value: (entry) => entry.own,
        cell: (entry) => valueText(view.cost, entry.own),
      },
      { id: 'lines', label: 'Lines', numeric: true, value: (entry) => entry.lines.length, cell: (entry) => number(entry.lines.length) },
      {
        id: 'path',
        label: 'Path',
        value: (entry) => recording.text(entry.file),
        cell: (entry) => h('span', { class: 'place', title: recording.text(entry.file) }, middle(recording.text(entry.file), PATH_COLUMNS)),
      },
    ],
  });
}

function lineTable({ state, view }, rows, hasText) {
  const most = Math.max(...rows.map((row) => row.total), 1),
    chosen = Number(state.get('line'));
  const text = (value) => (value > 0 ? valueText(view.cost, value) : '');
  const costly = (row) => row.total > 0 || row.count > 0;
  return h(
    'div',
    { class: 'listing', tabindex: '0', role: 'region', 'aria-label': 'Lines of the file', dataset: { keep: 'listing' } },
    h(
      'table',
      { class: hasText ? null : 'bare' },
      h('caption', { class: 'unseen' }, 'Lines with their cost'),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'col', class: 'num' }, 'Total'),
          h('th', { scope: 'col', class: 'num' }, 'Own'),
          h('th', { scope: 'col', class: 'num' }, 'Count'),
          h('th', { scope: 'col', class: 'num' }, 'Line'),
          hasText && h('th', { scope: 'col' }, 'Source'),
        ),
      ),
      h(
        'tbody',
        null,
        rows.map((row) =>
          h(
            'tr',
            {
              class: [costly(row) ? 'costly' : '', row.line === chosen ? 'chosen-line' : ''].join(' ').trim() || null,
              'aria-current': row.line === chosen ? 'true' : null,
              dataset: { line: String(row.line) },
            },
            h('td', { class: 'num' }, row.total > 0 ? meter(row.total, most, text(row.total)) : ''),
            h('td', { class: 'num' }, text(row.own)),
            h('td', { class: 'num' }, row.count > 0 ? number(row.count) : ''),
            h('th', { scope: 'row', class: 'num' }, row.line > 0 ? (row.line === chosen ? `▸ ${row.line}` : String(row.line)) : 'unknown'),
            hasText && h('td', { class: 'code' }, row.text),
          ),
        ),
      ),
    ),
  );
}

/** Why there is no text, and how to have it. */
function withoutText({ recording, served }, answer) {
  if (served)
    return answer?.trouble
      ? notice('warn', 'No text:', `${answer.trouble}. Lines with a cost are listed without it.`)
      : h('p', { role: 'status' }, 'Asking for the text …');
  return h(
    'p',
    { class: 'follow' },
    'Only lines with a cost are listed: the text of the source is not in this page, because pages are passed on. To have it: ',
    command(`seep html --source used ${fileArgument(recording)}`),
  );
}

function scrollTo(box, line) {
  const row = line && box.querySelector(`tr[data-line="${line}"]`);
  if (row) box.scrollTop = Math.max(0, row.offsetTop - box.clientHeight / 3);
}

/** The lines of the chosen file; drawn again by itself when the text comes from the server. */
function fileSection(context, entry) {
  const { recording, state, view } = context,
    file = recording.text(entry.file),
    box = h('div');
  const hottest = entry.lines.reduce(
    (most, line) => (line.own > most.own || (line.own === most.own && line.total > most.total) ? line : most),
    entry.lines[0],
  );
  const again = () => {
    const answer = textOf(context, file, again),
      text = answer?.lines ? answer : null;
    fill(box, text ? null : withoutText(context, answer), lineTable(context, listing(entry.lines, text), Boolean(text)));
    requestAnimationFrame(() => scrollTo(box.querySelector('.listing'), state.get('line') || hottest?.line));
  };
  again();
  const byCost = [...entry.lines].sort((a, b) => b.own - a.own || b.total - a.total).slice(0, 5);
  return section(
    base(file),
    h(
      'p',
      null,
      h('code', { class: 'place' }, file),
      ` · ${valueText(view.cost, entry.total)} ${view.cost.label}, ${share(entry.total, view.totals.weight)} of all, in ${count(entry.lines.length, 'line')} · `,
      h('a', { href: state.link({ page: 'flame', filter: `file:"${file.replaceAll('"', '')}"`, zoom: '' }) }, 'Flame graph of this file'),
    ),
    h(
      'p',
      { class: 'no-print' },
      'Go to: ',
      byCost.map((line) => [
        h(
          'button',
          { type: 'button', dataset: { keep: `go-${line.line}` }, onclick: () => state.set({ line: line.line }) },
          `line ${line.line || '?'} (${valueText(view.cost, line.own || line.total)})`,
        ),
        ' ',
      ]),
    ),
    box,
  );
}

function nothing({ recording, view }) {
  let known = false;
  for (let f = 0; f < recording.functions.count && !known; f++) known = recording.functions.file[f] >= 0;
  if (!known) {
    return emptyState(
      'No source lines are known.',
      'The program and its libraries have no debug information, or it was not found.',
      'Build with -g, or add names later: ',
      command(`seep symbolize ${fileArgument(recording)} --debug-path DIR`),
    );
  }
  return emptyState(
    `Nothing ${view.cost.label} in this choice.`,
    'The filter, the thread, the sizes or the range in the bar above leave out all stacks with known lines.',
    'Clear them, or choose another cost.',
  );
}

const notOwn = (others) =>
  emptyState(
    'No source lines of your code are known.',
    `The program has no debug information, or it was not found. ${count(others, 'file')} of libraries are hidden.`,
    'Build with -g; or see the libraries: take away Just my code.',
  );

function draw(context, keep) {
  const { recording, state, view } = context,
    { files: all, unknown } = costsOfView(view),
    own = all.filter((one) => recording.ownFiles[one.file]),
    folds = own.length < all.length,
    files = folds && state.get('wrappers') !== '1' ? own : all;
  const head = [
    lead('Which lines of the source allocate: the cost of each line, and of all that is called from it.'),
    h(
      'div',
      { class: 'toolbar' },
      costChooser(context),
      folds &&
        checkbox('Just my code', files === own, (hidden) => state.set({ wrappers: !hidden }), 'Without the files of libraries and of the language'),
      files !== all && h('span', { class: 'muted' }, `${count(all.length - own.length, 'file')} of libraries hidden`),
    ),
  ];
  if (!files.length) return [...head, all.length ? notOwn(all.length) : nothing(context)];
  const chosen = state.get('file') || recording.text(files.reduce((most, one) => (one.own > most.own ? one : most)).file),
    entry = all.find((one) => recording.text(one.file) === chosen);
  const unit = view.cost.unit === 'bytes' ? bytes : number;
  return [
    ...head,
    section(
      'Files',
      keep(fileTable(context, files, chosen)).element,
      unknown > 0
        ? h(
            'p',
            { class: 'follow' },
            `${unit(unknown)} (${share(unknown, view.totals.weight)}) are of stacks without any known line: code that was built without -g.`,
          )
        : null,
    ),
    entry
      ? fileSection(context, entry)
      : emptyState(`Nothing ${view.cost.label} in ${base(chosen)}.`, 'No stack of this choice passes through it.', 'Choose another file above.'),
  ];
}

export default drawnPage('source', 'Source', draw, { costs: true });
