// SPDX-License-Identifier: MIT
// main.js -- where the page begins.
import { load } from './data.js';
import { fill, h } from './dom.js';
import { Shell } from './shell.js';
import { State } from './state.js';

const root = document.getElementById('app');

/** Who gave seep html two recordings or moments wants to see what differs. */
function start(data) {
  if (data.compare && !location.hash) history.replaceState(null, '', '#diff');
  new Shell(root, data, new State(window)).start();
}

load(document).then(
  start,
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
