// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as format from '../src/format.js';

test('sizes are written as in the terminal', () => {
  const cases = [
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [1536, '1.5 KiB'],
    [1048575, '1.0 MiB'],
    [191260262, '182.4 MiB'],
    [-2048, '-2.0 KiB'],
    [2 ** 50, '1024.0 TiB'],
  ];
  for (const [value, text] of cases) assert.equal(format.bytes(value), text);
});

test('numbers have a comma at every third digit', () => {
  assert.deepEqual([0, 999, 1000, 9812330, -1234].map(format.number), ['0', '999', '1,000', '9,812,330', '-1,234']);
  assert.equal(format.number(-0.2), '0');
});

test('one block, two blocks', () => {
  assert.deepEqual(
    [0, 1, 2].map((n) => format.count(n, 'block')),
    ['0 blocks', '1 block', '2 blocks'],
  );
});

test('times take the unit that fits', () => {
  assert.deepEqual([0, 0.5, 830, 8190, 125000, 11520000].map(format.time), ['0 ms', '< 1 ms', '830 ms', '8.1 s', '2 min 5 s', '3 h 12 min']);
});

test('shares below a tenth of a percent are not shown as nothing', () => {
  assert.deepEqual(
    [
      [0, 100],
      [1, 1e6],
      [1, 100],
      [46, 100],
      [5, 0],
    ].map(([a, b]) => format.share(a, b)),
    ['0 %', '< 0.1 %', '1.0 %', '46 %', '0 %'],
  );
});

test('rates are told in the unit of time in which they are some bytes', () => {
  assert.equal(format.rate(3600 * 1024), '1.0 KiB/s');
  assert.equal(format.rate(3600), '60 B/min');
  assert.equal(format.rate(60), '60 B/h');
});

test('sizes and times that people write are read', () => {
  assert.deepEqual(['10', '1.5M', '2KiB', '3 GB', 'x', '', '-1'].map(format.parseBytes), [10, 1572864, 2048, 3e9, NaN, NaN, NaN]);
  assert.deepEqual(['800ms', '1.5s', '2', '2m', '1h', 'soon', ''].map(format.parseTime), [800, 1500, 2000, 120000, 3600000, NaN, NaN]);
});

test('long names lose what stands between angle brackets, and nothing else', () => {
  assert.equal(format.folded('Cache<std::map<int, int>, std::string>::put', 10), 'Cache<…>::put');
  assert.equal(format.folded('a<b>::c<d<e>>', 5), 'a<…>::c<…>');
  for (const name of ['main', 'operator<< <char>', 'f(bool (*)(int)) const', 'ev</script>', 'a>b<', '<']) assert.equal(format.folded(name, 3), name === 'ev</script>' ? 'ev<…>' : name);
  assert.equal(format.folded('v<int>', 10), 'v<int>');
  assert.equal(format.folded('<app::Session as core::clone::Clone>::clone', 24), 'app::Session::clone');
  assert.equal(format.folded('<&str as core::clone::Clone>::clone', 24), '<…>::clone');
});
