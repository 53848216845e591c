// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Recording } from '../src/data.js';
import { typeDifference, typeMoments, typeRows } from '../src/type-rows.js';

const recording = new Recording(
  {
    strings: ['Order', 'template', 'char'],
    type_moments: { count: 2, at: [-1, -2], bytes: [170, 60], blocks: [4, 2], known_bytes: [120, 60], exact: [1, 0] },
    types: {
      count: 5,
      at: [-1, -1, -1, -2, -2],
      name: [0, -1, -1, 0, 2],
      by: [1, -1, -1, 1, 1],
      site: -1,
      sites: 1,
      size: [40, 0, 0, 40, 1],
      bytes: [120, 30, 20, 40, 20],
      blocks: [3, 1, 1, 1, 1],
    },
    type_sites: { count: 2, type: [0, 2], site: -1, bytes: [120, 20], blocks: [3, 1] },
  },
  0,
);

test('places whose type is not known are one row', () => {
  assert.deepEqual(
    typeRows(recording, -1).map(({ name, bytes, blocks, parts }) => [name, bytes, blocks, parts.length]),
    [['Order', 120, 3, 1], ['', 50, 2, 1]],
  );
  assert.deepEqual(typeMoments(recording).map(({ at, exact }) => [at, exact]), [[-1, true], [-2, false]]);
});

test('a difference has what came, what went and what changed, the largest first', () => {
  assert.deepEqual(
    typeDifference(recording, -2, -1).map(({ name, change, changeBlocks, before }) => [name, change, changeBlocks, before]),
    [['Order', 80, 2, 40], ['', 50, 2, 0], ['char', -20, -1, 20]],
  );
});
