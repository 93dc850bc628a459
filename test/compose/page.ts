import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { replacePart } from '../../bench/support/page.cjs';

const PAGE = join(__dirname, '../../docs/deployment.md');
/** What the page was written from, so that a test can say whether its transcript was edited by hand. */
export const REPORT = join(__dirname, 'report.json');
export const PART = 'compose';

export interface ComposeReport {
  ranOn: string;
  minutes: number;
  versions: Record<string, string>;
  /** The images that could not be pulled, and what stood in for each. */
  standIns: readonly string[];
  lines: readonly string[];
}

/** The part of the page that the command writes. */
export function transcriptOf({ ranOn, minutes, versions, standIns, lines }: ComposeReport): string {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const ran = `Run on ${ranOn} in ${minutes} min with ${named.join(' and ')}.`;
  const instead =
    standIns.length === 0
      ? ''
      : ' The machine could not pull images: `test/compose/report.json` names what stood in for each.';
  return `${ran}${instead}\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``;
}

export function writeReport(report: ComposeReport): void {
  writeFileSync(PAGE, replacePart(readFileSync(PAGE, 'utf8'), transcriptOf(report), PART));
  writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
}
