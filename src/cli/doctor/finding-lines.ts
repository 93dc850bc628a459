import type { CheckName, Finding } from './check';

const STATE_COLUMNS = 'warning  '.length;
const NAME_COLUMNS = 'namespace  '.length;
const INDENT = ' '.repeat(STATE_COLUMNS + NAME_COLUMNS);
/** Below this, words are cut up more than they are shown. */
const FEWEST_COLUMNS = 60;

/** A finding for a person: its state, its name, what was found, and below it the fix. */
export function findingLines(name: CheckName, finding: Finding, columns: number | undefined): string[] {
  const room = columns === undefined ? undefined : Math.max(columns, FEWEST_COLUMNS) - 1 - INDENT.length;
  const [first = '', ...rest] = wrap(finding.found, room);
  const fixes = 'fix' in finding ? finding.fix.split('\n').flatMap((fix) => wrap(fix, room)) : [];
  return [
    `${finding.state.padEnd(STATE_COLUMNS)}${name.padEnd(NAME_COLUMNS)}${first}`,
    ...[...rest, ...fixes].map((line) => `${INDENT}${line}`),
  ];
}

export function summaryLine(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  const [wrong, skipped, warnings] = [count('wrong'), count('skipped'), count('warning')];
  const also = (told: string[]) => told.map((words) => `, ${words}`).join('');
  if (wrong + skipped === 0) {
    return `Ready to generate${also(warnings > 0 ? [`with ${warnings} to watch`] : [])}.`;
  }
  return `Not ready: ${wrong} of ${findings.length} checks failed${also(skipped > 0 ? [`${skipped} ${skipped === 1 ? 'was' : 'were'} skipped`] : [])}.`;
}

/** At spaces; a word that is longer than the room keeps its own line. */
function wrap(text: string, room: number | undefined): string[] {
  if (room === undefined) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
