// SPDX-License-Identifier: MIT
// The pages of findings: leaks, owners, sizes, temporaries, threads, mappings, source.  The numbers
// are those that the recorded program itself told.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { bytes, number } from '../../web/src/format.js';
import { startBrowser } from './browser.mjs';
import { Pages, whySkipped } from './fixtures.mjs';

const skip = whySkipped(),
  FACTOR = 2;
let pages, browser, truth, made;

before(async () => {
  if (skip) return;
  pages = new Pages();
  const one = pages.record('one', String(FACTOR));
  truth = one.truth;
  made = {
    one: pages.html('one', one.file),
    source: pages.html('source', '--source', 'used', one.file),
    bare: pages.sample('bare'),
    small: pages.sample('small'),
    heaps: pages.sample('heaps'),
    arenas: pages.sample('arenas'),
  };
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  pages?.remove();
});

/** Claims about a page, which must end without an error or a request. */
function claim(name, [which, hash], steps) {
  test(name, { skip }, async () => {
    const page = await browser.open(made[which], hash);
    await steps(page);
    assert.deepEqual([page.troubles, page.requests], [[], []]);
    await page.close();
  });
}

const wait = (page, condition, ...words) =>
  page.waitForFunction(condition, { timeout: 120_000 }, ...words);
const chosen = (page, pattern) =>
  wait(
    page,
    (source) => new RegExp(source).test(decodeURIComponent(window.location.hash)),
    pattern.source,
  );
const shown = (page, selector = 'main') =>
  page.$eval(selector, (element) => element.innerText.replace(/\s+/g, ' '));
const focused = (page) => page.evaluate(() => document.activeElement?.dataset?.keep ?? '');
/** The cells of the rows of the table whose caption begins so. */
const cells = (page, caption) =>
  page.$$eval(
    'main table',
    (tables, begin) => {
      const table = tables.find((one) =>
        (one.caption?.textContent ?? one.getAttribute('aria-label') ?? '').startsWith(begin),
      );
      return [...(table?.querySelectorAll('tbody tr:not(.detail)') ?? [])].map((row) =>
        [...row.children].map((cell) => cell.innerText.replace(/\s+/g, ' ').trim()),
      );
    },
    caption,
  );

/* ---- leaks */

claim('a leak has its place, its class, its bytes and blocks', ['one', '#leaks'], async (page) => {
  const [place, kind, size, , blocks] = (await cells(page, 'The worst class')).find(([first]) =>
    /lose/.test(first),
  );
  assert.match(place, /^▾? ?lose viewed\.c:\d+ ← main$/);
  assert.deepEqual(
    [kind, size, blocks],
    ['definitely lost', bytes(truth.lost_bytes), number(truth.lost_blocks)],
  );
});

claim(
  'the largest leak is open: stack, chart, rules in both forms',
  ['one', '#leaks'],
  async (page) => {
    await page.click('.detail details summary');
    const text = await shown(page, '.detail');
    assert.match(text, /Allocated by/);
    assert.match(text, /leak:/);
    assert.match(text, /Memcheck:Leak/);
  },
);

claim(
  'a class can be listed and taken away again by keyboard, and the focus stays',
  ['one', '#leaks'],
  async (page) => {
    assert.equal(
      (await cells(page, 'The worst class')).some(([, kind]) => kind === 'still reachable'),
      false,
    );
    await page.focus('[data-keep="class-reachable"]');
    await page.keyboard.press('Enter');
    await chosen(page, /classes=definite,possible,reachable/);
    assert.equal(await focused(page), 'class-reachable');
    assert.equal(
      (await cells(page, 'The worst class')).find(([first]) => /second_phase/.test(first))?.[2],
      bytes(truth.second_phase.live_bytes),
    );
    await page.keyboard.press('Enter');
    await wait(page, () => !/classes=/.test(window.location.hash));
  },
);

claim(
  'a row opens and closes by keyboard, and the focus stays on it',
  ['one', '#leaks'],
  async (page) => {
    await page.focus('.opener');
    const key = await focused(page);
    await page.keyboard.press('Enter');
    await chosen(page, /leak=none/);
    assert.equal(await page.$('#main .detail .stack'), null);
    assert.equal(await focused(page), key);
    await page.keyboard.press('Enter');
    await wait(page, () => document.querySelector('.detail .stack'));
  },
);

claim(
  'a filter leaves out leaks, and the page says that there are some',
  ['one', '#leaks?filter=fn%3Asecond_phase'],
  async (page) => {
    const text = await shown(page);
    assert.match(text, /No leaks in this choice/);
    assert.doesNotMatch(text, /Nothing is lost/);
    assert.ok(text.includes(bytes(truth.lost_bytes)), 'the sum of all stays');
  },
);

claim('leaks of before the range are left out', ['one', '#leaks?range=0..150'], async (page) => {
  assert.match(await shown(page), /No leaks in this choice/);
});

claim('what was not searched is never "no leaks"', ['bare', '#leaks'], async (page) => {
  const text = await shown(page);
  assert.match(text, /Not searched for leaks/);
  assert.doesNotMatch(text, /Nothing is lost|No leaks|fine/);
});

claim('invalid frees have both stacks', ['small', '#leaks'], async (page) => {
  const text = await page.$$eval('.detail', (all) => all.at(-1).innerText);
  assert.match(text, /Freed by/);
  assert.match(text, /Allocated by/);
});

/* ---- owners */

claim(
  'what nobody holds is told on Owners, and the order of the table is in the link',
  ['one', '#owners'],
  async (page) => {
    const tiles = await page.$$eval('.treemap .tile', (all) =>
      all.map((tile) => [...tile.children].map((part) => part.textContent)),
    );
    assert.equal(
      tiles.find(([name]) => /^lost/.test(name))[1].split(',')[0],
      bytes(truth.lost_bytes),
    );
    const before = await cells(page, 'Owners of the heap');
    await page.click('.table thead th:first-child button');
    await chosen(page, /by-owners=name/);
    const names = (await cells(page, 'Owners of the heap')).map(([name]) => name);
    assert.deepEqual(names, before.map(([name]) => name).sort());
    assert.equal(await page.evaluate(() => document.activeElement.closest('th')?.cellIndex), 0);
  },
);

/* ---- sizes and lifetimes */

claim(
  'bars chosen with the mouse narrow all pages, and Clear takes it back',
  ['one', '#sizes'],
  async (page) => {
    const bar = async (text) =>
      (
        await page.evaluateHandle(
          (wanted) =>
            [...document.querySelectorAll('.bars .bar')].find((one) =>
              one.title.startsWith(wanted),
            ),
          text,
        )
      ).boundingBox();
    const box = await bar('4.0 KiB to'),
      x = box.x + box.width / 2,
      y = box.y + box.height / 2;
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.up();
    await chosen(page, /size=4096\.\./);
    const names = (await cells(page, 'All of them')).map(([first]) => first.split(' ')[0]);
    assert.deepEqual(names, ['second_phase']);
    await page.evaluate(() => {
      window.location.hash = window.location.hash.replace('sizes', 'source');
    });
    await wait(page, () => document.querySelector('main').classList.contains('page-source'));
    assert.ok((await shown(page)).includes(bytes(truth.second_phase.live_bytes)));
    await page.click('.chip button');
    await wait(page, () => !/size=/.test(window.location.hash));
  },
);

claim('limits can be typed, and what is no size is told', ['one', '#sizes'], async (page) => {
  await page.type('[data-keep="size-0"]', 'many');
  await page.keyboard.press('Tab');
  await wait(page, () =>
    /many is not understood/.test(document.querySelector('.brush .error').textContent),
  );
  await page.$eval('[data-keep="size-0"]', (input) => {
    input.value = '';
  });
  await page.type('[data-keep="size-0"]', '4k');
  await page.keyboard.press('Tab');
  await chosen(page, /size=4096\.\./);
  assert.equal(await focused(page), 'size-1');
});

claim('bars are chosen with the keyboard, and the focus stays', ['one', '#sizes'], async (page) => {
  await page.focus('.bars .bar');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.down('Shift');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.up('Shift');
  await page.keyboard.press('Enter');
  await chosen(page, /size=\d+\.\.\d*/);
  assert.equal(await focused(page), 'size-bar-2');
  await page.keyboard.press('Escape');
  await wait(page, () => !/size=/.test(window.location.hash));
});

/* ---- temporaries, threads, mappings */

claim('temporaries have their number and what to do', ['one', '#temporaries'], async (page) => {
  const [place, times, , , average] = (await cells(page, 'Places with temporary'))[0];
  assert.match(place, /churn/);
  assert.deepEqual([times, average], [number(truth.churn.temporary), '24 B']);
  assert.match(await shown(page, '.detail'), /stack would do/);
});

claim('a thread that is chosen shows its own places only', ['one', '#threads'], async (page) => {
  const row = await page.evaluateHandle(() =>
    [...document.querySelectorAll('tr.open')].find((one) => one.textContent.includes('odd')),
  );
  await row.click();
  await chosen(page, /thread=\d/);
  const places = (await cells(page, 'The ')).map(([first]) => first.split(' ')[0]);
  assert.deepEqual(places.sort(), ['churn', 'work']);
  await page.keyboard.press('Enter');
  await wait(page, () => !/thread=/.test(window.location.hash));
});

claim('mappings add up to what is resident', ['one', '#mappings'], async (page) => {
  const rows = await cells(page, 'Where the resident memory');
  assert.deepEqual(rows.filter(([part]) => part === 'Heap').length, 1);
  const pieces = await page.$$eval('.stacked .piece', (all) =>
    all.reduce((sum, one) => sum + Number(one.style.flexGrow), 0),
  );
  assert.ok(Math.abs(pieces - 1) < 1e-6, String(pieces));
});

claim(
  'a leak has the number of its stack, which why and SQL take',
  ['one', '#leaks'],
  async (page) => {
    assert.match(await shown(page), /Site #[1-9]\d*\. Look at it in/);
  },
);

claim(
  'what is written on the parts of the heap is whole',
  ['heaps', '#fragmentation'],
  async (page) => {
    const parts = await page.$$eval('.piece', (all) =>
      all
        .filter((one) => one.firstChild)
        .map((one) => [one.textContent, one.scrollWidth > one.clientWidth]),
    );
    assert.deepEqual(parts, [
      ['live blocks68 %', false],
      ['headers10 %', false],
      ['free in holes16 %', false],
    ]);
    const text = await shown(page);
    assert.match(text, /16 % of 977\.\d KiB is free in holes, 6\.0 % at the top at/);
    assert.match(text, /free at the top [^%]* % malloc_trim\(0\) returns it/);
  },
);

claim(
  'what is free behind the last block is said first where it is most, and what returns it',
  ['arenas', '#fragmentation'],
  async (page) => {
    assert.match(await shown(page), /81 % of 4\.8 MiB is free at the top, 3\.2 % in holes/);
    assert.match(await shown(page), /free at the top [^%]* % a free\(\) of 64 KiB returns it/);
  },
);

/* ---- how tables look */

for (const id of ['types', 'owners', 'mappings', 'fragmentation']) {
  claim(
    `on ${id} a percentage is beside its bar, and bars begin at one line`,
    ['one', `#${id}`],
    async (page) => {
      const tables = await page.$$eval('main table', (all) =>
        all
          .map((table) =>
            [...table.querySelectorAll('.meter.share')].map((one) => [
              Math.round(one.firstChild.getBoundingClientRect().left),
              one.lastChild.textContent,
            ]),
          )
          .filter((rows) => rows.length),
      );
      assert.ok(tables.length > 0);
      for (const rows of tables) {
        assert.equal(new Set(rows.map(([left]) => left)).size, 1, JSON.stringify(rows));
        assert.ok(
          rows.every(([, text]) => text.endsWith('%')),
          JSON.stringify(rows),
        );
      }
    },
  );
}

for (const [width, height] of [
  [1280, 800],
  [1600, 1000],
]) {
  test(
    `the lists of the summary are whole in a window of ${width} by ${height}`,
    { skip },
    async () => {
      const page = await browser.open(made.one, '#summary', { width, height });
      await page.$$eval('.top tbody tr', (rows) =>
        rows.forEach((row) => {
          // the widest numbers that there are
          row.children[0].textContent = '1022.9 KiB';
          row.querySelector('.value').textContent = '< 0.1 %';
        }),
      );
      const cut = await page.$$eval('.top td, .top th, .top code', (all) =>
        all
          .filter(
            (one) =>
              one.scrollWidth > one.clientWidth && one.clientWidth && !one.closest('.unseen'),
          )
          .map((one) => one.textContent),
      );
      assert.deepEqual(cut, []);
      assert.ok(await page.$('.top code'));
      await page.close();
    },
  );
}

claim(
  'seep itself is in no list of mappings, the largest part comes first',
  ['one', '#mappings'],
  async (page) => {
    assert.doesNotMatch((await cells(page, 'All mappings')).flat().join(' '), /seep itself/);
    const shares = (await cells(page, 'Where the resident memory')).map((row) =>
      Number.parseFloat(row[2].replace('< ', '')),
    );
    assert.deepEqual(
      shares,
      [...shares].sort((a, b) => b - a),
    );
  },
);

/* ---- source */

claim(
  'a line has the bytes of its function, and its text when that was asked for',
  ['source', '#source?cost=live'],
  async (page) => {
    const lines = await cells(page, 'Lines with their cost'),
      second = lines.find((line) => /late\[i\] = malloc\(5000\)/.test(line[4]));
    assert.deepEqual(second.slice(0, 2), [
      bytes(truth.second_phase.live_bytes),
      bytes(truth.second_phase.live_bytes),
    ]);
  },
);

claim(
  'without the text the page says how to have it',
  ['one', '#source?cost=live'],
  async (page) => {
    const lines = await cells(page, 'Lines with their cost');
    assert.ok(lines.some(([total]) => total === bytes(truth.second_phase.live_bytes)));
    assert.match(await shown(page), /seep html --source used/);
  },
);

/* ---- nothing there */

for (const id of [
  'types',
  'fragmentation',
  'owners',
  'sizes',
  'temporaries',
  'threads',
  'mappings',
  'source',
]) {
  claim(`an empty recording has reasons on ${id}`, ['bare', `#${id}`], async (page) => {
    assert.ok(await page.$('.lead'));
    assert.ok(await page.$('.empty-state'));
  });
}
