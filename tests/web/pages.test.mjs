// SPDX-License-Identifier: MIT
// Every page: of a real recording, with hostile names, of nothing, of very much; light, dark,
// narrow, printed; for everybody.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after, before } from 'node:test';
import { axeSource, startBrowser } from './browser.mjs';
import { ODD_ARGUMENT, Pages, whySkipped } from './fixtures.mjs';

const PAGES = [
  'summary',
  'timeline',
  'flame',
  'table',
  'leaks',
  'types',
  'owners',
  'sizes',
  'temporaries',
  'threads',
  'mappings',
  'fragmentation',
  'diff',
  'source',
  'help',
];
const skip = whySkipped();
let pages, browser, axe;
const made = {};

before(async () => {
  if (skip) return;
  pages = new Pages();
  made.real = pages.html('real', '--source', 'used', pages.record('real', '1', ODD_ARGUMENT).file);
  for (const kind of ['hostile', 'bare', 'pair', 'huge']) made[kind] = pages.sample(kind);
  browser = await startBrowser();
  axe = axeSource();
});

after(async () => {
  await browser?.close();
  pages?.remove();
});

const settled = (page) =>
  page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );

const tabs = new Map();

/** The tab of a page in a form (HOW), opened once, then led to other hashes. */
async function tabOf(kind, hash, how) {
  const key = JSON.stringify([kind, how]);
  if (!tabs.has(key)) tabs.set(key, await browser.open(made[kind], hash, how));
  const page = tabs.get(key);
  await page.bringToFront();
  await page.evaluate((wanted) => {
    window.location.hash = wanted;
  }, hash);
  const id = hash.slice(1).replace(/\?.*/, '');
  await page.waitForFunction(
    (wanted) => document.querySelector('main')?.classList.contains(`page-${wanted}`),
    {},
    id,
  );
  return page;
}

/** Shows a page, gives it to LOOK, and tells what went wrong in it. */
async function visit(kind, hash, how, look = async () => {}) {
  const page = await tabOf(kind, hash, how);
  await settled(page);
  await look(page);
  await settled(page);
  assert.deepEqual(page.troubles.splice(0), [], `${hash}: errors`);
  assert.deepEqual(page.requests.splice(0), [], `${hash}: requests`);
  assert.deepEqual(
    await page.evaluate(() => window.violations.splice(0)),
    [],
    `${hash}: violations of the policy`,
  );
}

const shown = (page) =>
  page.evaluate(() => ({
    failed: document.querySelector('.failed')?.textContent ?? '',
    title: document.title,
    current: document.querySelector('nav [aria-current=page]')?.textContent,
    text: document.querySelector('main').innerText,
  }));

test('all pages are in the navigation, in order', { skip }, () =>
  visit('real', '#summary', {}, async (page) => {
    const links = await page.$$eval('nav[aria-label=Pages] a', (all) =>
      all.map((a) => a.getAttribute('href').replace(/^#|\?.*$/g, '')),
    );
    assert.deepEqual(links, PAGES);
  }),
);

for (const id of PAGES) {
  test(
    `${id} shows a recording without an error, a request or a violation, in light and dark`,
    { skip },
    async () => {
      for (const theme of ['light', 'dark']) {
        await visit('real', `#${id}`, { theme }, async (page) => {
          const { failed, title, current, text } = await shown(page);
          assert.equal(failed, '');
          assert.ok(title.startsWith(current), `the title ${title} names the page ${current}`);
          assert.ok(text.trim().length > 40, `there is something on ${id}: ${text}`);
        });
      }
    },
  );

  test(`${id} of an empty recording says so and does not fail`, { skip }, () =>
    visit('bare', `#${id}`, {}, async (page) => {
      const { failed, text } = await shown(page);
      assert.equal(failed, '');
      assert.ok(text.trim().length > 0);
    }),
  );

  test(`${id} of 100,000 sites shows itself`, { skip }, () =>
    visit('huge', `#${id}`, {}, async (page) => {
      assert.equal((await shown(page)).failed, '');
      assert.ok(
        (await page.evaluate(() => document.querySelectorAll('*').length)) < 20_000,
        'only what is seen is in the document',
      );
    }),
  );

  test(`${id} shows hostile names as text`, { skip }, () =>
    visit('hostile', `#${id}`, {}, async (page) => {
      assert.equal(
        await page.evaluate(
          () => document.querySelectorAll('img, iframe, [onerror], script[src]').length,
        ),
        0,
      );
      assert.equal(
        await page.evaluate(() => document.body.textContent.includes('onerror=alert(1)')),
        true,
        'the name is there, as text',
      );
    }),
  );

  test(`${id} fits into a window of 800 by 600`, { skip }, () =>
    visit('real', `#${id}`, { width: 800, height: 600 }, async (page) => {
      assert.ok(
        (await page.evaluate(() => document.documentElement.scrollWidth)) <= 800,
        'nothing is wider than the window',
      );
    }),
  );

  for (const theme of ['light', 'dark']) {
    test(`${id} has no serious barrier for people with disabilities, ${theme}`, { skip }, () =>
      visit('real', `#${id}`, { theme }, async (page) => {
        await page.evaluate(axe);
        const found = await page.evaluate(() =>
          window.axe.run(document, { resultTypes: ['violations'] }),
        );
        const serious = found.violations.filter((one) =>
          ['serious', 'critical'].includes(one.impact),
        );
        assert.deepEqual(
          serious.map(
            (one) =>
              `${one.id}: ${one.nodes
                .slice(0, 3)
                .map((node) => node.html.slice(0, 150))
                .join(' | ')}`,
          ),
          [],
        );
      }),
    );
  }
}

test('the diff of two recordings has no serious barrier', { skip }, () =>
  visit('pair', '#diff', {}, async (page) => {
    await page.evaluate(axe);
    const found = await page.evaluate(() =>
      window.axe.run(document, { resultTypes: ['violations'] }),
    );
    assert.deepEqual(
      found.violations
        .filter((one) => ['serious', 'critical'].includes(one.impact))
        .map((one) => one.id),
      [],
    );
  }),
);

test('the policy allows nothing but the page itself', { skip }, () => {
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(
    readFileSync(made.real, 'utf8'),
  );
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
});

test('nothing that a program names comes into the page as markup', { skip }, () => {
  const html = readFileSync(made.real, 'utf8');
  assert.equal(html.split('</script>').length - 1, (html.match(/<script/g) ?? []).length);
  assert.doesNotMatch(html, /onerror=/);
});

test(
  'arguments, folders, tags and threads with odd names are shown letter by letter',
  { skip },
  async () => {
    await visit('real', '#summary', {}, async (page) =>
      assert.ok((await page.$eval('header', (head) => head.textContent)).includes(ODD_ARGUMENT)),
    );
    await visit('real', '#threads', {}, async (page) =>
      assert.ok((await shown(page)).text.includes('<b>odd"\'&')),
    );
    await visit('real', '#diff', {}, async (page) => {
      const options = await page.$$eval('select option', (all) =>
        all.map((option) => option.textContent),
      );
      assert.ok(
        options.some((text) => text.includes('</script><img src=x onerror=alert(1)>&lt;"\'')),
        options.join('\n'),
      );
    });
  },
);

const own = { theme: 'light', own: 'tab' };
test('light and dark differ, and the button overrules the system', { skip }, () =>
  visit('real', '#summary', own, async (page) => {
    const ground = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const isGround = (colour) =>
      getComputedStyle(document.documentElement).backgroundColor === colour;
    const becomes = (colour, other) =>
      page.waitForFunction(`(${isGround})(${JSON.stringify(colour)}) !== ${other}`);
    const light = await ground();
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await becomes(light, true);
    for (let i = 0; i < 3 && (await ground()) !== light; i++)
      await page.click('button[aria-label^="Colours"]');
    await becomes(light, false);
  }),
);

test('printed pages have their content and none of the controls', { skip }, async () => {
  for (const id of ['summary', 'flame', 'table', 'leaks']) {
    await visit('real', `#${id}`, { own: 'printed' }, async (page) => {
      await page.emulateMediaType('print');
      const seen = (selector) =>
        page.$$eval(selector, (all) => all.filter((element) => element.checkVisibility()).length);
      assert.equal(
        await seen('nav[aria-label=Pages], .tools, .toolbar'),
        0,
        `${id}: controls are hidden`,
      );
      assert.equal(await seen('main'), 1);
      assert.ok((await page.pdf()).length > 5000);
    });
  }
});

/** A4 without its margins. */
const PAPER = { width: 718, height: 1047 };

test('printed tables are as wide as the paper, and go on behind its end', { skip }, async () => {
  for (const id of ['table', 'leaks', 'types', 'owners', 'threads', 'mappings', 'diff', 'source'])
    await visit('real', `#${id}`, { own: 'wide paper', ...PAPER }, async (page) => {
      await page.emulateMediaType('print');
      const tables = await page.$$eval('main table', (all) =>
        all
          .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 1)
          .map((one) => [
            one.caption?.textContent,
            Math.round(one.getBoundingClientRect().right),
            one.closest('section') ? getComputedStyle(one.closest('section')).breakInside : 'auto',
          ]),
      );
      assert.ok(tables.length > 0, id);
      for (const [caption, right, inside] of tables) {
        assert.ok(right <= PAPER.width + 1, `${id}: ${caption} ends at ${right}`);
        assert.equal(inside, 'auto', `${id}: ${caption}`);
      }
    });
});

test('what colours mean is printed in its colour', { skip }, async () => {
  for (const [id, what] of [
    ['timeline', '.u-marker'],
    ['fragmentation', '.heap-map i.used'],
  ])
    await visit('real', `#${id}`, { own: 'ink' }, async (page) => {
      await page.emulateMediaType('print');
      await page.waitForSelector(what);
      assert.deepEqual(
        await page.$$eval(what, (all) => [
          ...new Set(all.map((one) => getComputedStyle(one).printColorAdjust)),
        ]),
        ['exact'],
      );
    });
});

test('charts are printed as wide as the paper, not cut', { skip }, () =>
  visit('real', '#timeline', { own: 'paper' }, async (page) => {
    await page.waitForSelector('.chart canvas');
    await page.emulateMediaType('print');
    const widths = await page.evaluate(() => {
      // before anything could be drawn again
      document.querySelector('main').style.width = '600px';
      return [...document.querySelectorAll('.chart, .chart canvas, .chart .u-legend')].map((one) =>
        Math.round(one.getBoundingClientRect().right),
      );
    });
    assert.ok(widths.length > 4 && Math.max(...widths) <= Math.max(600, widths[0]), String(widths));
    assert.ok(widths[0] < 700, String(widths));
  }),
);

/** A number of the page on the screen and when it is about to be printed. */
async function whenPrinted(page, measure) {
  return page.evaluate(`(() => {
    const measure = ${measure}, before = measure();
    dispatchEvent(new Event('beforeprint'));
    const printed = measure();
    dispatchEvent(new Event('afterprint'));
    return [before, printed];
  })()`);
}

for (const theme of ['light', 'dark']) {
  test(
    'a flame graph higher than the window and a long table are printed beyond what is in sight, ' +
      theme,
    { skip },
    async () => {
      await visit('huge', '#flame', { theme }, async (page) => {
        const [before, printed] = await whenPrinted(
          page,
          () => document.querySelector('.flame-canvas').clientHeight,
        );
        assert.ok(printed > before + 500, `${printed} pixels instead of ${before}`);
      });
      await visit('huge', '#table?table=function', { theme }, async (page) => {
        const [before, printed] = await whenPrinted(
          page,
          () => document.querySelectorAll('main .table tr[data-index]').length,
        );
        assert.ok(printed > before + 100, `${printed} rows instead of ${before}`);
      });
    },
  );
}

test('without data the page says what is wrong', { skip }, async () => {
  const page = await browser.open(pages.broken());
  assert.match(
    await page.$eval('[role=alert]', (alert) => alert.textContent),
    /cannot show its recording/,
  );
  await page.close();
});
