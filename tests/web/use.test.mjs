// SPDX-License-Identifier: MIT
// Using the page: what is chosen on one page is chosen on all; search, zoom, diff, tables,
// keyboard, links.  The numbers are those that the recorded program itself told.
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { bytes } from '../../web/src/format.js';
import { startBrowser } from './browser.mjs';
import { Pages, whySkipped } from './fixtures.mjs';

const skip = whySkipped();
let pages, browser, one, two, made;

before(async () => {
  if (skip) return;
  pages = new Pages();
  one = pages.record('one', '1');
  two = pages.record('two', '3', 'more');
  made = {
    one: pages.html('one', one.file),
    both: pages.html('both', one.file, two.file),
    tags: pages.html('tags', `${one.file}@between`, one.file),
    huge: pages.sample('huge'),
  };
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  pages?.remove();
});

/** A page of its own for each test, which must end without an error. */
function using(name, which, hash, steps) {
  test(name, { skip }, async () => {
    const page = await browser.open(made[which], hash, { motion: 'reduce' });
    await steps(page);
    assert.deepEqual(page.troubles, []);
    assert.deepEqual(page.requests, []);
    await page.close();
  });
}

const hashOf = (page) => page.evaluate(() => window.location.hash);
const textOf = (page, selector) => page.$eval(selector, (element) => element.textContent);
const until = (page, condition, ...words) => page.waitForFunction(condition, {}, ...words);
const spoken = (page) =>
  page.evaluate(() => document.getElementById('announce')?.textContent ?? '');

/** The rows of the table on the page: [[cells], ...]. */
const rowsOf = (page) =>
  page.$$eval('main .table tbody tr[data-index]', (rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())),
  );
const rowNamed = async (page, name) =>
  (await rowsOf(page)).find(([first]) => first.replace(/^[▸▾]/, '') === name);

/** Leads the tab to another page of the document, as a link does. */
async function go(page, id) {
  await page.click(`nav[aria-label=Pages] a[href^="#${id}"]`);
  await until(
    page,
    (wanted) => document.querySelector('main').classList.contains(`page-${wanted}`),
    id,
  );
}

async function press(page, button) {
  await (
    await until(
      page,
      (text) =>
        [...document.querySelectorAll('main button')].find(
          (one) => one.textContent.trim() === text,
        ),
      button,
    )
  ).click();
}

/** The middle of a frame of the flame graph: searched on the canvas by what the tooltip says. */
async function frameNamed(page, name, row) {
  const box = await (await page.$('.flame-scroll')).boundingBox(),
    y = box.y + row * 20 + 10;
  for (let x = box.x + 4; x < box.x + box.width; x += 12) {
    await page.mouse.move(x, y);
    const title = await page.evaluate(
      () => document.querySelector('.tip strong')?.textContent ?? '',
    );
    if (title.replace(/\(.*/, '') === name) return { x, y };
  }
  throw new Error(`no frame ${name} in row ${row}`);
}

/* ---- numbers */

using(
  'functions in the table have the bytes that the program says',
  'one',
  '#table?table=function&cost=live',
  async (page) => {
    for (const name of ['first_phase', 'second_phase', 'descend', 'work']) {
      const [, total, , self] = await rowNamed(page, name);
      assert.equal(total, bytes(one.truth[name].live_bytes), name);
      assert.equal(self, total);
    }
  },
);

using(
  'temporary allocations are those that the program freed at once',
  'one',
  '#table?table=function&cost=temporary',
  async (page) => {
    assert.equal(
      (await rowNamed(page, 'churn'))[1].replaceAll(',', ''),
      String(one.truth.churn.temporary),
    );
  },
);

using('what was lost is on Leaks', 'one', '#leaks', async (page) => {
  const text = await page.$eval('main', (main) => main.innerText);
  assert.ok(text.includes('lose'), text.slice(0, 500));
  assert.ok(text.includes(bytes(one.truth.lost_bytes)), text.slice(0, 500));
});

using(
  'the table can be taken along as CSV',
  'one',
  '#table?table=function&cost=live',
  async (page) => {
    await page.evaluate(() => {
      const make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (blob) => {
        window.saved = blob.text();
        return make(blob);
      };
    });
    await press(page, 'Download CSV');
    await until(page, () => window.saved);
    const lines = (await page.evaluate(() => window.saved)).trim().split('\r\n');
    assert.equal(lines[0].split(',')[0], 'function');
    const line = lines.find((text) => text.startsWith('second_phase,')).split(',');
    assert.equal(Number(line[1]), one.truth.second_phase.live_bytes);
  },
);

using(
  'the timeline is made of layers with the names and the bytes of the functions',
  'one',
  '#timeline',
  async (page) => {
    const legend = await page.$eval('main .u-legend', (one) =>
      [...one.querySelectorAll('.u-series')].map((row) => row.textContent.trim()),
    );
    for (const name of ['first_phase', 'second_phase', 'descend', 'work']) {
      assert.ok(
        legend.some(
          (text) => text.startsWith(name) && text.endsWith(bytes(one.truth[name].live_bytes)),
        ),
        `${name}: ${legend}`,
      );
    }
    assert.match(await textOf(page, 'main .rises'), /second_phase|first_phase/);
  },
);

using('two recordings begin with old and new side by side', 'both', '', async (page) => {
  const rows = await page.$$eval('main > table:first-child tbody tr', (all) =>
    all.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
  const row = (name) => rows.find(([first]) => first === name),
    lost = bytes(one.truth.lost_bytes);
  assert.deepEqual(row('Definitely lost'), ['Definitely lost', lost, lost, '0 B', '']);
  assert.equal(row('Peak heap').length, 5);
  // and that of only_here
  const more = two.truth.second_phase.live_blocks - one.truth.second_phase.live_blocks + 1;
  assert.equal(row('Blocks at the end')[3], `+${more}`);
});

/* ---- what is chosen is chosen everywhere */

using(
  'heap, mmap or both is chosen for all pages that have stacks',
  'one',
  '#table?table=function&cost=live',
  async (page) => {
    const pressed = () => textOf(page, 'nav .memory [aria-pressed=true]');
    assert.equal(await pressed(), 'Heap');
    assert.ok(await rowNamed(page, 'first_phase'));
    await page.click('nav .memory button:nth-child(2)');
    await until(page, () => /mapped=1/.test(window.location.hash));
    assert.equal(await rowNamed(page, 'first_phase'), undefined);
    await go(page, 'flame');
    assert.equal(await pressed(), 'mmap');
    await page.click('nav .memory button:nth-child(3)');
    await until(page, () => /mapped=both/.test(window.location.hash));
    await go(page, 'table');
    assert.equal((await rowNamed(page, 'first_phase'))[1], bytes(one.truth.first_phase.live_bytes));
  },
);

using(
  'the key / finds: in the search box of the page, or in the table',
  'one',
  '#flame',
  async (page) => {
    await page.keyboard.press('/');
    assert.equal(
      await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
      'Search functions',
    );
    await page.evaluate(() => document.activeElement.blur());
    await go(page, 'timeline');
    await page.keyboard.press('/');
    await until(
      page,
      () =>
        document.querySelector('main').classList.contains('page-table') &&
        document.activeElement.id === 'filter',
    );
  },
);

using(
  'Ctrl and the wheel zoom into the flame graph, and a button takes back',
  'one',
  '#flame',
  async (page) => {
    const box = await (await page.$('.flame-scroll')).boundingBox(),
      hidden = (is) =>
        until(
          page,
          (wanted) =>
            [...document.querySelectorAll('main button')].find(
              (one) => one.textContent === 'Reset zoom',
            ).hidden === wanted,
          is,
        );
    await hidden(true);
    await page.mouse.move(box.x + 20, box.y + 30);
    await page.keyboard.down('Control');
    await page.mouse.wheel({ deltaY: -400 });
    await page.keyboard.up('Control');
    await hidden(false);
    await press(page, 'Reset zoom');
    await hidden(true);
  },
);

using(
  'the wheel zooms a chart that the pointer was moved to, ' +
    'and whoever scrolls the page goes on scrolling it',
  'one',
  '#timeline',
  async (page) => {
    const turn = (deltaY) => page.mouse.wheel({ deltaY }),
      zoomed = () => until(page, () => /zoomed=\d/.test(window.location.hash));
    const scrolled = (more, from) =>
      until(page, (down, y) => (down ? window.scrollY > y : window.scrollY < y), more, from);
    const box = await (await page.$('main .chart .u-over')).boundingBox(),
      at = (x, y) => page.mouse.move(box.x + x, box.y + y);
    await at(300, 60);
    await turn(-300);
    await zoomed();
    assert.equal(await page.evaluate(() => window.scrollY), 0);
    await turn(2000); // out again, and not one pixel of the page
    await until(page, () => !/zoomed=/.test(window.location.hash));
    assert.equal(await page.evaluate(() => window.scrollY), 0);
    await turn(60); // there is no more to show
    await scrolled(true, 0);
    await turn(-30); // the pointer rests where the page was scrolled
    await scrolled(false, 60);
    assert.doesNotMatch(await hashOf(page), /zoomed=/);
    await at(380, 60);
    await turn(-300);
    await zoomed();
    await press(page, 'Reset zoom');
    await until(page, () => !/zoomed=/.test(window.location.hash));
  },
);

using(
  'a tag chosen on the timeline is what Summary and the flame graph are of',
  'one',
  '#timeline',
  async (page) => {
    await page.$$eval('main .table tbody tr', (rows) =>
      rows
        .find((row) => /between/.test(row.textContent))
        .querySelector('button')
        .click(),
    );
    await until(page, () => /at=m\d/.test(window.location.hash));
    assert.match(await textOf(page, '.chips'), /At tag between, /);
    await go(page, 'summary');
    assert.match(await textOf(page, 'main .chosen-facts'), /^At tag between, .* live in \d/);
    await go(page, 'flame');
    assert.match(await hashOf(page), /at=m\d/);
  },
);

using(
  'a printed table is no wider than the paper and says what it shows',
  'one',
  '#table?filter=fn:main&cost=total',
  async (page) => {
    await page.setViewport({ width: 720, height: 1000 });
    await page.emulateMediaType('print');
    assert.match(await textOf(page, 'header .printed'), /^Table · Allocated · filter fn:main$/);
    assert.equal(
      await page.evaluate(
        () =>
          document.querySelector('main table').getBoundingClientRect().width <= window.innerWidth,
      ),
      true,
    );
  },
);

using(
  'a range dragged on the timeline is the range of every page',
  'one',
  '#timeline',
  async (page) => {
    const plot = await (await page.$('.u-over')).boundingBox(),
      y = plot.y + plot.height / 2;
    await page.mouse.move(plot.x + plot.width * 0.5, y);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width * 0.7, y, { steps: 5 });
    await page.mouse.move(plot.x + plot.width - 3, y, { steps: 5 });
    await page.mouse.up();
    await until(page, () => /range=/.test(window.location.hash));
    const chips = await textOf(page, '.chips');
    assert.match(chips, /From /);
    await go(page, 'table');
    await press(page, 'Function');
    await press(page, 'Not freed');
    await until(page, () => /second_phase/.test(document.querySelector('.table')?.textContent));
    assert.equal(
      await rowNamed(page, 'first_phase'),
      undefined,
      'the first phase was before the range',
    );
    assert.equal(
      (await rowNamed(page, 'second_phase'))[1],
      bytes(one.truth.second_phase.live_bytes),
    );
    await go(page, 'flame');
    assert.match(await hashOf(page), /range=/);
    const found = await page.$('input[type=search][aria-label="Search functions"]');
    await found.type('first_phase');
    await until(page, () => /not found/.test(document.querySelector('.found').textContent));
    await page.click('.chip button');
    await until(page, () => /1 frame/.test(document.querySelector('.found').textContent));
  },
);

using('a filter typed on one page narrows the others', 'one', '#flame?cost=live', async (page) => {
  await page.type('#filter', 'fn:second_phase');
  await until(page, () => /filter=fn/.test(window.location.hash));
  await go(page, 'table');
  await press(page, 'Function');
  await until(page, () => document.querySelector('main .table'));
  assert.deepEqual((await rowsOf(page)).map(([name]) => name).sort(), ['main', 'second_phase']);
});

using('a filter that makes no sense is refused with a reason', 'one', '#flame', async (page) => {
  await page.type('#filter', 'size>many');
  await until(page, () => /Not filtered/.test(document.querySelector('.chips').textContent));
});

using(
  'a row by function leads to its stacks, a row by thread to what the thread did',
  'one',
  '#table?table=thread&cost=total',
  async (page) => {
    const at = (await rowsOf(page)).findIndex(([name]) => name === '<b>odd"\'&');
    assert.ok(at >= 0);
    await page.click(`main .table tr[data-index="${at}"]`);
    await until(page, () => /thread=/.test(window.location.hash));
    const names = (await rowsOf(page)).map(([name]) => name.replace(/^[▸▾]/, ''));
    assert.ok(
      names.includes('work') && names.includes('churn') && !names.includes('first_phase'),
      names.join(),
    );
  },
);

/* ---- flame graph */

using(
  'search tells how many frames match and their share',
  'one',
  '#flame?cost=live',
  async (page) => {
    const search = 'input[type=search][aria-label="Search functions"]';
    await page.type(search, 'DESCEND');
    await until(page, () => /^1 frame,/.test(document.querySelector('.found').textContent));
    await page.$eval(search, (input) => {
      input.value = '';
    });
    await page.type(search, '/^(first|second)_phase$/');
    await until(page, () => /^2 frames/.test(document.querySelector('.found').textContent));
    const share = Number((await textOf(page, '.found')).match(/(\d+) %/)[1]);
    const all = Object.values(one.truth).reduce(
      (sum, site) => sum + (site.live_bytes ?? 0),
      one.truth.lost_bytes,
    );
    const both = one.truth.first_phase.live_bytes + one.truth.second_phase.live_bytes;
    assert.ok(Math.abs(share - (100 * both) / all) <= 1, `${share} % are ${both} of ${all}`);
  },
);

using(
  'a recursion is one frame, unless it is not merged',
  'one',
  '#flame?cost=live&search=descend',
  async (page) => {
    await until(page, () => /^1 frame,/.test(document.querySelector('.found').textContent));
    await (
      await page.evaluateHandle(() =>
        [...document.querySelectorAll('label')].find((label) =>
          /Merge recursion/.test(label.textContent),
        ),
      )
    ).click();
    await until(page, () => /^8 frames/.test(document.querySelector('.found').textContent));
  },
);

// descend() allocates at each of its eight depths, after two other places: a call stack for each.
using('a call stack shows recursion once', 'one', '#table?site=9', async (page) => {
  await until(page, () => document.querySelector('ol.stack button'));
  const shown = () =>
    page.$$eval('ol.stack li code', (all) =>
      all.filter((one) => one.getClientRects().length).map((one) => one.textContent),
    );
  assert.deepEqual(await shown(), ['descend', 'main']);
  assert.match(await textOf(page, 'ol.stack button'), /\b7 recursive calls$/);
  await page.click('ol.stack button');
  assert.equal((await shown()).filter((name) => name === 'descend').length, 8);
});

using(
  'the tooltip tells self, total, count, average, share, place and module',
  'one',
  '#flame?cost=live',
  async (page) => {
    await frameNamed(page, 'second_phase', 2);
    const tip = await textOf(page, '.tip'),
      { live_bytes: size, live_blocks: blocks } = one.truth.second_phase;
    const parts = [
      'total',
      'self',
      bytes(size),
      `${blocks} blocks`,
      'average size',
      bytes(size / blocks),
      '% of all',
      'viewed.c:',
      'module',
    ];
    for (const part of parts) assert.ok(tip.includes(part), `${part} is in ${tip}`);
  },
);

using('a click zooms, crumbs lead back', 'one', '#flame?cost=live', async (page) => {
  const { x, y } = await frameNamed(page, 'second_phase', 2);
  await page.mouse.click(x, y);
  await until(page, () => /zoom=/.test(window.location.hash));
  assert.equal(await textOf(page, '.crumbs [aria-current]'), 'second_phase');
  await page.click('.crumbs button');
  await until(page, () => !/zoom=/.test(window.location.hash));
  assert.equal(await textOf(page, '.crumbs [aria-current]'), 'all');
});

using(
  'inverted, the allocating functions come first',
  'one',
  '#flame?cost=live&inverted=1',
  async (page) => {
    await frameNamed(page, 'second_phase', 1);
    await frameNamed(page, 'main', 2);
  },
);

using('the menu of a frame focuses and excludes', 'one', '#flame?cost=live', async (page) => {
  const { x, y } = await frameNamed(page, 'second_phase', 2);
  await page.mouse.click(x, y, { button: 'right' });
  const items = await page.$$eval('[role=menuitem]', (all) => all.map((item) => item.textContent));
  assert.deepEqual(
    items.map((text) => text.split(/[ :]/)[0]),
    ['Zoom', 'Focus', 'Exclude', 'Callers', 'Copy', 'Open'],
  );
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await until(page, () => /filter=-fn/.test(window.location.hash));
  await page.type('input[type=search][aria-label="Search functions"]', 'second_phase');
  await until(page, () => /not found/.test(document.querySelector('.found').textContent));
});

/* ---- keyboard */

using(
  'the flame graph is walked with arrows, Enter and Backspace, and speaks',
  'one',
  '#flame?cost=live',
  async (page) => {
    await page.focus('.flame-scroll');
    await page.keyboard.press('ArrowDown');
    assert.match(await spoken(page), /^main.*total/);
    await page.keyboard.press('ArrowDown');
    assert.match(await spoken(page), /^first_phase/);
    await page.keyboard.press('ArrowRight');
    assert.match(await spoken(page), /^second_phase/);
    await page.keyboard.press('Enter');
    await until(
      page,
      () => document.querySelector('.crumbs [aria-current]').textContent === 'second_phase',
    );
    await page.keyboard.press('Backspace');
    await until(
      page,
      () => document.querySelector('.crumbs [aria-current]').textContent === 'main',
    );
    await page.keyboard.press('Escape');
    await until(page, () => document.querySelector('.crumbs [aria-current]').textContent === 'all');
    await page.keyboard.down('Shift');
    await page.keyboard.press('F10');
    await page.keyboard.up('Shift');
    await until(page, () => document.activeElement.getAttribute('role') === 'menuitem');
  },
);

using('the tree is opened and closed with arrows', 'one', '#table?cost=live', async (page) => {
  await press(page, 'Close all');
  assert.ok((await rowsOf(page)).every(([name]) => !name.includes('first_phase')));
  await page.focus('main .table tbody tr');
  const state = () =>
    page.evaluate(() => {
      const row = document.activeElement;
      return [
        row.getAttribute('aria-level'),
        row.getAttribute('aria-expanded'),
        row.children[0].textContent,
      ];
    });
  assert.deepEqual((await state()).slice(0, 2), ['1', 'false']);
  await page.keyboard.press('ArrowRight');
  assert.deepEqual((await state()).slice(0, 2), ['1', 'true']);
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await state(), ['2', null, 'first_phase']);
  await page.keyboard.press('ArrowLeft');
  assert.equal((await state())[0], '1');
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual((await state()).slice(0, 2), ['1', 'false']);
});

using(
  'tab reaches every control of a page, and focus can be seen',
  'one',
  '#table',
  async (page) => {
    await page.focus('#filter');
    const met = new Set();
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      const [name, outline, end] = await page.evaluate(() => {
        const at = document.activeElement;
        return [
          at.textContent.trim().slice(0, 20),
          getComputedStyle(at).outlineStyle,
          at === document.body,
        ];
      });
      if (end) break;
      met.add(name);
      assert.notEqual(outline, 'none', `${name} shows that it has the focus`);
    }
    for (const name of ['Peak', 'Bottom-up', 'Function', 'Download CSV', 'Open all'])
      assert.ok(met.has(name), `${name} is among ${[...met].join()}`);
  },
);

using(
  'keys lead from page to page, to the filter and to the list of keys',
  'one',
  '#summary',
  async (page) => {
    await page.keyboard.press('3');
    await until(page, () => document.querySelector('main.page-flame'));
    await page.keyboard.press(']');
    await until(page, () => document.querySelector('main.page-table'));
    await page.keyboard.press('f');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'filter');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.type('?');
    await until(page, () => document.querySelector('dialog[open]'));
    await page.keyboard.press('Escape');
    await until(page, () => !document.querySelector('dialog[open]'));
  },
);

using('a control keeps the focus when it changes the page', 'one', '#flame', async (page) => {
  const name = () => page.evaluate(() => document.activeElement.textContent);
  await page.evaluate(() =>
    [...document.querySelectorAll('main button')]
      .find((button) => button.textContent === 'Allocated')
      .focus(),
  );
  await page.keyboard.press('Enter');
  await until(page, () => /cost=total/.test(window.location.hash));
  assert.equal(await name(), 'Allocated');
});

/* ---- links */

test('the address of a view shows the same view again', { skip }, async () => {
  const page = await browser.open(made.one, '#flame?cost=live', { motion: 'reduce' });
  const { x, y } = await frameNamed(page, 'main', 1);
  await page.mouse.click(x, y);
  await until(page, () => /zoom=/.test(window.location.hash));
  await press(page, 'Flame');
  await page.type('input[type=search][aria-label="Search functions"]', 'lose');
  await until(
    page,
    () => /search=lose/.test(window.location.hash) && /upwards=1/.test(window.location.hash),
  );
  const look = (tab) =>
    tab.evaluate(() => {
      const text = (selector) =>
        [...document.querySelectorAll(selector)].map((element) => element.textContent);
      return [
        ...text('.crumbs'),
        ...text('.found'),
        document.querySelector('input[aria-label="Search functions"]').value,
        ...text('main [aria-pressed=true]'),
      ];
    });
  const other = await browser.open(made.one, await hashOf(page), { motion: 'reduce' });
  assert.deepEqual(await look(other), await look(page));
  await page.close();
  await other.close();
});

using('back in the browser takes a zoom back', 'one', '#flame?cost=live', async (page) => {
  const { x, y } = await frameNamed(page, 'second_phase', 2);
  await page.mouse.click(x, y);
  await until(
    page,
    () => document.querySelector('.crumbs [aria-current]').textContent === 'second_phase',
  );
  await page.goBack();
  await until(page, () => document.querySelector('.crumbs [aria-current]').textContent === 'all');
});

/* ---- diff */

using(
  'between a tag and the end, what came after the tag is new',
  'tags',
  '#diff',
  async (page) => {
    const rows = await rowsOf(page),
      second = rows.find(([name]) => name === 'second_phase');
    assert.deepEqual(second.slice(1, 5), [
      '✚ new',
      `+${bytes(one.truth.second_phase.live_bytes)}`,
      '0 B',
      bytes(one.truth.second_phase.live_bytes),
    ]);
    assert.ok(!rows.some(([name]) => name === 'first_phase'));
    await press(page, 'Swap');
    await until(page, () => /✖ gone/.test(document.querySelector('main .table').textContent));
    const gone = await rowNamed(page, 'second_phase');
    assert.deepEqual(gone.slice(1, 3), ['✖ gone', `-${bytes(one.truth.second_phase.live_bytes)}`]);
  },
);

using(
  'two recordings are matched by names: more, new, the same',
  'both',
  '#diff?cost=live',
  async (page) => {
    const change = two.truth.second_phase.live_bytes - one.truth.second_phase.live_bytes;
    assert.deepEqual((await rowNamed(page, 'second_phase')).slice(1, 3), [
      '▲ more',
      `+${bytes(change)}`,
    ]);
    assert.equal((await rowNamed(page, 'only_here'))[1], '✚ new');
    assert.equal(await rowNamed(page, 'first_phase'), undefined);
    await frameNamed(page, 'only_here', 2);
    assert.ok((await textOf(page, '.tip')).includes(`+${bytes(two.truth.only_here.live_bytes)}`));
  },
);

/* ---- much */

using(
  'a tree of 200,000 nodes opens all its rows and draws those that are seen',
  'huge',
  '#table?cost=total',
  async (page) => {
    await press(page, 'Open all');
    await until(
      page,
      () =>
        Number(document.querySelector('[role=treegrid]').getAttribute('aria-rowcount')) > 100_000,
    );
    assert.ok(
      (await page.evaluate(() => document.querySelectorAll('main .table tr').length)) < 200,
    );
    await page.evaluate(() => {
      const box = document.querySelector('main .table');
      box.scrollTop = box.scrollHeight;
    });
    await until(page, () =>
      [...document.querySelectorAll('main .table tr[data-index]')].some(
        (row) => Number(row.dataset.index) > 100_000,
      ),
    );
  },
);
