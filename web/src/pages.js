// SPDX-License-Identifier: MIT
// pages.js -- the pages, in the order of the navigation.
import diff from './pages/diff.js';
import flame from './pages/flame.js';
import summary from './pages/summary.js';
import table from './pages/table.js';

export const PAGES = [summary, flame, table, diff];
