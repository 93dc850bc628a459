import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerTable, failureTable } from '../support/readme-tables';

const TABLES = { failures: failureTable(), answers: answerTable() };
type Name = keyof typeof TABLES;

const start = (name: Name) => `<!-- ${name}:start -->`;
const end = (name: Name) => `<!-- ${name}:end -->`;

/** The error contains the table to paste. */
function checkTable(name: Name, readme: string): void {
  const [, ...afterStart] = readme.split(start(name));
  const [shown, ...afterEnd] = (afterStart[0] ?? '').split(end(name));
  if (afterStart.length === 1 && afterEnd.length === 1 && shown?.trim() === TABLES[name]) return;
  throw new Error(
    `README.md and src/contract have different ${name}. Paste this into README.md, ` +
      `in place of the text from ${start(name)} to ${end(name)}:\n\n${start(name)}\n${TABLES[name]}\n${end(name)}\n`,
  );
}

const readme = readFileSync(join(__dirname, '../../README.md'), 'utf8');

it.each(['failures', 'answers'] as const)("the README's table of %s matches the code", (name) => {
  expect(() => checkTable(name, readme)).not.toThrow();
});

it.each<[string, Name, string]>([
  ['a changed word', 'failures', readme.replace('refused the API key', 'refused the key')],
  ['a changed exit code', 'failures', readme.replace('| 400 | 2 |', '| 400 | 1 |')],
  ['a missing row', 'failures', readme.replace(/\| `NoVideo`.*\n/, '')],
  [
    'an additional row',
    'failures',
    readme.replace(end('failures'), `| \`Other\` | | | | | | | |\n${end('failures')}`),
  ],
  [
    'another failure for an answer',
    'answers',
    readme.replace('| 429 | RateLimited |', '| 429 | ServiceFailed |'),
  ],
  ['no table', 'failures', readme.replace(start('failures'), '')],
  ['a table without an end', 'answers', readme.replace(end('answers'), '')],
  ['two tables', 'failures', `${readme}\n${readme}`],
])('a README with %s is refused, with the table to paste', (_what, name, other) => {
  expect(() => checkTable(name, other)).toThrow(TABLES[name]);
});
