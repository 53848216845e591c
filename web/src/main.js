// SPDX-License-Identifier: MIT
// main.js -- where the page begins.
import { load } from './data.js';
import { fill, h } from './dom.js';
import { Shell } from './shell.js';
import { State } from './state.js';

const root = document.getElementById('app');

load(document).then(
  (data) => new Shell(root, data, new State(window)).start(),
  (error) =>
    fill(
      root,
      h(
        'main',
        { class: 'failed' },
        h('h1', null, 'seep'),
        h('p', { role: 'alert' }, `This page cannot show its recording: ${error.message}. Make it again with seep html.`),
      ),
    ),
);
