import { inTime } from '../client/temporal-calls';
import { summaryLines } from './batch';
import { EXIT, reportError } from './exit-codes';
import { NoSuchJob } from './find-job';
import { followJobs, joinJob } from './follow-jobs';
import { type JobRow, storedLines } from './job-lines';
import { checkName, type JobsSession, withJobs } from './open-jobs';
import { printLine, type Terminal } from './terminal';

/** `videogen watch`: shows jobs and batches until all of them have ended. */
export async function watch(
  workflowIds: string[],
  options: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const names = [...new Set(workflowIds)];
  names.forEach(checkName);
  return await withJobs(terminal, {
    withWorker: true,
    run: (session) => watchJobs(session, names, options, terminal),
    withoutJobs: () => {
      throw new NoSuchJob(names[0] ?? '');
    },
  });
}

async function watchJobs(
  session: JobsSession,
  names: readonly string[],
  { json }: { json?: boolean },
  terminal: Terminal,
): Promise<number> {
  for (const name of names) await joinJob(session, name, terminal);
  const asJson = json || terminal.outScreen() === undefined;
  const rows = await followJobs(session, names, { terminal, asJson });
  if (rows !== undefined) {
    const [only, ...others] = rows;
    if (only && others.length === 0) return reportEnd(session, only, terminal);
    return rows.every(({ state }) => state === 'succeeded') ? EXIT.ok : EXIT.someFailed;
  }
  if (terminal.isOutClosed()) return EXIT.ok;
  if (session.isInterrupted()) printLine(terminal, 'Stopped watching. Nothing is cancelled.');
  return EXIT.interrupted;
}

/** Says how the only job or batch ended, as `generate` and `batch` do. */
async function reportEnd(session: JobsSession, row: JobRow, terminal: Terminal): Promise<number> {
  const { client, videos } = session;
  const { workflowId, kind, state } = row;
  try {
    const lines =
      kind === 'batch'
        ? await summaryLines(await inTime(client, () => videos.batch(workflowId).result()), terminal.env)
        : storedLines(await inTime(client, () => videos.handle(workflowId).result()));
    for (const line of lines) printLine(terminal, line);
    return state === 'succeeded' ? EXIT.ok : EXIT.someFailed;
  } catch (error) {
    // The last row said it to programs.
    const code = reportError(error, {}, terminal);
    return kind === 'batch' ? EXIT.someFailed : code;
  }
}
