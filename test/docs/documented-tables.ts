import type { Setting } from '../../src/config/read-setting';
import { SETTINGS } from '../../src/config/settings';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import {
  type AnsweredCall,
  BY_KIND,
  BY_STATUS,
  failureOfStatus,
  type NoAnswer,
} from '../../src/service/answer-table';
import { BREAKS } from '../model/breaks';

/** The failure table as the page about failures shows it. */
export function failureTable(): string {
  const rows = Object.entries(FAILURES).map(([type, row]) => [
    `\`${type}\``,
    `${row.meaning}.`,
    row.advice,
    row.retry.submit,
    row.retry.poll,
    row.retry.download,
    row.httpStatus,
    row.exitCode,
  ]);
  return table(['Failure', 'Meaning', 'What to do', 'Submit', 'Poll', 'Download', 'HTTP', 'Exit'], rows);
}

/** The mistakes that the model must find, as the page about proof shows them. */
export function breakList(): string {
  return Object.entries(BREAKS)
    .map(([name, { mistake }]) => `- \`${name}\`: ${mistake}`)
    .join('\n');
}

/** The failures of one answer, in the columns of its row. */
function cellsOf(failureOf: (call: AnsweredCall) => FailureType): string[] {
  const [first, repeated] = [failureOf('submit'), failureOf('resubmit')];
  const submit = first === repeated ? first : `${first}; ${repeated} if repeated`;
  return [submit, failureOf('poll'), failureOf('download')];
}

const WITHOUT_STATUS: Record<NoAnswer, string> = {
  'not-sent': 'no connection: refused, DNS, TLS, a key that cannot be read',
  cut: 'the connection ended, or timed out, before the whole answer',
  unreadable: '2xx without the expected value',
  refused: '2xx that reports an error, such as `success: false`',
  'not-allowed': 'a link to a private address, or one without TLS',
};

/** The failure of each answer, by call, as the page about failures shows it. */
export function answerTable(): string {
  const unanswered = Object.entries(WITHOUT_STATUS).map(([kind, description]) => [
    description,
    ...cellsOf((call) => BY_KIND[kind as NoAnswer][call]),
  ]);
  const known = new Set(Object.values(BY_STATUS).flatMap((answers) => Object.keys(answers).map(Number)));
  const statuses = [...known].filter((status) => status % 100 !== 0).sort((a, b) => a - b);
  const answered = statuses.map((status) => [
    String(status),
    ...cellsOf((call) => failureOfStatus(call, status)),
  ]);
  const others = [300, 400, 500].map((hundred) => [
    `other ${hundred / 100}xx`,
    ...cellsOf((call) => failureOfStatus(call, hundred)),
  ]);
  return table(['Answer', 'Submit', 'Poll', 'Download'], joinAlike([...unanswered, ...answered, ...others]));
}

/** Joins neighbouring rows with the same failures. */
function joinAlike(rows: string[][]): string[][] {
  const joined: string[][] = [];
  for (const [name = '', ...failures] of rows) {
    const last = joined.at(-1);
    if (last && last.slice(1).join() === failures.join()) last[0] += `, ${name}`;
    else joined.push([name, ...failures]);
  }
  return joined;
}

function table(columns: string[], rows: (string | number)[][]): string {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The settings as the configuration page shows them: one table per group. */
export function settingsTable(): string {
  return Object.entries(SETTINGS)
    .map(([group, settings]) => {
      const rows = Object.entries<Setting>(settings).map(([name, setting]) => settingRow(name, setting));
      return [`## ${group}`, '', '| Variable | Meaning | Default |', '| --- | --- | --- |', ...rows].join(
        '\n',
      );
    })
    .join('\n\n');
}

function settingRow(name: string, { meaning, unset, type, isSecret }: Setting): string {
  const names = isSecret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
  return ['', names, meaning, unset ?? defaultOf(type), ''].join(' | ').trim().replace('|  |', '| |');
}

function defaultOf(type: Setting['type']): string {
  const value = type.parse(undefined);
  return value === undefined ? '' : `\`${value}\``;
}
