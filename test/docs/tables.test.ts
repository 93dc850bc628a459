import { FAILURES } from '../../src/contract/failure-table';
import { SCENARIOS, whatWasRun } from '../ai-sdk/providers/what-runs';
import { readPage } from '../support/docs-page';
import { answerTable, breakList, failureTable } from '../support/documented-tables';
import { settingsTable } from '../support/settings-table';

/** Tables that are generated from the code, each between two comments of its page. */
const FILES = {
  failures: 'docs/failures.md',
  answers: 'docs/failures.md',
  settings: 'docs/configuration.md',
  'ai-sdk-packages': 'docs/ai-sdk.md',
  breaks: 'docs/proof.md',
};
const TABLES = {
  failures: failureTable(),
  answers: answerTable(),
  settings: settingsTable(),
  'ai-sdk-packages': whatWasRun(),
  breaks: breakList(),
};
type Name = keyof typeof TABLES;

const start = (name: Name) => `<!-- ${name}:start -->`;
const end = (name: Name) => `<!-- ${name}:end -->`;

/** The error for a difference contains the table to paste. */
function checkTable(name: Name, text: string): void {
  const [, ...afterStart] = text.split(start(name));
  const [shown, ...afterEnd] = (afterStart[0] ?? '').split(end(name));
  if (afterStart.length === 1 && afterEnd.length === 1 && shown?.trim() === TABLES[name]) return;
  throw new Error(
    `${FILES[name]} and the code have different ${name}. Paste this into ${FILES[name]}, ` +
      `instead of the text between ${start(name)} and ${end(name)}:\n\n${start(name)}\n${TABLES[name]}\n${end(name)}\n`,
  );
}

test('the page about the command line names the exit codes of failed jobs', () => {
  const [, ranges = ''] = /^\| ([\d, to]+) \| The job failed/m.exec(readPage('cli.md')) ?? [];
  const documented = ranges.split(', ').flatMap((range) => {
    const [first = 0, last = first] = range.split(' to ').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  const codes = Object.values(FAILURES).map(({ exitCode }) => exitCode);
  // 2 has a row of its own: a refused request is a wrong option too.
  expect(documented).toEqual(
    codes.filter((code) => code !== FAILURES.InvalidRequest.exitCode).sort((a, b) => a - b),
  );
});

const page = readPage('failures.md');
const SHOWN: Record<Name, string> = {
  failures: page,
  answers: page,
  settings: readPage('configuration.md'),
  'ai-sdk-packages': readPage('ai-sdk.md'),
  breaks: readPage('proof.md'),
};

test('the page about the AI SDK lists the jobs that run with each package', () => {
  expect(readPage('ai-sdk.md').replaceAll('\n', ' ')).toContain(
    `${SCENARIOS.slice(0, -1).join(', ')} and ${SCENARIOS.at(-1)}`,
  );
});

it.each(Object.keys(FILES) as Name[])('the documented table of %s matches the code', (name) => {
  expect(() => checkTable(name, SHOWN[name])).not.toThrow();
});

it.each<[string, Name, string]>([
  ['a changed word', 'failures', page.replace('refused the API key', 'refused the key')],
  ['a changed exit code', 'failures', page.replace('| 400 | 2 |', '| 400 | 1 |')],
  ['a missing row', 'failures', page.replace(/\| `NoVideo`.*\n/, '')],
  [
    'a row too many',
    'failures',
    page.replace(end('failures'), `| \`Other\` | | | | | | | |\n${end('failures')}`),
  ],
  [
    'another failure for an answer',
    'answers',
    page.replace('| 429 | RateLimited |', '| 429 | ServiceFailed |'),
  ],
  ['another version', 'ai-sdk-packages', SHOWN['ai-sdk-packages'].replace('` 3.0.41', '` 3.0.42')],
  ['another default', 'settings', SHOWN.settings.replace('`2GiB`', '`4GiB`')],
  ['no table', 'failures', page.replace(start('failures'), '')],
  ['a table without an end', 'answers', page.replace(end('answers'), '')],
  ['two tables', 'failures', `${page}\n${page}`],
])('a page with %s in its %s fails with the table to paste', (_what, name, other) => {
  expect(() => checkTable(name, other)).toThrow(TABLES[name]);
});
