import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failureTable } from '../support/failure-table';

const START = '<!-- failures:start -->';
const END = '<!-- failures:end -->';

/** A difference is told with its mend, and the mend is something to paste. */
function checkTable(readme: string): void {
  const [, ...afterStart] = readme.split(START);
  const [shown, ...afterEnd] = (afterStart[0] ?? '').split(END);
  if (afterStart.length === 1 && afterEnd.length === 1 && shown?.trim() === failureTable()) return;
  throw new Error(
    `README.md and src/contract/failure-table.ts tell of different failures. Paste this into README.md, ` +
      `in place of what stands from ${START} to ${END}:\n\n${START}\n${failureTable()}\n${END}\n`,
  );
}

const readme = readFileSync(join(__dirname, '../../README.md'), 'utf8');

it("the README's failure table is the code's", () => {
  expect(() => checkTable(readme)).not.toThrow();
});

it.each([
  ['a changed word', readme.replace('refused the API key', 'refused the key')],
  ['a changed exit code', readme.replace('| 400 | 2 |', '| 400 | 1 |')],
  ['a missing row', readme.replace(/\| `NoVideo`.*\n/, '')],
  ['a row too many', readme.replace(END, `| \`Other\` | | | | | | | |\n${END}`)],
  ['no table', readme.replace(START, '')],
  ['a table without an end', readme.replace(END, '')],
  ['two tables', `${readme}\n${readme}`],
])('a README with %s is refused, and told what to paste', (_what, other) => {
  expect(() => checkTable(other)).toThrow(failureTable());
});
