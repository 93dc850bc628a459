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

const KILL =
  /^kill -9 of (\S+): well again after ([\d.]+) s; the job ended well after ([\d.]+) s, 1 task paid[.]\n/gm;

/** Says in one line what the kills of single containers did, with their longest times. */
function joinKills(text: string): string {
  const kills = [...text.matchAll(KILL)];
  const longest = (group: number) => Math.max(...kills.map((kill) => Number(kill[group])));
  const names = kills.map(([, name]) => name).join(', ');
  const joined = `kill -9 of ${names}, one after the other: healthy again within ${longest(2)} s; each job ended well within ${longest(3)} s, 1 task paid.\n`;
  return text.replaceAll(KILL, (line) => (line === kills[0]?.[0] ? joined : ''));
}

/** The part of the page that the command writes. */
export function transcriptOf({ ranOn, minutes, versions, standIns, lines }: ComposeReport): string {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const ran = `Run on ${ranOn} in ${minutes} min with ${named.join(' and ')}.`;
  const instead =
    standIns.length === 0
      ? ''
      : ' The machine could not pull images: `test/compose/report.json` names what stood in for each.';
  const transcript = joinKills(`${lines.join('\n')}\n`);
  return `${ran}${instead}\n\n\`\`\`text\n${transcript}\`\`\``;
}

export function writeReport(report: ComposeReport): void {
  writeFileSync(PAGE, replacePart(readFileSync(PAGE, 'utf8'), transcriptOf(report), PART));
  writeFileSync(REPORT, `${JSON.stringify(report, null, 2)}\n`);
}
