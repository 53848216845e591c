// SPDX-License-Identifier: MIT
// Live updates and data on demand, against a server that is a function.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { decode } from '../src/data.js';
import { Feed } from '../src/feed.js';
import { State } from '../src/state.js';
import { view } from '../src/view.js';
import { page, smallRecording } from './sample.mjs';

const reply = (json, headers = {}) => new Response(gzipSync(JSON.stringify(json)), { headers });
const pageOf = (changes, live = true) => ({ ...page({ ...smallRecording({ slices: 8 }), ...changes }), live });
const fetched = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = fetched;
});

/** A feed of a served page; SERVER(address, options) answers. */
function feedOf(json, server, state = new State()) {
  const asked = [];
  globalThis.fetch = async (address, options) => {
    asked.push({ address, tag: options.headers?.['If-None-Match'] ?? '' });
    return server(asked.length, address);
  };
  const changes = { count: 0 },
    feed = new Feed(
      { ...decode(json), path: '/t/data' },
      state,
      () => {
        changes.count++;
      },
      1,
    );
  return { feed, asked, changes, state };
}

/** Waits for a condition; fails after ten seconds. */
async function until(condition) {
  const end = Date.now() + 10_000;
  while (!condition()) {
    assert.ok(Date.now() < end, `never: ${condition}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
  }
}

test('newer data take the place of the old until the process ends', async () => {
  const { feed, asked, changes } = feedOf(pageOf({}), (n) => reply(pageOf({ cut: [`answer ${n}`] }, n < 3), { ETag: `"${n}"` }));
  feed.start();
  await until(() => !feed.live);
  assert.deepEqual(feed.recording().cut, ['answer 3']);
  assert.equal(changes.count, 3);
  assert.deepEqual(
    asked.map((one) => one.tag),
    ['', '"1"', '"2"'],
  );
});

test('an answer that nothing changed changes nothing', async () => {
  const { feed, asked, changes } = feedOf(pageOf({}), (n) => (n < 5 ? new Response(null, { status: 304 }) : reply(pageOf({}, false))));
  feed.start();
  await until(() => !feed.live);
  assert.equal(asked.length, 5);
  assert.equal(changes.count, 1);
});

test('a server that fails is told once, and asked again', async () => {
  const told = [];
  const { feed } = feedOf(pageOf({}), (n) => {
    if (n < 4) throw new Error('connection refused');
    told.push(feed.trouble);
    return reply(pageOf({}, false));
  });
  feed.start();
  await until(() => !feed.live);
  assert.match(told[0], /connection refused/);
  assert.equal(feed.trouble, '');
});

test('a page that is not served asks nobody', async () => {
  const { feed, asked } = feedOf(pageOf({}, false), () => assert.fail('was asked'));
  feed.data.path = null;
  feed.state.set({ at: 3000 });
  feed.start();
  await feed.wanted();
  assert.equal(asked.length, 0);
});

test('numbers of a moment that were cut are asked for, and shown as they are', async () => {
  const then = smallRecording({ slices: 8, factor: 3 });
  const { feed, asked, state } = feedOf(pageOf({ cut: ['small stacks'] }, false), () =>
    reply({ ...page({ ...then, changes: { count: 0 } }), view: { at: '3000ms' } }),
  );
  state.set({ at: 3000, cost: 'live' });
  const before = feed.recording();
  await feed.wanted();
  assert.deepEqual(
    asked.map((one) => one.address),
    ['/t/data?at=3000ms'],
  );
  assert.notEqual(feed.recording(), before);
  assert.equal(view(feed.recording(), state).totals.value, then.totals.live_bytes);
  state.set({ at: '' });
  assert.equal(feed.recording(), before);
});

test('a range is asked for with its unit, once', async () => {
  const { feed, asked, state } = feedOf(pageOf({ cut: ['small stacks'] }, false), () => reply(page(smallRecording({ slices: 8 }))));
  state.set({ range: '100..2000' });
  await Promise.all([feed.wanted(), feed.wanted()]);
  await feed.wanted();
  assert.deepEqual(
    asked.map((one) => new URLSearchParams(one.address.split('?')[1]).get('range')),
    ['100ms..2000ms'],
  );
});

test('a moment that cannot be had leaves what the page has', async () => {
  const { feed, state } = feedOf(pageOf({ cut: ['small stacks'] }, false), () => new Response('', { status: 500 }));
  state.set({ at: 3000 });
  await feed.wanted();
  assert.match(feed.trouble, /answered 500/);
  assert.equal(feed.recording().sites.count, 15);
});
