import type { ForgottenJob } from '../client/forget-job';
import { ForgetRefused } from '../client/refusals';
import { printableJson, shown } from '../contract/clean-text';
import { EXIT } from './exit-codes';
import { onJob } from './open-jobs';
import { printLine, type Terminal } from './terminal';

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
  options: ForgetCommandOptions,
  terminal: Terminal,
): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    const asks = !options.dryRun && !options.yes;
    if (asks && !terminal.canAsk()) throw new ForgetRefused(NOT_ASKED);
    const report = async (dryRun: boolean) => {
      const forgotten = await session.videos.forget(workflowId, { dryRun });
      for (const line of reportLines(forgotten)) printLine(terminal, line);
      if (!asks || !dryRun) terminal.out(options.json ? printableJson(forgotten) : shown(workflowId));
    };
    if (asks) {
      await report(true);
      const answer = await terminal.ask('Remove all this? It cannot be undone. [y/N] ');
      if (!/^\s*y(es)?\s*$/i.test(answer)) {
        printLine(terminal, 'Nothing was removed.');
        return session.isInterrupted() ? EXIT.interrupted : EXIT.ok;
      }
    }
    await report(options.dryRun ?? false);
    return EXIT.ok;
  });
}

const NOT_ASKED =
  'Nothing was removed: there is no terminal to ask on. Add --yes, or --dry-run to see what would go.';

function reportLines({ workflowId, kind, dryRun, removed, kept, stays }: ForgottenJob): string[] {
  const name = `${kind} ${shown(workflowId)}`;
  const verb = dryRun ? 'Would be removed' : 'Removed';
  const none = dryRun ? 'Nothing would be removed' : 'Nothing was left to remove';
  return [
    removed.length === 0 ? `${none} of the ${name}.` : `${verb} from the ${name}:`,
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
