// SPDX-License-Identifier: MIT
/*
 * browser.mjs -- the distribution's chromium, with a profile of its own, and pages that remember
 * what went wrong in them.
 *
 * The npm packages are in $SEEP_WEB_NPM/node_modules (install() puts them there); nothing is
 * downloaded but by npm ci.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = dirname(dirname(HERE));
const NPM = process.env.SEEP_WEB_NPM ?? join(tmpdir(), 'seep-web-npm');
const BROWSERS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/lib64/chromium-browser/headless_shell',
];

/** For one step.  A busy machine may need long; nobody waits longer than it takes. */
const DEADLINE_MS = 180_000;

export const chromium = BROWSERS.find((path) => existsSync(path));

/** npm ci, unless what the lock file wants is there already. */
export function install() {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8'),
    mark = join(NPM, 'installed-lock.json');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  mkdirSync(NPM, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(HERE, name), join(NPM, name));
  execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: NPM,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(mark, lock);
}

const packages = () => createRequire(join(NPM, 'package.json'));

/** The source of axe-core, to be run inside of a page. */
export const axeSource = () => readFileSync(packages().resolve('axe-core/axe.min.js'), 'utf8');

/** { open(file or URL, hash, how), close() } */
export async function startBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'seep-chromium-'));
  const flags = [
    '--disable-gpu',
    '--disable-background-networking',
    ...(process.getuid() === 0 ? ['--no-sandbox'] : []),
  ];
  const forget = () => rmSync(profile, { recursive: true, force: true });
  const browser = await packages()('puppeteer-core')
    .launch({
      executablePath: chromium,
      headless: true,
      userDataDir: profile,
      args: flags,
      timeout: DEADLINE_MS,
      protocolTimeout: DEADLINE_MS,
    })
    .catch((error) => {
      forget();
      throw error;
    });
  return {
    open: (file, hash = '', how = {}) =>
      openPage(browser, `${/^http:/.test(file) ? file : pathToFileURL(file)}${hash}`, how),
    async close() {
      await browser.close();
      forget();
    },
  };
}

/**
 * A page with `troubles` (errors, violations of the policy) and `requests` (all but the page
 * itself).
 */
async function openPage(
  browser,
  url,
  { width = 1280, height = 800, theme = 'light', motion = 'no-preference' },
) {
  const page = await browser.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  page.troubles = [];
  page.requests = [];
  page.on(
    'console',
    (message) =>
      ['error', 'warn', 'assert'].includes(message.type()) && page.troubles.push(message.text()),
  );
  page.on('pageerror', (error) => page.troubles.push(error.stack ?? error.message));
  page.on(
    'request',
    (request) =>
      request.isNavigationRequest() ||
      request.url().startsWith('data:') ||
      page.requests.push(request.url()),
  );
  await page.evaluateOnNewDocument(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: theme },
    { name: 'prefers-reduced-motion', value: motion },
  ]);
  await page.goto(url, { waitUntil: 'load' });
  await page.waitForSelector('main > *, .failed');
  return page;
}
