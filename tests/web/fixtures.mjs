// SPDX-License-Identifier: MIT
/*
 * fixtures.mjs -- the pages that the tests look at: written by the real `seep html` from recordings
 * of ../programs/viewed.c, which tells what it did; and pages of forged data (web/test/sample.mjs)
 * for what no small program does.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';
import { KINDS } from '../../web/test/sample.mjs';
import { ROOT, chromium, install } from './browser.mjs';

const BUILD = process.env.SEEP_BUILD ?? join(ROOT, 'build');
const SEEP = join(BUILD, 'src', 'seep');
/**
 * Names that would like to be markup: of the folder, of an argument (tags and threads have their
 * own in viewed.c).
 */
export const ODD_ARGUMENT = '</script><img src=x onerror=alert(2)>&lt;"\'\u202e';
const ODD_FOLDER = "it's <b>&quot;odd";

/** Why nothing can be tested here; false: it can. */
export function whySkipped() {
  if (!chromium) return 'there is no chromium here: packaging/install-deps test installs it';
  try {
    install();
    return false;
  } catch (error) {
    return `npm cannot install the packages of tests/web: ${error.message.split('\n')[0]}`;
  }
}

/** What a user has: no perturbed malloc, no options of ours, fixed language. */
function cleanEnvironment() {
  const kept = Object.entries(process.env).filter(
    ([key]) => !/^(SEEP_|MALLOC_|GLIBC_TUNABLES|LD_|DEBUGINFOD)/.test(key),
  );
  return { ...Object.fromEntries(kept), LC_ALL: 'C.UTF-8', XDG_CONFIG_HOME: '/dev/null' };
}

function run(command, words, options = {}) {
  const how = {
    encoding: 'utf8',
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    timeout: 120_000,
    ...options,
  };
  const done = spawnSync(command, words, how),
    why = done.error ?? `status ${done.status}`;
  if (done.status !== 0)
    throw new Error(`${command} ${words.join(' ')}: ${why}\n${done.stdout}${done.stderr}`);
  return done;
}

/** { first_phase: {allocs, bytes, live_bytes ...}, lost_bytes } */
function parseTruth(text) {
  const truth = {};
  for (const line of text.split('\n')) {
    const [word, ...rest] = line.split(' '),
      name = word === 'site' ? rest.shift() : null;
    const numbers = Object.fromEntries(
      rest.map((pair) => pair.split('=')).map(([key, value]) => [key, Number(value)]),
    );
    if (name) truth[name] = numbers;
    else Object.assign(truth, word === 'fact' ? numbers : {});
  }
  return truth;
}

export class Pages {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'seep-web-'));
    this.odd = join(this.folder, ODD_FOLDER);
    mkdirSync(this.odd);
    this.program = this.compile('viewed', this.odd);
    this.children = [];
  }

  compile(name, folder = this.folder) {
    const out = join(folder, name),
      source = join(ROOT, 'tests/programs', `${name}.c`);
    run('cc', [
      '-std=gnu11',
      '-O0',
      '-fno-builtin',
      '-g',
      `-I${join(ROOT, 'include')}`,
      source,
      '-pthread',
      '-o',
      out,
    ]);
    return out;
  }

  /**
   * Starts seep with the words; lineOf() waits for the next line that it, or its program, writes to
   * stdout.
   */
  start(...words) {
    const child = spawn(SEEP, words, {
      cwd: this.folder,
      env: cleanEnvironment(),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.children.push(child);
    child.lineOf = async () => (await lines.next()).value;
    return child;
  }

  /** Records viewed with the words; { file, truth }. */
  record(name, ...words) {
    const file = join(this.folder, `${name}.seep`);
    const done = run(SEEP, ['record', '-q', '-o', file, this.program, ...words], { cwd: this.odd });
    return { file, truth: parseTruth(done.output[3]) };
  }

  /** What seep html makes of the words. */
  html(name, ...words) {
    const page = join(this.folder, `${name}.html`);
    run(SEEP, ['html', '-o', page, ...words], { cwd: this.folder });
    return page;
  }

  /** The built template with forged data: small, huge, pair, bare, hostile. */
  sample(kind) {
    const page = join(this.folder, `sample-${kind}.html`),
      template = readFileSync(join(BUILD, 'web', 'page_template.html'), 'utf8');
    const data = gzipSync(JSON.stringify(KINDS[kind]())).toString('base64');
    writeFileSync(
      page,
      template.replace('id="seep-data">', () => `id="seep-data">${data}`),
    );
    return page;
  }

  /** A page whose data were cut off, as by a download that failed. */
  broken() {
    const page = join(this.folder, 'broken.html'),
      whole = readFileSync(this.sample('small'), 'utf8');
    writeFileSync(page, whole.replace(/(id="seep-data"[^>]*>.{1000})[^<]*/, '$1'));
    return page;
  }

  remove() {
    for (const child of this.children) child.kill('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }
}
