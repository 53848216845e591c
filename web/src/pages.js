// SPDX-License-Identifier: MIT
// pages.js -- the pages, in the order of the navigation.
import ask from './pages/ask.js';
import diff from './pages/diff.js';
import flame from './pages/flame.js';
import fragmentation from './pages/fragmentation.js';
import help from './pages/help.js';
import leaks from './pages/leaks.js';
import mappings from './pages/mappings.js';
import owners from './pages/owners.js';
import sizes from './pages/sizes.js';
import source from './pages/source.js';
import summary from './pages/summary.js';
import table from './pages/table.js';
import timeline from './pages/timeline.js';
import temporaries from './pages/temporaries.js';
import threads from './pages/threads.js';
import types from './pages/types.js';

export const PAGES = [summary, timeline, flame, table, leaks, types, owners, sizes, temporaries, threads, mappings, fragmentation, diff, source, ask, help];

/** Those that there are: some need a server, and processes of a run are not old and new. */
export const pagesOf = ({ path, recordings, together }) =>
  PAGES.filter((page) => (page.served ? path && recordings.length === 1 : !(together && page === diff)));
