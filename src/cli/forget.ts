import type { ForgottenJob } from '../client/forget-job';
import { ForgetRefused } from '../client/refusals';
import { printableJson, shown } from '../contract/clean-text';
import { onJob } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';

interface ForgetCommandOptions {
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** A batch may have thousands of files; `--json` has them all. */
const MOST_LINES = 20;

/** `videogen forget`: removes what can be removed of an ended job or batch, and says what stays. */
export function forget(
  workflowId: string,
  { dryRun, yes, json }: ForgetCommandOptions,
  terminal: Terminal,
): Promise<number> {
  return onJob(workflowId, terminal, async ({ videos }) => {
    const forgotten = await videos.forget(workflowId, { dryRun: dryRun || !yes });
    for (const line of reportLines(forgotten)) printLine(terminal, line);
    if (!dryRun && !yes)
      throw new ForgetRefused('Nothing was removed. Add --yes to remove all this for good.');
    terminal.out(json ? printableJson(forgotten) : shown(workflowId));
    return EXIT.ok;
  });
}

function reportLines({ workflowId, kind, dryRun, removed, kept, stays }: ForgottenJob): string[] {
  const name = `${kind} ${shown(workflowId)}`;
  const verb = dryRun ? 'Would be removed' : 'Removed';
  const none = dryRun ? 'Nothing would be removed' : 'Nothing was left to remove';
  return [
    removed.length === 0 ? `${none} of ${name}.` : `${verb} from ${name}:`,
    ...few(removed.map(({ what, where }) => `  ${what.padEnd(12)} ${shown(where)}`)),
    ...(kept.length === 0 ? [] : ['Not removed:']),
    ...few(kept.map(({ what, where, why }) => `  ${what.padEnd(12)} ${shown(where)}: ${shown(why)}`)),
    'What stays:',
    ...stays.map((sentence) => `  ${shown(sentence)}`),
  ];
}

function few(lines: string[]): string[] {
  const more = lines.length - MOST_LINES;
  return more <= 0 ? lines : [...lines.slice(0, MOST_LINES), `  and ${more} more`];
}
