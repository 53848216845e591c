// SPDX-License-Identifier: MIT
// chosen.js -- the bar below the navigation: the filter box, and what else narrows all pages, each with a button to clear it.
import { choice, fill, h } from './dom.js';
import { bytes, moment as momentText, time } from './format.js';
import { momentOf, parseRange } from './moments.js';
import { hasMapped } from './view.js';

export class Chosen {
  constructor(state) {
    this.state = state;
    this.element = h('div', { class: 'chosen', role: 'region', 'aria-label': 'What is chosen' });
  }

  draw(context, page) {
    const { state } = this,
      chips = chosenChips(context.recording, state);
    this.context = context;
    this.element.classList.toggle('none', !chips.length && page.filter === false);
    const focused = document.activeElement?.id === 'filter';
    if (focused && this.filterInput?.value === state.get('filter')) {
      this.#fillChips(chips);
      return;
    }
    this.chips = h('div', { class: 'chips' });
    fill(this.element, page.filter === false ? null : this.#filterBox(), this.chips);
    this.#fillChips(chips);
    if (focused) this.filterInput?.focus();
  }

  #fillChips(chips) {
    fill(
      this.chips,
      chips.map((chip) =>
        h(
          'span',
          { class: 'chip' },
          h('span', null, chip.text),
          h(
            'button',
            {
              type: 'button',
              'aria-label': `Clear: ${chip.text}`,
              title: 'Clear',
              onclick: () => this.state.set(chip.clear),
            },
            '×',
          ),
        ),
      ),
      chips.length > 1
        ? h('button', { type: 'button', class: 'plain', onclick: () => this.state.set(Object.assign({}, ...chips.map((c) => c.clear))) }, 'Clear all')
        : null,
    );
    const error = this.state.get('filter') && this.context.view.filterError;
    if (error) this.chips.append(h('span', { class: 'error', role: 'alert' }, `Not filtered: ${error}`));
  }

  #filterBox() {
    let timer = 0;
    this.filterInput = h('input', {
      id: 'filter',
      type: 'search',
      value: this.state.get('filter'),
      placeholder: 'Filter: parse fn:load mod:libfoo thread:worker size>1M',
      autocomplete: 'off',
      spellcheck: false,
      title: 'Words, fn: mod: file: thread: kind:, size> count> average< lifetime>; a minus in front excludes; /x/ is a regular expression. Key: f',
      oninput: (event) => {
        clearTimeout(timer);
        timer = setTimeout(() => this.state.set({ filter: event.target.value.trim() }), 200);
      },
    });
    return h('label', { class: 'filter' }, h('span', { class: 'unseen' }, 'Filter of stacks'), this.filterInput);
  }
}

/** What narrows the view, each with how to take it back. */
export function chosenChips(recording, state) {
  const chips = [],
    moment = momentOf(recording, state);
  if (moment.of === 'range') chips.push({ text: `From ${moment.text} (${time(moment.to - moment.from)})`, clear: { range: '' } });
  else if (moment.of !== 'run') chips.push({ text: `At ${moment.text}`, clear: { at: '' } });
  if (state.get('thread') !== '') chips.push({ text: `Thread ${recording.threadLabel(Number(state.get('thread')))}`, clear: { thread: '' } });
  const brush = (key, words, form) => {
    const range = parseRange(state.get(key));
    if (!range) return;
    const [low, high] = range;
    chips.push({
      text: `${words} ${Number.isFinite(low) ? `from ${form(low)}` : ''}${Number.isFinite(high) ? ` below ${form(high)}` : ''}`,
      clear: { [key]: '' },
    });
  };
  brush('size', 'Average size', bytes);
  brush('life', 'Average lifetime', momentText);
  return chips;
}

/** Which memory the page is about; null where there are no mappings to choose. */
export function memoryChooser(recording, state, page) {
  if (page.memory === false || !hasMapped(recording)) return null;
  const options = [
      { value: state.default('mapped') ? 'heap' : '', label: 'Heap', title: 'Blocks of malloc and its relatives' },
      { value: '1', label: 'mmap', title: 'Memory that the program mapped itself, by mmap and its relatives' },
      { value: 'both', label: 'Both', title: 'The sum of heap and mmap, without stacks of threads and address space of which little was ever used' },
    ],
    value = state.get('mapped');
  return h(
    'div',
    { class: 'memory' },
    choice('Memory', options, options.some((one) => one.value === value) ? value : options[0].value, (mapped) => state.set({ mapped, zoom: '' })),
  );
}

/** In words, for headings. */
export const memoryWord = (state) => ({ 1: 'mapped memory', both: 'heap and mapped memory' })[state.get('mapped')] ?? 'heap';
