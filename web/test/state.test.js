// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { State, formatHash, parseHash } from '../src/state.js';

/** A window with a history that can be looked at. */
function forgedWindow(hash = '') {
  const listeners = {};
  return {
    location: { hash },
    written: [],
    history: {
      pushState(_, __, url) {
        forged.written.push(['push', url]);
        forged.location.hash = url;
      },
      replaceState(_, __, url) {
        forged.written.push(['replace', url]);
        forged.location.hash = url;
      },
    },
    addEventListener(name, callback) {
      listeners[name] = callback;
    },
    arrive(next) {
      forged.location.hash = next;
      listeners.hashchange();
    },
  };
}
let forged;

test('what is chosen is read from the address', () => {
  forged = forgedWindow('#flame?cost=live&filter=fn%3Aparse+size%3E1M');
  const state = new State(forged);
  assert.deepEqual([state.get('page'), state.get('cost'), state.get('filter')], ['flame', 'live', 'fn:parse size>1M']);
  assert.equal(state.get('thread'), '');
});

test('an address that is written is read as the same', () => {
  for (const values of [{ page: 'table', filter: 'a&b=c#d %?', range: '1..2' }, { page: 'summary' }, { page: 'diff', search: '</script> ü "' }]) {
    assert.deepEqual(parseHash(formatHash(values)), values);
  }
});

test('values that are the usual ones are not written', () => {
  forged = forgedWindow();
  const state = new State(forged);
  state.set({ page: 'timeline' });
  state.set({ page: 'summary', cost: 'peak' });
  assert.deepEqual(forged.written.at(-1), ['push', '#summary']);
});

test('subscribers hear what changed, and only when something did', () => {
  const state = new State(),
    heard = [];
  const stop = state.subscribe((keys) => heard.push(keys));
  state.set({ cost: 'live', page: 'summary' });
  state.set({ cost: 'live' });
  stop();
  state.set({ cost: 'total' });
  assert.deepEqual(heard, [['cost']]);
});

test('the way back of the browser is followed', () => {
  forged = forgedWindow('#flame?cost=live');
  const state = new State(forged),
    heard = [];
  state.subscribe((keys) => heard.push(keys.sort()));
  forged.arrive('#table?at=5');
  assert.deepEqual(heard, [['at', 'cost', 'page']]);
  assert.equal(state.get('cost'), 'peak');
});

test('a link has the state with its changes, and changes nothing', () => {
  const state = new State();
  state.set({ filter: 'x', cost: 'live' });
  assert.equal(state.link({ page: 'leaks', filter: '' }), '#leaks?cost=live');
  assert.equal(state.get('filter'), 'x');
});

test('true and false are 1 and nothing', () => {
  const state = new State();
  state.set({ inverted: true });
  assert.equal(state.get('inverted'), '1');
  state.set({ inverted: false });
  assert.deepEqual(state.all(), {});
});

test('a hash from elsewhere does no harm', () => {
  assert.deepEqual(parseHash('#<b>?page=x&a=1'), { a: '1' });
  assert.deepEqual(parseHash(''), {});
  assert.deepEqual(parseHash('#%%%?%'), { '%': '' });
});

test('a default that depends on the data holds where nothing was chosen', () => {
  forged = forgedWindow();
  const state = new State(forged);
  state.assume({ mapped: 'both' });
  assert.equal(state.get('mapped'), 'both');
  state.set({ mapped: 'heap' });
  assert.equal(state.get('mapped'), 'heap');
  assert.equal(state.link({ mapped: 'both' }), '#summary');
  state.set({ mapped: '' });
  assert.equal(state.get('mapped'), 'both');
});
