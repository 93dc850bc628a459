import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../client/job-overview';
import type { JobOverview } from '../client/overview';
import { ConfigError } from '../config/service-config';
import type { BatchProgress } from '../contract/batch';
import { printableJson, shown } from '../contract/clean-text';
import type { JobProgress } from '../contract/job';
import { batchLine } from './batch-lines';
import { EXIT } from './exit-codes';
import { findJob } from './find-job';
import { onJob } from './job-action';
import type { JobsSession } from './open-jobs';
import type { PollOptions } from './options';
import { plainLine } from './progress-line';
import { printLine, type Terminal } from './terminal';

const ANSWERED_WITHIN_MS = 10_000;
const CHECK_EVERY_MS = 250;
/** Without a worker nobody answers a query. */
const QUERY_WITHIN_MS = 3_000;

type Progress = JobProgress | BatchProgress;

/** `videogen poll`: has a job or a batch poll now, and says what the service answered. */
export function poll(workflowId: string, options: PollOptions, terminal: Terminal): Promise<number> {
  return onJob(workflowId, options, terminal, async (session) => {
    const overview = await findJob(session, workflowId);
    if (overview.endedAt !== undefined) {
      throw new ConfigError(`${shown(workflowId)} has ended (${overview.state}): there is nothing to poll.`);
    }
    if (overview.kind === 'job' && overview.taskId === undefined) {
      throw new ConfigError(
        `${shown(workflowId)} has no task yet (${overview.phase}): there is nothing to poll.`,
      );
    }
    const progress = await pollNow(session, overview);
    for (const line of await describeAnswer(session, workflowId, progress)) printLine(terminal, line);
    terminal.out(options.json ? printableJson({ workflowId, progress }) : shown(workflowId));
    return EXIT.ok;
  });
}

/** Undefined if no worker answers. */
async function pollNow(
  { client, videos, signal }: JobsSession,
  { workflowId, kind }: JobOverview,
): Promise<Progress | undefined> {
  const job = kind === 'batch' ? videos.batch(workflowId) : videos.handle(workflowId);
  const ask = () =>
    inTime<Progress>(client, () => job.progress(), QUERY_WITHIN_MS).catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
  const before = await ask();
  await inTime(client, () => job.pollNow());
  if (before === undefined) return undefined;
  let latest: Progress | undefined = before;
  for (const giveUpAt = Date.now() + ANSWERED_WITHIN_MS; Date.now() < giveUpAt; ) {
    latest = await ask();
    if (latest === undefined || pollsOf(latest) > pollsOf(before) || !('polls' in latest)) return latest;
    if (!['waiting'].includes(latest.phase)) return latest;
    await sleep(CHECK_EVERY_MS, undefined, { signal });
  }
  return latest;
}

const pollsOf = (progress: Progress) => ('polls' in progress ? progress.polls : 0);

async function describeAnswer(
  { describeMissingWorker }: JobsSession,
  workflowId: string,
  progress: Progress | undefined,
): Promise<string[]> {
  if (progress === undefined) {
    const missing = await describeMissingWorker(workflowId).catch(() => undefined);
    return ['The poll is requested, but no worker answers.', ...(missing === undefined ? [] : [missing])];
  }
  if (!('polls' in progress)) return [`The poll is requested: ${batchLine(progress)}.`];
  return [`Poll ${progress.polls}: ${plainLine(progress)}`];
}
