import type { JobOverview } from '../client/overview';
import { inTime } from '../client/temporal-calls';
import { FAILURES } from '../contract/failure-table';
import { EXIT, reportError } from './exit-codes';
import { findJob } from './find-job';
import { reportJoined } from './follow-job';
import { fittingLines } from './list';
import { watchRows } from './live-view';
import { checkName, type JobsSession, withJobs } from './open-jobs';
import { holdNotes, type JobRow, type Note, storedLines } from './progress-lines';
import { NoSuchJob } from './similar-names';
import { printLine, type Terminal } from './terminal';

const READ_EVERY_MS = 1_000;
/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 2_000;

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
  for (const name of names) await joinHere(session, name, terminal);
  const reader = new RowReader(session);
  const rows = await watchRows(session, terminal, {
    everyMs: READ_EVERY_MS,
    json,
    read: () => reader.readAll(names),
    lines: fittingLines,
    notesOn: (row) => [...holdNotes(row.workflowId, row.progress ?? row.batch), ...reader.notesOn(row)],
    isOver: (all) => all.every(({ endedAt }) => endedAt !== undefined),
  });
  if (rows === undefined) {
    if (terminal.isOutClosed()) return EXIT.ok;
    if (!session.isInterrupted()) return EXIT.noTemporal;
    const jobs = names.length === 1 ? 'The job is' : 'The jobs are';
    printLine(terminal, `Stopped watching. ${jobs} not cancelled.`);
    return EXIT.interrupted;
  }
  const [only, ...others] = rows;
  if (only?.kind === 'job' && others.length === 0) return reportEnd(session, only, terminal);
  return rows.every(({ state }) => state === 'succeeded') ? EXIT.ok : EXIT.someFailed;
}

/** On this machine's own server, a job may need a worker with other settings than those of this command. */
async function joinHere(session: JobsSession, name: string, terminal: Terminal): Promise<void> {
  const { worker, client } = session;
  if (worker === undefined) return;
  const { taskQueue, endedAt } = await findJob(session, name);
  if (endedAt !== undefined || taskQueue === worker.taskQueue) return;
  await reportJoined(await client.workflow.getHandle(name).describe(), worker, { terminal });
}

/** Says how the only job ended, as `generate` does. */
async function reportEnd({ client, videos }: JobsSession, row: JobRow, terminal: Terminal): Promise<number> {
  const { workflowId, failure } = row;
  try {
    const result = await inTime(client, () => videos.handle(workflowId).result());
    for (const line of storedLines(result)) printLine(terminal, line);
    return EXIT.ok;
  } catch (error) {
    // The last row said it to programs.
    const code = reportError(error, {}, terminal);
    return failure === undefined ? code : FAILURES[failure].exitCode;
  }
}

/** Reads what Temporal knows of jobs, and asks their workers for the rest. */
class RowReader {
  private readonly ended = new Map<string, JobRow>();
  /** Why the worker of a job may not answer. */
  private readonly notes = new Map<string, string>();

  constructor(private readonly session: JobsSession) {}

  readAll(names: readonly string[]): Promise<JobRow[]> {
    return Promise.all(names.map((name) => this.read(name)));
  }

  notesOn({ workflowId }: JobRow): Note[] {
    const text = this.notes.get(workflowId);
    return text === undefined ? [] : [{ key: text, text }];
  }

  private async read(name: string): Promise<JobRow> {
    const known = this.ended.get(name);
    if (known) return known;
    const overview = await findJob(this.session, name);
    if (overview.endedAt === undefined) return { ...overview, ...(await this.askWorker(overview)) };
    this.ended.set(name, overview);
    return overview;
  }

  private async askWorker({ workflowId, kind }: JobOverview): Promise<Partial<JobRow>> {
    const { client, videos, describeMissingWorker } = this.session;
    const ask = async (): Promise<Partial<JobRow>> =>
      kind === 'batch'
        ? { batch: await videos.batch(workflowId).progress({ items: true }) }
        : { progress: await videos.handle(workflowId).progress() };
    try {
      return await inTime(client, ask, QUERY_WITHIN_MS);
    } catch {
      const note = await describeMissingWorker(workflowId).catch(() => undefined);
      if (note !== undefined) this.notes.set(workflowId, note);
      return {};
    }
  }
}
