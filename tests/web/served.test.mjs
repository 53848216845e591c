// SPDX-License-Identifier: MIT
// Pages from `seep html --serve`: of a recording, and of a process that goes on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { bytes } from '../../web/src/format.js';
import { startBrowser } from './browser.mjs';
import { Pages, whySkipped } from './fixtures.mjs';

const skip = whySkipped();
let pages, browser;

before(async () => {
  if (skip) return;
  pages = new Pages();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  pages?.remove();
});

/** Total of a function on the table by function; undefined: no such row. */
const totalOf = (name) =>
  [...document.querySelectorAll('main .table tbody tr[data-index]')].find(
    (row) => row.children[0].textContent === name,
  )?.children[1].textContent;

async function shows(page, name, total) {
  await page.waitForFunction(`(${totalOf})(${JSON.stringify(name)}) === ${JSON.stringify(total)}`);
}

/** Nothing went wrong, and nobody but the server was asked. */
async function fine(page, url) {
  assert.deepEqual(page.troubles, []);
  assert.deepEqual(
    page.requests.filter((request) => !request.startsWith(url)),
    [],
  );
  assert.deepEqual(await page.evaluate(() => window.violations), []);
}

test(
  'a served recording is shown like its file, and asks nobody but its server',
  { skip },
  async () => {
    const { file, truth } = pages.record('served', '1');
    const url = await pages.start('html', '--serve', file).lineOf();
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
    const page = await browser.open(url, '#table?table=function&cost=live');
    await shows(page, 'second_phase', bytes(truth.second_phase.live_bytes));
    await fine(page, url);
    await page.close();
  },
);

/** The program that seep record, which must run, has started. */
function programOf(seep) {
  return readFileSync(`/proc/${seep.pid}/task/${seep.pid}/children`, 'utf8').trim().split(' ')[0];
}

test(
  'the page of a running process searches it, takes a snapshot and asks in SQL',
  { skip },
  async () => {
    const steps = pages.compile('steps');
    const recorder = pages.start(
      'record',
      '-q',
      '-o',
      `${pages.folder}/asked.seep`,
      steps,
      '+red:10:1000',
      'ready',
      'wait',
    );
    assert.equal(await recorder.lineOf(), 'ready');
    const url = await pages.start('html', '--serve', programOf(recorder)).lineOf();
    const page = await browser.open(url, '#ask');
    const said = (pattern) =>
      page.waitForFunction(
        (text) => new RegExp(text).test(document.querySelector('main').textContent),
        {},
        pattern,
      );
    const press = (label) =>
      page.$$eval(
        'main button',
        (all, text) => all.find((one) => one.textContent === text).click(),
        label,
      );
    await press('Take a snapshot');
    await said('Snapshot 1: .* live');
    await page.click('nav a[href^="#timeline"]');
    await said('S snapshot, by a command');
    await page.click('nav a[href^="#ask"]');
    await page.waitForFunction(() => document.querySelector('main').className === 'page-ask');
    await page.$eval('main textarea', (box) => {
      box.value = "SELECT live_blocks AS n FROM top WHERE function LIKE 'red%'";
    });
    await press('Run');
    await page.waitForFunction(
      () => document.querySelector('main .answer tbody td')?.textContent === '10',
    );
    await press('Search for leaks');
    await said('Searched\\.');
    await page.click('nav a[href^="#leaks"]');
    await page.waitForFunction(
      () =>
        document.querySelector('main').className === 'page-leaks' &&
        /still reachable/.test(document.querySelector('main').textContent),
    );
    await fine(page, url);
    recorder.stdin.write('\n');
    await new Promise((done) => recorder.once('exit', done));
    await page.close();
  },
);

test('the page of a running process follows what it does', { skip }, async () => {
  const steps = pages.compile('steps');
  const what = ['+red:10:1000', 'ready', 'wait', '+blue:20:3000', 'ready', 'wait'];
  const recorder = pages.start('record', '-q', '-o', `${pages.folder}/live.seep`, steps, ...what);
  assert.equal(await recorder.lineOf(), 'ready');
  const url = await pages.start('html', '--serve', programOf(recorder)).lineOf();
  const page = await browser.open(url, '#table?table=function&cost=live');
  await shows(page, 'red', bytes(10_000));
  assert.equal(await page.evaluate(`(${totalOf})('blue')`), undefined);
  recorder.stdin.write('\n');
  assert.equal(await recorder.lineOf(), 'ready');
  await shows(page, 'blue', bytes(60_000));
  await fine(page, url);
  recorder.stdin.write('\n');
  await new Promise((done) => recorder.once('exit', done));
  await page.close();
});
