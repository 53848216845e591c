// SPDX-License-Identifier: MIT
/*
 * screenshots.mjs -- makes the pictures of README.md, docs/*.png, from a recording of demo/shop.cpp.
 *
 * usage: node docs/screenshots.mjs BUILD-DIRECTORY
 * Needs g++, chromium, npm (for the packages of tests/web) and pngquant.  Numbers differ from run to run, so this is run by hand, when the page
 * looks different.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { install, startBrowser, ROOT } from '../tests/web/browser.mjs';

/** Name of the picture, the view that it shows, and how much of it. */
const VIEWS = [['summary', '#summary', 800], ['timeline', '#timeline', 640], ['flame', '#flame', 480], ['leaks', '#leaks', 800]];

/** The page of a recording of the shop, in FOLDER. */
function pageOfShop(build, folder) {
  const seep = join(build, 'src', 'seep'), run = (...command) => execFileSync(command[0], command.slice(1), { cwd: folder, stdio: 'inherit' });
  run('g++', '-g', '-O1', '-pthread', `-I${ROOT}/include`, `-ffile-prefix-map=${ROOT}/=`, `${ROOT}/demo/shop.cpp`, '-o', 'shop');
  run(seep, '-o', 'shop.seep', './shop', '10');
  run(seep, 'html', 'shop.seep');
  return join(folder, 'shop.html');
}

/** 64 colours: a third of the size, and nobody sees it. */
const shrink = (file) => execFileSync('pngquant', ['--force', '--output', file, '64', file]);

const folder = mkdtempSync(join(tmpdir(), 'seep-screenshots-'));
install();
const browser = await startBrowser();
try {
  const page = pageOfShop(resolve(process.argv[2] ?? 'build'), folder);
  for (const [name, hash, height] of VIEWS) {
    const view = await browser.open(page, hash, { height, motion: 'reduce' });
    const file = join(ROOT, 'docs', `${name}.png`);
    await view.screenshot({ path: file });
    shrink(file);
    console.log(`${file}: ${statSync(file).size} bytes`);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
