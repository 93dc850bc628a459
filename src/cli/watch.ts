import { inTime } from '../client/job-overview';
import type { JobOverview } from '../client/overview';
import { FAILURES } from '../contract/failure-table';
import { decisionCommands } from '../contract/lost-submit';
import { EXIT, reportError } from './exit-codes';
import { checkName, findJob } from './find-job';
import type { JobRow } from './job-rows';
import { reportJoined } from './joined-job';
import { NoSuchJob } from './no-such-job';
import { type JobsSession, withJobs } from './open-jobs';
import type { WatchOptions } from './options';
import { storedLines } from './stored-lines';
import { printLine, type Terminal } from './terminal';
import { watchRows } from './watch-rows';

const READ_EVERY_MS = 1_000;
/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 2_000;
const QUERY_AGAIN_AFTER_MS = 10_000;
/** So many are read at the same time. */
const AT_ONCE = 10;

/** `videogen watch`: shows jobs and batches until all of them have ended. */
export async function watch(
  workflowIds: string[],
  options: WatchOptions,
  terminal: Terminal,
): Promise<number> {
  try {
    const names = [...new Set(workflowIds)];
    names.forEach(checkName);
    return await withJobs(terminal, {
      withWorker: true,
      run: (session) => watchJobs(session, names, options, terminal),
      withoutJobs: () => {
        throw new NoSuchJob(names[0] ?? '');
      },
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

async function watchJobs(
  session: JobsSession,
  names: readonly string[],
  options: WatchOptions,
  terminal: Terminal,
): Promise<number> {
  for (const name of names) await joinHere(session, name, terminal);
  const reader = new RowReader(session);
  const rows = await watchRows(session, terminal, {
    everyMs: READ_EVERY_MS,
    json: options.json,
    read: () => reader.readAll(names),
    notesOn: (row) => [...holdLines(row), ...reader.notesOn(row)],
    isOver: (all) => all.every(({ endedAt }) => endedAt !== undefined),
  });
  if (rows === undefined && terminal.isOutClosed()) return EXIT.ok;
  if (rows === undefined) {
    if (!session.isInterrupted()) return EXIT.noTemporal;
    printLine(
      terminal,
      `Stopped watching. ${names.length === 1 ? 'The job is' : 'The jobs are'} not cancelled.`,
    );
    return EXIT.interrupted;
  }
  const [only, ...others] = rows;
  if (only && others.length === 0) return reportEnd(session, only, terminal);
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
  const { workflowId, kind, state, failure } = row;
  if (kind === 'batch') return state === 'succeeded' ? EXIT.ok : EXIT.someFailed;
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
  private readonly queryAfterMs = new Map<string, number>();
  private readonly missingWorkers = new Map<string, string>();

  constructor(private readonly session: JobsSession) {}

  async readAll(names: readonly string[]): Promise<JobRow[]> {
    const rows: JobRow[] = [];
    for (let first = 0; first < names.length; first += AT_ONCE) {
      rows.push(...(await Promise.all(names.slice(first, first + AT_ONCE).map((name) => this.read(name)))));
    }
    return rows;
  }

  notesOn({ workflowId }: JobOverview): string[] {
    const note = this.missingWorkers.get(workflowId);
    return note === undefined ? [] : [note];
  }

  private async read(name: string): Promise<JobRow> {
    const known = this.ended.get(name);
    if (known) return known;
    const overview = await findJob(this.session, name);
    if (overview.endedAt !== undefined) {
      this.ended.set(name, overview);
      return overview;
    }
    return { ...overview, ...(await this.askWorker(overview)) };
  }

  private async askWorker({ workflowId, kind }: JobOverview): Promise<Partial<JobRow>> {
    if (Date.now() < (this.queryAfterMs.get(workflowId) ?? 0)) return {};
    const { client, videos } = this.session;
    const ask = async (): Promise<Partial<JobRow>> =>
      kind === 'batch'
        ? { batch: await videos.batch(workflowId).progress({ items: true }) }
        : { progress: await videos.handle(workflowId).progress() };
    try {
      return await inTime(client, ask, QUERY_WITHIN_MS);
    } catch {
      this.queryAfterMs.set(workflowId, Date.now() + QUERY_AGAIN_AFTER_MS);
      const note = await this.session.describeMissingWorker(workflowId).catch(() => undefined);
      if (note !== undefined) this.missingWorkers.set(workflowId, note);
      return {};
    }
  }
}

/** What to do about the lost submit of a job, or of the items of a batch. */
function holdLines({ workflowId, progress, batch }: JobRow): string[] {
  const items = (batch?.running ?? []).map(({ name, item, progress: own }) => ({
    name,
    subject: `Item ${item}: `,
    hold: own?.hold,
  }));
  return [{ name: workflowId, subject: '', hold: progress?.hold }, ...items].flatMap((one) => {
    const { name, subject, hold } = one;
    if (hold === undefined) return [];
    const commands = decisionCommands(name).map(({ when, command }) => `  ${command}   # ${when}`);
    return [
      `${subject}${hold.message}`,
      `Look for the task at the service and decide before ${hold.until}:`,
      ...commands,
    ].join('\n');
  });
}
