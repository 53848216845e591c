// SPDX-License-Identifier: MIT
// view_totals.mjs -- what the viewer shows: reads data of a page from stdin; for each choice in
// argv (JSON), the sums of its view, a line each.
import { readFileSync } from 'node:fs';
import { decode } from '../../web/src/data.js';
import { State } from '../../web/src/state.js';
import { treeOf } from '../../web/src/tree.js';
import { view } from '../../web/src/view.js';

const [recording] = decode(JSON.parse(readFileSync(0, 'utf8'))).recordings;
for (const choice of process.argv.slice(2)) {
  const state = new State();
  state.set(JSON.parse(choice));
  const shown = view(recording, state),
    { live_bytes, live_blocks, allocs, alloc_bytes, peak_bytes, temporary, weight } = shown.totals;
  const drawn = [false, true].map((inverted) => treeOf(shown, { inverted }).total[0] === weight);
  console.log(
    JSON.stringify({
      live_bytes,
      live_blocks,
      allocations: allocs,
      bytes_allocated: alloc_bytes,
      peak_bytes,
      temporary,
      drawn,
    }),
  );
}
