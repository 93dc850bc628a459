import type { CheckName, Finding } from './check';

const STATE_COLUMNS = 'warning  '.length;
const NAME_COLUMNS = 'namespace  '.length;
const INDENT = ' '.repeat(STATE_COLUMNS + NAME_COLUMNS);
/** A narrower screen would break every line. */
const MIN_COLUMNS = 60;

/** The lines of a finding: its state, the name of the check and what was found, with the fix below. */
export function findingLines(name: CheckName, finding: Finding, columns: number | undefined): string[] {
  const width = columns === undefined ? undefined : Math.max(columns, MIN_COLUMNS) - 1 - INDENT.length;
  const [first = '', ...rest] = wrap(finding.found, width);
  const fixes = 'fix' in finding ? finding.fix.split('\n').flatMap((fix) => wrap(fix, width)) : [];
  return [
    `${finding.state.padEnd(STATE_COLUMNS)}${name.padEnd(NAME_COLUMNS)}${first}`,
    ...[...rest, ...fixes].map((line) => `${INDENT}${line}`),
  ];
}

export function summaryLine(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  const [failed, skipped, warnings] = [count('failed'), count('skipped'), count('warning')];
  if (failed + skipped === 0) {
    const rest = warnings === 0 ? '' : `, with ${warnings} warning${warnings === 1 ? '' : 's'}`;
    return `Ready to generate${rest}.`;
  }
  const rest = skipped === 0 ? '' : `, ${skipped} ${skipped === 1 ? 'was' : 'were'} skipped`;
  return `Not ready: ${failed} of ${findings.length} checks failed${rest}.`;
}

/** Wraps at spaces; a word that is too long gets a line of its own. */
function wrap(text: string, width: number | undefined): string[] {
  if (width === undefined) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
