// SPDX-License-Identifier: MIT
// help.js -- how to read the pages, and the words they use.
import { WORDS } from '../glossary.js';
import { h } from '../dom.js';
import { PAGES } from '../pages.js';
import { shortcutTable } from '../shortcuts.js';

/** Page, question, answer: what beginners stumble on. */
const QUESTIONS = [
  [
    'leaks',
    'Is everything that is not freed a leak?',
    'No. There are four classes: definitely lost is an error; indirectly lost is reachable only through it; possibly lost deserves a look; reachable is in use until the end, and not an error.',
  ],
  [
    'mappings',
    'Why is RSS more than the heap?',
    'RSS is all that the process occupies: its code and libraries, stacks, mapped files, and memory that was freed but that the allocator keeps. Mappings shows where it is.',
  ],
  [
    'flame',
    'How do I read the flame graph?',
    'Each function has its colour, and library code is paler. The width is a share of bytes (or of calls), not time. A box stands on the function that called it, or hangs below it; wide boxes without anything next to them are where memory was asked for. The order from left to right means nothing but size.',
  ],
  [
    'summary',
    'Why is more allocated than the machine has?',
    '“Allocated in all” counts every byte ever asked for, and most were freed again. What the program needed at one time is the peak.',
  ],
  [
    'timeline',
    'How do I look at one phase of the run?',
    'The layers of the timeline have the names of what holds the memory, and the largest rises stand below. Drag over a phase, or take two moments from its list: all pages then show that range. A click chooses one moment. The bar at the top shows what is chosen, × clears it.',
  ],
  [
    'table',
    'How does the peak of a function differ from its part of the peak?',
    'seep shows what a stack held when the whole program held the most, so that the parts add up. The same stack may have held more at another moment: choose it on the timeline.',
  ],
  [
    'temporaries',
    'What are temporary allocations good for?',
    'They cost time, not memory. Reserve space once, keep a buffer, or pass a view instead of a copy.',
  ],
  [
    'source',
    'Why are there names but no lines, or no names?',
    'The program or library was built without debug information. Compile with -g; seep symbolize adds names to an old recording.',
  ],
  [
    'diff',
    'Can I compare two runs?',
    'seep html OLD NEW shows both and the difference; two snapshots of one recording can be compared on the page Diff. Compare builds made with the same options only.',
  ],
];

const FILTERS = [
  ['parse', 'stacks with “parse” in a function, file or module'],
  ['fn:parse  mod:libpng  file:image.c', 'only in that kind of name'],
  ['thread:worker', 'what these threads allocated'],
  ['kind:new', 'only this function of allocation'],
  ['size>1M  count>10', 'more bytes than that of the chosen cost; more blocks or calls'],
  ['average<64  lifetime>2s', 'what its blocks are like on average'],
  ['-render', 'not this'],
  ['/^png_/', 'a regular expression'],
];

const table = (caption, heads, rows) =>
  h(
    'table',
    null,
    h('caption', { class: 'unseen' }, caption),
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        heads.map((head) => h('th', { scope: 'col' }, head)),
      ),
    ),
    h(
      'tbody',
      null,
      rows.map(([first, ...rest]) =>
        h(
          'tr',
          null,
          h('th', { scope: 'row' }, first),
          rest.map((cell) => h('td', null, cell)),
        ),
      ),
    ),
  );

export default {
  id: 'help',
  title: 'Help',
  filter: false,
  memory: false,
  render(root, { state, recording }) {
    root.append(
      h(
        'section',
        null,
        h('h2', null, 'Questions'),
        h(
          'dl',
          { class: 'questions' },
          QUESTIONS.map(([page, question, answer]) => [
            h('dt', null, question),
            h('dd', null, answer, ' ', h('a', { href: state.link({ page }) }, `Open ${PAGES.find(({ id }) => id === page).title}`)),
          ]),
        ),
      ),
      h(
        'section',
        null,
        h('h2', null, 'The filter box'),
        h('p', null, 'Every word must fit. It works on all pages that list stacks.'),
        table(
          'Filters',
          ['Write', 'What is shown'],
          FILTERS.map(([write, what]) => [h('code', null, write), what]),
        ),
      ),
      h(
        'section',
        null,
        h('h2', null, 'Words'),
        h(
          'dl',
          { class: 'words' },
          Object.entries(WORDS)
            .sort(([a], [b]) => a.localeCompare(b, 'en'))
            .map(([word, meaning]) => h('div', null, h('dt', null, word), h('dd', null, meaning))),
        ),
      ),
      h('section', null, h('h2', null, 'Keys'), shortcutTable()),
      h(
        'section',
        null,
        h('h2', null, 'Units and sharing'),
        h('p', null, 'KiB, MiB and GiB are powers of 1024. Bytes are those that the program asked for. Times count from the start of the recording.'),
        h(
          'p',
          null,
          'What you have chosen is in the address of the page: send it with the file, and others see the same. The page loads nothing from the network; it contains names of functions and files and the arguments of the program',
          recording.source.length ? ', and source text' : '',
          '.',
        ),
      ),
    );
  },
};
