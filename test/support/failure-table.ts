import { FAILURES, type FailureRow } from '../../src/contract/failure-table';

const COLUMNS = ['Failure', 'Meaning', 'What to do', 'Submit', 'Look', 'Download', 'HTTP', 'Exit'];

/** The failure table as the README shows it. */
export function failureTable(): string {
  const rows = Object.entries<FailureRow>(FAILURES).map(([type, row]) => [
    `\`${type}\``,
    `${row.meaning}.`,
    row.advice,
    row.retry.submit,
    row.retry.check,
    row.retry.download,
    row.gatewayStatus,
    row.exitCode,
  ]);
  return [COLUMNS, COLUMNS.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
