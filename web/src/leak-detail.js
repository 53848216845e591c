// SPDX-License-Identifier: MIT
// leak-detail.js -- what Leaks tells of one place: growth, stack, who holds it, rules that silence it.
import { sparkline } from './charts.js';
import { siteLink, stackText } from './controls.js';
import { OF } from './costs.js';
import { h } from './dom.js';
import { bytes, count, number, rate, share, time } from './format.js';
import { foldSteps, growthOf, hoursText, leakClass, lineBetween } from './leak-rows.js';
import { command, copyButton, fileArgument, otherStacks, siteChart, siteLinks, stackPart } from './parts.js';
import { courseOf } from './view.js';

const SIGNS = { '': '?', once: '●', bounded: '■', grows: '▲' };
const GIB = 2 ** 30;

/** The growth of a site as a word with a sign and a line; of several of one place the line is of all of them. */
export function growthCell({ recording, view }, site, sites = [site]) {
  const growth = growthOf(recording, site),
    words = growth.word || 'not known';
  const course =
    recording.changes.count && site >= 0
      ? lineBetween(courseOf(recording, ...sites), view.moment.of === OF.RANGE ? view.moment : { from: 0, to: Infinity })
      : null;
  return h(
    'span',
    { class: `growth ${growth.word}`, title: growth.help },
    course && course.values.length > 1
      ? sparkline(course.values, { times: course.ms, width: 90, height: 22, label: `held over time: ${words}` })
      : null,
    h('span', null, `${SIGNS[growth.word]} ${words}${growth.perHour ? ` ${rate(growth.perHour)}` : ''}`),
  );
}

export function growthWords({ recording, view }, site) {
  const { word, help, perHour } = growthOf(recording, site);
  const ahead = perHour > 0 ? ` At this rate it takes ${hoursText(GIB / perHour)} for 1 GiB more.` : '';
  const more = view.columns.live_bytes[site],
    range = view.moment.of === OF.RANGE ? ` In the chosen range it became ${bytes(Math.abs(more))} ${more < 0 ? 'less' : 'more'}.` : '';
  return h('p', null, h('strong', null, `${SIGNS[word]} ${word || 'growth not known'}: `), help, ahead, range);
}

/** Who holds a block: from a root, step by step. */
function pathPart(context, path) {
  const { recording } = context;
  return h(
    'div',
    { class: 'part' },
    h('h3', null, 'Who holds it'),
    h(
      'ol',
      { class: 'path' },
      h('li', { class: 'root' }, h('code', null, path.root || 'a lost block')),
      foldSteps(path.steps ?? []).map(({ step, more }) =>
        more
          ? h('li', { class: 'fold' }, `… ${count(more, 'more step')} of the same kind (${step.text})`)
          : h(
              'li',
              null,
              '→ ',
              h('code', { class: 'member' }, step.text),
              ' ',
              step.type && h('span', { class: 'type' }, `${step.type}, `),
              `${bytes(step.bytes)} `,
              h('code', { class: 'address' }, step.block),
              ' ',
              step.site >= 0 ? ['from ', siteLink(context, step.site)] : null,
            ),
      ),
    ),
    path.retained_bytes ? h('p', null, `${bytes(path.retained_bytes)} would be freed with it.`) : null,
  );
}

/** Rules that silence this stack, in the forms of both tools. */
function rulesPart(recording, row) {
  const { rows } = recording.leaks;
  if (rows.lsan[row] < 0 && rows.valgrind[row] < 0) return null;
  const form = (title, text, use) =>
    text &&
    h(
      'div',
      { class: 'rule' },
      h('p', null, h('strong', null, title), ' ', copyButton(text, `rule for ${title}`)),
      h('pre', { tabindex: '0' }, text),
      h('p', { class: 'place' }, use),
    );
  return h(
    'details',
    { class: 'part', dataset: { keep: `rule-${row}` } },
    h('summary', null, 'Suppress this: it is known, or not ours to fix'),
    form('LeakSanitizer', recording.text(rows.lsan[row]), 'A line of a file for seep … --suppressions FILE, or LSAN_OPTIONS=suppressions=FILE.'),
    form('Valgrind', recording.text(rows.valgrind[row]), 'An entry of a file for seep … --suppressions FILE, or valgrind --suppressions=FILE.'),
  );
}

/** How many of the blocks of a place it concerns: all, or one in ten, points to different mistakes. */
const partWords = (blocks, all, kind) =>
  blocks >= all
    ? `That is all that was ever allocated here by ${kind}. `
    : `That is ${share(blocks, all)} of the ${number(all)} blocks that were allocated here by ${kind}: the others were freed, or are held. `;

export function leakDetail(context, row, keep) {
  const { recording } = context,
    { rows } = recording.leaks,
    { sites } = recording;
  const address = recording.text(rows.address[row.row]),
    type = recording.text(rows.type[row.row]),
    path = recording.paths[rows.path[row.row]];
  const about = leakClass(row.class),
    steps = path?.steps?.length > 0;
  return [
    h(
      'p',
      null,
      h('strong', null, `${bytes(row.bytes)} in ${count(row.blocks, 'block')} ${about.title}`),
      row.hangingBlocks ? `, and ${bytes(row.hangingBytes)} in ${count(row.hangingBlocks, 'block')} reachable only through ${row.blocks === 1 ? 'it' : 'them'}` : '',
      '. ',
      row.site >= 0 ? partWords(row.blocks, row.sites.reduce((sum, site) => sum + sites.allocs[site], 0), recording.kindOf(row.site)) : '',
      `The oldest was ${time(row.ageMs)} old at the search${address ? [' (at ', address, ')'].join('') : ''}.`,
      type ? [' Its type: ', h('code', null, type), '.'] : null,
    ),
    about.error
      ? h('p', null, 'The stack is where it was allocated; the mistake is where the last pointer to it was overwritten, or went out of scope.')
      : null,
    row.site >= 0 ? growthWords(context, row.site) : null,
    row.site >= 0 ? siteChart(context, row.sites, keep) : null,
    row.site >= 0 ? stackPart(context, sites.node[row.site], 'Allocated by') : null,
    otherStacks(row.sites.length),
    steps || (path && row.class < 3) ? pathPart(context, path) : null,
    !path && row.class === 1
      ? h('p', null, 'Who holds it: ', command(`seep why ${fileArgument(recording)} ${row.site >= 0 ? `'#${sites.id[row.site]}'` : address}`))
      : null,
    rulesPart(recording, row.row),
    row.site >= 0 ? h('p', { class: 'no-print' }, copyButton(reportText(recording, row), 'leak', 'Copy for a bug report')) : null,
    row.site >= 0 ? siteLinks(context, row.site) : null,
  ];
}

/** What one would write to those who wrote the code. */
function reportText(recording, row) {
  return (
    `${bytes(row.bytes)} in ${count(row.blocks, 'block')} ${leakClass(row.class).title}${row.hangingBlocks ? `, ${bytes(row.hangingBytes)} in ${count(row.hangingBlocks, 'block')} reachable only through them` : ''}\n` +
    `${recording.meta.program ?? ''}, searched ${recording.leaks.when}\nallocated by ${recording.kindOf(row.site)}:\n${stackText(recording, recording.sites.node[row.site]).replace(/^/gm, '  ')}\n`
  );
}
