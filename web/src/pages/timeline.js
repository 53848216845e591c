// SPDX-License-Identifier: MIT
// timeline.js -- heap, RSS, blocks and rates over the run; what is chosen here, every other page follows.
import { MARKS, markKind, timeChart } from '../charts.js';
import { memoryWord } from '../chosen.js';
import { Table, announce, choice, fill, h } from '../dom.js';
import { bytes, moment as momentText, number, parseTime, signed, time } from '../format.js';
import { momentOf, parseRange, textOfMark } from '../moments.js';
import { namedRises } from '../rises.js';
import { layersOf, peakBetween, slicesOf, valuesWithPeak } from '../stacked.js';

/** What was live at a mark or event. */
const heapAt = (recording, { ms, slice = -1 }) => recording.slices.live_bytes[slice >= 0 ? slice : recording.sliceAt(ms)] ?? 0;

/** How exactly the peak is known, in the words of the terminal. */
const peakText = ({ peak_bytes: most, peak_error_bytes: error }) =>
  `${bytes(most)}, the most that was live${error ? `; up to ${bytes(error)} more` : ''}`;

/** What happened, in order of time: marks of the program and of the user, events, the peak. */
function marksOf(recording) {
  const { marks, events, totals } = recording,
    list = [];
  for (let i = 0; i < marks.count; i++) {
    const seq = marks.seq[i];
    list.push({
      ms: marks.ms[i],
      when: textOfMark(i),
      slice: marks.slice[i],
      type: recording.text(marks.type[i]),
      label: [seq ? `no. ${seq}` : '', recording.text(marks.label[i])].filter(Boolean).join(', '),
      name: recording.text(marks.label[i]),
    });
  }
  for (let i = 0; i < events.count; i++) list.push({ ms: events.ms[i], type: recording.text(events.type[i]), label: recording.text(events.text[i]) });
  if (totals.peak_bytes) list.push({ ms: totals.peak_ms, when: 'peak', type: 'peak', label: peakText(totals) });
  for (const one of list) one.heap = one.type === 'peak' ? totals.peak_bytes : heapAt(recording, one);
  return list.sort((a, b) => a.ms - b.ms);
}

/** By slice: how much more per second than at the slice before. */
function rateOf(slices, key) {
  const out = new Float64Array(slices.count);
  for (let i = 1; i < slices.count; i++) {
    const ms = slices.ms[i] - slices.ms[i - 1];
    out[i] = ms > 0 ? Math.max(0, ((slices[key][i] - slices[key][i - 1]) * 1000) / ms) : out[i - 1];
  }
  if (slices.count > 1) out[0] = out[1];
  return out;
}

/** What is drawn; values are made from the slices. */
const CHARTS = [
  {
    title: 'Memory',
    label: 'Memory and RSS over the run',
    height: 260,
    named: true,
    series: [
      { label: 'heap', values: (slices) => slices.live_bytes, peak: (peak) => peak.live_bytes, color: 'heap', fill: true },
      { label: 'RSS', values: (slices) => slices.rss_bytes.map((n) => n || NaN), color: 'rss', dash: [5, 3] },
    ],
  },
  {
    title: 'Live blocks',
    label: 'Live blocks over the run',
    height: 120,
    series: [{ label: 'blocks', values: (slices) => slices.live_blocks, peak: (peak) => peak.live_blocks, color: 'blocks', form: 'count', fill: true }],
  },
  {
    title: 'Calls per second',
    label: 'Allocations and releases per second',
    height: 130,
    series: [
      { label: 'allocations', values: (slices) => rateOf(slices, 'allocs'), color: 'rate', form: 'rate' },
      { label: 'releases', values: (slices) => rateOf(slices, 'frees'), color: 'rss', form: 'rate', dash: [5, 3] },
    ],
  },
  {
    title: 'Bytes allocated per second',
    label: 'Bytes allocated per second',
    height: 120,
    series: [{ label: 'allocated', values: (slices) => rateOf(slices, 'alloc_bytes'), color: 'heap', form: 'byterate' }],
  },
];

const STACKS = [
  { value: '', label: 'places', title: 'Functions of your code that allocate' },
  { value: 'module', label: 'modules', title: 'Programs and libraries' },
  { value: 'thread', label: 'threads', title: 'Threads; stacks in which several allocate are one layer' },
  { value: 'none', label: 'nothing', title: 'One line' },
];

/** Each layer ends where the one below it ends, and so much above it. */
function layerSeries(layers, { ms }, peak) {
  let below = null,
    most = 0;
  return layers.map((layer, i) => {
    const values = layer.values.map((n, slice) => n + (below ? below[slice] : 0)),
      top = most + layer.peak;
    below = values;
    most = top;
    return { label: layer.name, values: () => values, peak: () => top, own: valuesWithPeak(layer.values, ms, peak, layer.peak), layer: true, color: layer.rest ? 'group-0' : `group-${i + 1}` };
  });
}

/** The charts of a recording as the state wants them: memory in layers, if it tells of them. */
function chartsFor(recording, state, peak) {
  const mapped = state.get('mapped'),
    layers = layersOf(recording, state.get('stack') || 'place', mapped),
    [memory, ...others] = CHARTS,
    [live, rss] = memory.series;
  const whole = { ...live, label: memoryWord(state), fill: !layers.length };
  return [{ ...memory, stacked: layers.length > 0, series: [...layerSeries(layers, recording.slices, peak), whole, rss] }, ...others];
}

/** uPlot leaves a gap where nothing is known.  The peak is a point of its own in charts that tell of it. */
function columnsOf(chart, slices, peak) {
  const columns = chart.series.map((one) => Array.from(one.values(slices), (n) => (Number.isNaN(n) ? null : n)));
  if (!peak || !chart.series.some((one) => one.peak)) return { ms: slices.ms, columns };
  return { ms: valuesWithPeak(slices.ms, slices.ms, peak, peak.ms), columns: columns.map((values, i) => valuesWithPeak(values, slices.ms, peak, chart.series[i].peak?.(peak))) };
}

const chosenOf = (recording, state) => {
  const moment = momentOf(recording, state);
  return moment.of === 'run' ? null : moment.of === 'range' ? [moment.from, moment.to] : [moment.to, moment.to];
};

class Timeline {
  constructor(root, context) {
    this.context = context;
    this.charts = [];
    this.cursor = -1; // slice under the keyboard's cursor
    this.anchor = -1; // where a range began, with Shift
    this.form = h('form', { class: 'toolbar', onsubmit: (event) => this.#typed(event) });
    this.facts = h('p', { class: 'chosen-facts', role: 'status' });
    this.slider = h('input', {
      type: 'range',
      min: '0',
      step: '1',
      onkeydown: (event) => this.#key(event),
      oninput: () => {
        this.#tell(Number(this.slider.value));
        this.#showCursor();
      },
      onchange: () => this.pointed && this.#choose(),
      onpointerdown: () => {
        this.pointed = true;
      },
      onpointerup: () => {
        this.pointed = false;
      },
    });
    this.line = h(
      'label',
      { class: 'moment-line', title: 'Arrow keys move, Enter chooses, Shift with arrow keys marks a range, Escape clears.' },
      h('span', null, 'Moment'),
      this.slider,
    );
    this.area = h('div', { class: 'charts' });
    this.list = h('section', { 'aria-labelledby': 'moments' });
    root.append(this.form, this.facts, this.line, this.area, this.list);
    this.#build();
  }

  #build() {
    const { recording, state } = this.context,
      slices = slicesOf(recording, state.get('mapped'));
    this.destroy();
    this.built = state.key('mapped', 'stack');
    this.marks = marksOf(recording);
    fill(this.area);
    this.line.hidden = slices.count < 2;
    if (slices.count < 2) {
      fill(this.form);
      this.formKey = null;
      fill(this.area, h('p', { class: 'empty' }, 'The run was too short to tell how it went: there are no moments to choose.'));
      return;
    }
    const peak = peakBetween(recording, state.get('mapped'));
    const common = {
      marks: this.marks,
      chosen: chosenOf(recording, state),
      width: this.area.clientWidth,
      onmoment: (ms) => state.set({ at: ms, range: '' }),
      onrange: (from, to) => state.set({ range: `${from}..${to}`, at: '' }),
      onzoom: (from, to) => state.set({ zoomed: from <= slices.ms[0] && to >= slices.ms[slices.count - 1] ? '' : `${from}..${to}` }),
    };
    this.charts = chartsFor(recording, state, peak).map((spec) => {
      const { ms, columns } = columnsOf(spec, slices, peak);
      const chart = timeChart({ ...common, ...spec, ms, series: spec.series.map((one, i) => ({ ...one, values: columns[i] })) });
      this.area.append(h('section', null, h('h2', null, spec.title, spec.named ? this.#stackChooser() : null), chart.element, spec.named ? this.#risesLine(slices) : null));
      return chart;
    });
    this.letters = h('p', { class: 'muted letters' });
    this.area.append(this.letters);
    this.#drawList();
    this.#drawData();
  }

  /** By what the memory is divided; null where the recording does not tell what each stack held over time. */
  #stackChooser() {
    const { recording, state } = this.context;
    if (!recording.changes.count) return null;
    return [h('span', { class: 'muted' }, ' by '), choice('Stacked by', STACKS, state.get('stack'), (stack) => state.set({ stack }))];
  }

  /** The largest rises by the place that grew the most; a click chooses the range. */
  #risesLine(slices) {
    const { recording, state } = this.context,
      rises = namedRises(recording, slices.live_bytes, state.get('mapped'));
    const ms = (slice) => (slice < 0 ? 0 : slices.ms[slice]);
    if (!rises.length) return null;
    return h(
      'p',
      { class: 'rises' },
      h('strong', null, rises.length > 1 ? 'Largest rises: ' : 'Largest rise: '),
      rises.map((rise, i) => [
        i ? ' · ' : '',
        h(
          'button',
          { type: 'button', class: 'plain', title: 'Choose this range', onclick: () => state.set({ range: `${rise.from < 0 ? '' : ms(rise.from)}..${ms(rise.to)}`, at: '' }) },
          `${momentText(ms(rise.from))} to ${momentText(ms(rise.to))}`,
        ),
        ` ${signed(rise.more)}`,
        rise.name ? [', ', h('code', null, rise.name), ` ${signed(rise.part)}`] : '',
      ]),
    );
  }

  /** What follows from the recording, below the charts and around them. */
  #drawData() {
    const { recording } = this.context;
    this.#drawLetters();
    this.table.setRows(this.marks);
    this.slider.max = String(recording.slices.count - 1);
    this.#follow();
  }

  /** What follows from the choice. */
  #follow() {
    this.#tell(Math.max(0, momentOf(this.context.recording, this.context.state).end));
    this.#zoom();
    this.#drawForm();
    this.#drawFacts();
  }

  destroy() {
    for (const chart of this.charts) chart.destroy();
    this.charts = [];
    this.table?.destroy();
    this.table = null;
  }

  update(context) {
    const { slices } = context.recording,
      newer = slices !== this.context.recording.slices;
    this.context = context;
    if (newer || this.built !== context.state.key('mapped', 'stack')) {
      this.#build();
      return;
    }
    const chosen = chosenOf(context.recording, context.state);
    for (const chart of this.charts) chart.setChosen(chosen);
    if (this.charts.length) this.#follow();
  }

  /** What the letters above the lines mean. */
  #drawLetters() {
    const types = [...new Set(this.marks.map((mark) => mark.type))].filter((type) => MARKS[type]);
    const words = types.map((type, i) => [i ? ', ' : '', h('b', null, MARKS[type].letter), ` ${MARKS[type].label}`]);
    fill(this.letters, types.length ? 'Above the charts: ' : '', words);
  }

  // ---- choosing ----

  #drawForm() {
    const { recording, state } = this.context,
      moment = momentOf(recording, state),
      chosen = chosenOf(recording, state);
    const key = state.key('at', 'range', 'zoomed', 'recording');
    if (key === this.formKey) return; // what is being typed stays
    this.formKey = key;
    const field = (name, label, value) =>
      h(
        'label',
        { class: 'field' },
        label,
        ' ',
        h('input', { name, type: 'text', size: 9, value, autocomplete: 'off', spellcheck: false, placeholder: 'as 1.5s' }),
      );
    const seconds = (ms) => `${ms / 1000}s`;
    const zoomed = parseRange(state.get('zoomed'));
    this.shownMoment = chosen && moment.of !== 'range' ? seconds(moment.to) : '';
    fill(
      this.form,
      field('at', 'Moment', this.shownMoment),
      field('from', 'or from', moment.of === 'range' ? seconds(moment.from) : ''),
      field('to', 'to', moment.of === 'range' ? seconds(moment.to) : ''),
      h('button', { type: 'submit' }, 'Choose'),
      h('button', { type: 'button', onclick: () => state.set({ at: 'peak', range: '' }) }, 'Peak'),
      chosen ? h('button', { type: 'button', onclick: () => state.set({ at: '', range: '' }) }, 'Whole run') : null,
      moment.of === 'range' ? h('button', { type: 'button', onclick: () => state.set({ zoomed: `${moment.from}..${moment.to}` }) }, 'Zoom in') : null,
      zoomed ? h('button', { type: 'button', onclick: () => state.set({ zoomed: '' }) }, 'Reset zoom') : null,
      h('span', { class: 'error', role: 'alert' }),
    );
  }

  #typed(event) {
    event.preventDefault();
    const { state, recording } = this.context,
      field = (name) => this.form.elements[name].value.trim();
    const limit = recording.meta.duration_ms ?? Infinity,
      typed = (name, without) => (field(name) === '' ? without : parseTime(field(name)));
    const [at, from, to] = [typed('at', null), typed('from', 0), typed('to', limit)];
    const other = field('at') !== '' && field('at') !== this.shownMoment; // the field that was changed counts
    const range = !other && (field('from') !== '' || field('to') !== '');
    const trouble = [at, from, to].some(Number.isNaN)
      ? 'Times are written as 800ms, 1.5s or 2m.'
      : range && to <= from
        ? 'The range ends before it begins.'
        : '';
    this.form.querySelector('.error').textContent = trouble;
    if (trouble) return;
    if (range) state.set({ range: `${Math.round(from)}..${Math.round(to)}`, at: '' });
    else state.set({ at: at === null ? '' : Math.round(Math.min(at, limit)), range: '' });
  }

  #key(event) {
    const { slices } = this.context.recording,
      last = slices.count - 1;
    const step = Math.max(1, Math.round(last / 200)),
      page = Math.max(1, Math.round(last / 20));
    const steps = {
      ArrowRight: step,
      ArrowUp: step,
      ArrowLeft: -step,
      ArrowDown: -step,
      PageUp: page,
      PageDown: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key in steps) {
      if (!event.shiftKey) this.anchor = -1;
      else if (this.anchor < 0) this.anchor = this.cursor;
      this.#tell(Math.max(0, Math.min(last, this.cursor + steps[event.key])));
      this.#showCursor();
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.#choose();
      announce('Chosen. All pages show this now.');
    } else if (event.key === 'Escape') this.context.state.set({ at: '', range: '' });
    else return;
    event.preventDefault();
  }

  /** What the cursor is at, or spans. */
  #choose() {
    const { ms } = this.context.recording.slices,
      [from, to] = [ms[this.anchor] ?? 0, ms[this.cursor]].sort((a, b) => a - b);
    this.context.state.set(
      this.anchor >= 0 && this.anchor !== this.cursor ? { range: `${from}..${to}`, at: '' } : { at: ms[this.cursor], range: '' },
    );
    this.anchor = -1;
  }

  #tell(slice) {
    const { slices } = this.context.recording,
      range = this.anchor >= 0 ? `from ${momentText(slices.ms[this.anchor])} to ` : '';
    this.cursor = slice;
    this.slider.value = String(slice);
    this.slider.setAttribute('aria-valuetext', `${range}${momentText(slices.ms[slice])}, heap ${bytes(slices.live_bytes[slice])}`);
  }

  #showCursor() {
    const { slices } = this.context.recording;
    const chosen =
      this.anchor >= 0
        ? [slices.ms[this.anchor], slices.ms[this.cursor]].sort((a, b) => a - b)
        : chosenOf(this.context.recording, this.context.state);
    for (const chart of this.charts) {
      chart.plot.setCursor({ left: chart.plot.valToPos(slices.ms[this.cursor] / 1000, 'x'), top: 10 }, false);
      chart.setChosen(chosen);
    }
  }

  #zoom() {
    const { recording, state } = this.context,
      { slices } = recording,
      zoomed = parseRange(state.get('zoomed'));
    const [min, max] = zoomed ?? [slices.ms[0], slices.ms[slices.count - 1]];
    for (const chart of this.charts)
      chart.plot.setScale('x', { min: Math.max(0, min) / 1000, max: Math.min(max, slices.ms[slices.count - 1]) / 1000 });
  }

  // ---- words ----

  #drawFacts() {
    const { recording, state } = this.context,
      { slices } = recording,
      moment = momentOf(recording, state);
    const { start, end } = moment,
      value = (key, i) => (i >= 0 ? slices[key][i] : 0),
      peak = moment.of === 'peak' ? recording.totals : null;
    if (moment.of === 'run')
      fill(
        this.facts,
        h(
          'span',
          { class: 'hint' },
          'Drag over a chart to choose a range, click to choose a moment: all pages follow. The wheel zooms. Or type times, or take one from the list below.',
        ),
      );
    else if (moment.of === 'range') {
      fill(
        this.facts,
        h('strong', null, `${moment.text} (${time(moment.to - moment.from)}): `),
        `heap ${signed(value('live_bytes', end) - value('live_bytes', start))}, blocks ${signed(value('live_blocks', end) - value('live_blocks', start), number)}, ` +
          `${number(value('allocs', end) - value('allocs', start))} allocations of ${bytes(value('alloc_bytes', end) - value('alloc_bytes', start))}, ${number(value('frees', end) - value('frees', start))} releases`,
      );
    } else
      fill(
        this.facts,
        h('strong', null, `At ${moment.text}: `),
        `heap ${bytes(peak?.peak_bytes ?? value('live_bytes', end))} in ${number(peak?.peak_blocks ?? value('live_blocks', end))} blocks, RSS ${bytes(value('rss_bytes', end))}${peak ? '' : `, ${number(value('allocs', end))} allocations so far`}`,
      );
  }

  #drawList() {
    const { state } = this.context;
    const act = (label, m, action) =>
      h('button', { type: 'button', class: 'plain', 'aria-label': `${label}: ${momentText(m.ms)}`, onclick: action }, label);
    /** From or up to M; the other end stays where it is, unless it lies beyond. */
    const rangeWith = (which, m) => {
      const { recording } = this.context,
        moment = momentOf(recording, state),
        when = m.when === undefined || m.when === 'peak' ? m.ms : m.when,
        [low, high] = moment.of === 'range' ? state.get('range').split('..') : ['', ''];
      if (which === 'from') state.set({ range: `${when}..${moment.of === 'range' && moment.to > m.ms ? high : ''}`, at: '' });
      else state.set({ range: `${moment.of === 'range' && moment.from < m.ms ? low : ''}..${when}`, at: '' });
    };
    this.table = new Table({
      caption: 'Moments of the run',
      rows: this.marks,
      sort: { id: 'ms', descending: false },
      empty: 'The recording has no tags, snapshots or events.',
      height: this.marks.length > 40 ? '420px' : null,
      columns: [
        { id: 'ms', label: 'Time', numeric: true, value: (m) => m.ms, cell: (m) => momentText(m.ms) },
        {
          id: 'type',
          label: 'What',
          value: (m) => m.type,
          cell: (m) => [h('b', { class: 'letter' }, markKind(m.type).letter), ` ${markKind(m.type).label}`],
        },
        { id: 'label', label: 'Name', value: (m) => m.label },
        { id: 'heap', label: 'Heap then', numeric: true, value: (m) => m.heap, cell: (m) => bytes(m.heap) },
        {
          id: 'choose',
          label: 'Choose',
          cell: (m) => [
            act('this moment', m, () => state.set({ at: m.when ?? m.ms, range: '' })),
            act('from here', m, () => rangeWith('from', m)),
            act('up to here', m, () => rangeWith('to', m)),
          ],
        },
      ],
    });
    fill(this.list, h('h2', { id: 'moments' }, 'Moments'), this.table.element);
  }
}

export default {
  id: 'timeline',
  title: 'Timeline',
  key: '2',
  filter: false,
  render: (root, context) => new Timeline(root, context),
};
