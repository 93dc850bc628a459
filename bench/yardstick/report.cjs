/** What a run found, as a table for the page. The page can be made again from the stored report. */
const { readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { replacePart } = require('../support/page.cjs');
const { sumOf } = require('./judge.cjs');

const PAGE = join(__dirname, '../../docs/proof.md');
const REPORT = join(__dirname, 'report.json');

const COLUMNS = [
  ['Cases', 'cases'],
  ['Paid', 'paid'],
  ['Delivered', 'delivered'],
  ['Lost', 'lost'],
  ['Paid twice', 'paidTwice'],
  ['Corrupt', 'corruptAccepted'],
  ['Asked', 'asked'],
];

/** What a reader wants to know of one case. */
function wordOf({ paid, delivered, paidTwice, corruptAccepted, askedPerson, hasHappened }) {
  if (!hasHappened) return 'no counterpart';
  const words = [
    corruptAccepted && 'corrupt accepted',
    !delivered && !corruptAccepted && (paid > 0 ? 'lost' : 'gave up'),
    paidTwice && `paid ${paid} times`,
    askedPerson && 'asked',
  ].filter(Boolean);
  return words.join(', ') || 'delivered';
}

/** A contestant's row: the sum of the cases that it met, and a word for each case of each seed. */
function rowOf(title, versions, results) {
  const met = results.filter(({ hasHappened }) => hasHappened);
  const words = {};
  for (const { testCase, ...result } of results) {
    words[testCase.name] = [...(words[testCase.name] ?? []), wordOf(result)];
  }
  return {
    title,
    versions,
    cases: met.length,
    ...sumOf(met),
    asked: met.filter(({ askedPerson }) => askedPerson).length,
    words,
  };
}

const line = (cells) => `| ${cells.join(' | ')} |`;

/** The part of the page that the command writes. */
function pageOf({ measuredOn, minutes, seeds, rows, skipped, versions }) {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `Measured on ${measuredOn} in ${minutes} min, ${seeds.length > 1 ? 'seeds' : 'seed'} ${seeds.join(', ')}: ${named.join(', ')}.`,
    [
      line(['Program', ...COLUMNS.map(([title]) => title)]),
      line(['---', ...COLUMNS.map(() => '---:')]),
      ...rows.map((row) =>
        line([[row.title, ...row.versions].join(' '), ...COLUMNS.map(([, key]) => row[key])]),
      ),
    ].join('\n'),
    ...skipped.map(({ title, why }) => `${title} was not run: ${why}`),
  ].join('\n\n');
}

function writePage(report) {
  writeFileSync(PAGE, replacePart(readFileSync(PAGE, 'utf8'), pageOf(report), 'yardstick'));
  writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
}

module.exports = { pageOf, REPORT, rowOf, wordOf, writePage };
