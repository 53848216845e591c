// SPDX-License-Identifier: MIT
// build.mjs -- bundle the viewer into one HTML template.
//
// usage: node build.mjs [--modules DIR] [--optional] [--with DATA.json] [--depfile OUT.d] OUT.html
//
//   --modules DIR   where the npm packages may be installed when web/node_modules does not have them (npm ci; nothing is
//                   fetched when they are there already)
//   --optional      where npm is missing or fails, write an empty template and say how to get a real one
//   --with          put data (docs/PAGE.md) into the page, as `seep html` does: for development and tests
//   --depfile       for ninja: what the template was made from
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

const MAX_BYTES = 200_000;
const WEB = dirname(fileURLToPath(import.meta.url));
const DATA_TAG = '<script type="application/octet-stream" id="seep-data"></script>';

function fail(message) {
  console.error(`web/build.mjs: ${message}`);
  process.exit(1);
}

/** Whether DIR/node_modules has the versions of the lock file. */
function hasPackages(dir) {
  const lock = JSON.parse(readFileSync(join(WEB, 'package-lock.json'), 'utf8'));
  return Object.keys(lock.packages[''].devDependencies).every((name) => {
    const file = join(dir, 'node_modules', name, 'package.json');
    return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version === lock.packages[`node_modules/${name}`].version;
  });
}

function install(dir, tries) {
  mkdirSync(dir, { recursive: true });
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(join(WEB, file), join(dir, file));
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  if (tries === 1) words.push('--fetch-retries=0', '--fetch-timeout=20000');
  for (; ; tries -= 1) {
    try {
      execFileSync('npm', words, { cwd: dir, stdio: ['ignore', 'ignore', tries > 1 || words.length === 6 ? 'inherit' : 'ignore'] });
      return;
    } catch (error) {
      if (error.code !== 'ENOENT' && tries > 1) continue; // networks have bad moments
      throw new Error(
        error.code === 'ENOENT'
          ? 'npm is missing, and the viewer needs esbuild and uplot; packaging/install-deps build installs it'
          : `npm ci could not get esbuild and uplot; without a network, run npm ci in ${relative('.', WEB) || '.'} where there is one, and bring node_modules along`,
      );
    }
  }
}

/** The directory whose node_modules has what the bundle needs. */
function packages(dir, tries) {
  if (hasPackages(WEB)) return WEB;
  if (!dir) throw new Error(`esbuild and uplot are not in ${WEB}/node_modules: run npm ci there, or give --modules DIR`);
  if (!hasPackages(dir)) install(dir, tries);
  return dir;
}

/** For who has no npm, or no network: everything but `seep html` works without the page. */
function leaveOut(error, out, depfile) {
  console.error(`web/build.mjs: the page is left out, 'seep html' will say so: ${error.message}; then touch ${relative('.', WEB) || '.'}/build.mjs and build again`);
  writeFileSync(out, '');
  if (depfile) writeFileSync(depfile, `${out}: ${relative('.', join(WEB, 'build.mjs')).replaceAll(' ', '\\ ')}\n`);
}

async function bundle(esbuild, nodePath, entry) {
  const result = await esbuild.build({
    entryPoints: [join(WEB, 'src', entry)],
    absWorkingDir: WEB,
    nodePaths: [nodePath],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    charset: 'utf8',
    legalComments: 'none',
    target: ['chrome102', 'firefox113', 'safari16.4'], // DecompressionStream
    logLevel: 'warning',
  });
  return { text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs).map((file) => resolve(WEB, file)) };
}

const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The script lies packed in the page, as the data do: half the size.  This unpacks it; the policy lets both run by their hashes. */
const LOADER =
  `(async()=>{try{const s=document.createElement('script'),b=Uint8Array.from(atob(document.getElementById('seep-script').textContent),c=>c.charCodeAt(0));` +
  `s.textContent=await new Response(new Blob([b]).stream().pipeThrough(new DecompressionStream('gzip'))).text();document.body.append(s)}` +
  `catch(e){document.getElementById('app').textContent='This browser cannot show the page ('+e.message+'): it needs Chrome 102, Firefox 113, Safari 16.4 or newer.'}})()`;

/** LICENSE: of uPlot, which is in the script. */
function template(style, script, license) {
  const policy = `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(LOADER)} ${hashOf(script)}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<!-- The charts are drawn by uPlot.
${license.trim().replaceAll('--', '- -')}
-->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>seep</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"><p class="wait" role="status">Reading the recording …</p></div>
<noscript><p>This page needs JavaScript: it draws everything from the data below. Nothing is fetched from elsewhere.</p></noscript>
${DATA_TAG}
<script type="application/octet-stream" id="seep-script">${gzipSync(script, { level: 9 }).toString('base64')}</script>
<script>${LOADER}</script>
</body>
</html>
`;
}

/** As page_join() does. */
function withData(html, file) {
  const data = gzipSync(readFileSync(file)).toString('base64');
  return html.replace(DATA_TAG, () => DATA_TAG.replace('></', () => `>${data}</`));
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { modules: { type: 'string' }, optional: { type: 'boolean' }, with: { type: 'string' }, depfile: { type: 'string' } },
  });
  if (positionals.length !== 1) fail('which file shall the template be written to?');
  const [out] = positionals;
  let dir;
  try {
    dir = packages(values.modules && resolve(values.modules), values.optional ? 1 : 3);
  } catch (error) {
    if (!values.optional) throw error;
    return leaveOut(error, out, values.depfile);
  }
  const esbuild = createRequire(join(dir, 'package.json'))('esbuild');
  const nodePath = join(dir, 'node_modules');
  const [style, script] = await Promise.all([bundle(esbuild, nodePath, 'style.css'), bundle(esbuild, nodePath, 'main.js')]);
  const html = template(style.text, script.text, readFileSync(join(nodePath, 'uplot', 'LICENSE'), 'utf8'));
  const bytes = Buffer.byteLength(html);
  if (bytes > MAX_BYTES) fail(`the template has ${bytes} bytes; ${MAX_BYTES} is the limit`);
  if (html.split(DATA_TAG).length !== 2) fail('the place for the data must be there once');
  writeFileSync(out, values.with ? withData(html, values.with) : html);
  if (values.depfile) {
    const inputs = [...style.inputs, ...script.inputs, ...['build.mjs', 'package-lock.json'].map((name) => join(WEB, name))];
    writeFileSync(values.depfile, `${out}: ${inputs.map((file) => relative('.', file).replaceAll(' ', '\\ ')).join(' ')}\n`);
  }
  return undefined;
}

main().catch((error) => fail(error.message));
