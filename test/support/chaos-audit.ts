import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { JobResult } from '../../src/contract/job';
import type { SubmitDecision } from '../../src/contract/lost-submit';
import { SUBMIT_POLICY } from '../../src/contract/policies';
import type { Emulator, RecordedCall } from '../../src/testing';
import type { PlannedJob } from './chaos-plan';
import type { HistoryEvent } from './history';

/** A job after the run. */
export interface RunJob extends PlannedJob {
  workflowId: string;
  /** Missing when the job failed or did not end; `ending` says which. */
  result?: JobResult;
  ending: string;
  events: HistoryEvent[];
}

/** A POST this long after an unanswered one may be its retry. Below the heartbeat timeout, since a heartbeat may arrive late. */
const LOST_AFTER_MS = SUBMIT_POLICY.heartbeatTimeout * 0.75;

/** Every flaw of the jobs of a run, according to the emulator's records. Empty when the run was correct. */
export async function auditJobs(
  jobs: readonly RunJob[],
  emulator: Emulator,
  killedAtMs: readonly number[],
): Promise<string[]> {
  const flaws = await Promise.all(jobs.map((job) => auditJob(job, emulator, killedAtMs)));
  const prompts = new Set(jobs.map(({ prompt }) => prompt));
  const strays = emulator.generations().filter(({ request }) => !prompts.has(request.prompt));
  return [...flaws.flat(), ...strays.map(({ request }) => `a generation of no job: ${request.prompt}`)];
}

async function auditJob(job: RunJob, emulator: Emulator, killedAtMs: readonly number[]): Promise<string[]> {
  const { prompt, result, onLostSubmit = 'hold' } = job;
  const flaws: string[] = [];
  const expect = (isRight: boolean, flaw: string) => {
    if (!isRight) flaws.push(`${prompt} (${onLostSubmit}): ${flaw}`);
  };
  const tasks = emulator.generations().filter(({ request }) => request.prompt === prompt);
  const posts = postsOf(emulator, prompt);
  const paid = posts.filter((post) => !isRefused(post));
  const story = describePosts(posts, decisionsOf(job));

  expect(result !== undefined, `ended as ${job.ending}; ${story}`);
  expect(tasks.length === paid.length, `${tasks.length} generations of ${paid.length} POSTs; ${story}`);
  expect(new Set(posts.map(({ idempotencyKey }) => idempotencyKey)).size === 1, `other keys; ${story}`);
  if (onLostSubmit === 'hold') expect(tasks.length === 1, `paid ${tasks.length} times; ${story}`);
  for (const [index, post] of paid.slice(0, -1).entries()) {
    expect(
      isLost(post, paid[index + 1], killedAtMs),
      `paid again though POST ${index + 1} was not lost; ${story}`,
    );
  }
  if (result === undefined) return flaws;

  const own = tasks.find(({ taskId }) => taskId === result.taskId);
  expect(own !== undefined, `has the task ${result.taskId}, which belongs to another job`);
  if (own === undefined) return flaws;
  const stored = await readFile(fileURLToPath(result.video.uri)).catch(() => undefined);
  expect(
    stored?.equals(await emulator.video(own.taskId)) === true,
    `${result.video.uri} is not its complete video`,
  );
  return flaws;
}

/** The answer was cut, or the worker was killed and its heartbeat timed out. */
function isLost(post: RecordedCall, next: RecordedCall | undefined, killedAtMs: readonly number[]): boolean {
  if (next === undefined) return false;
  if (post.status === undefined) return true;
  const killed = killedAtMs.some((atMs) => atMs > post.atMs && atMs < next.atMs);
  return killed && next.atMs - post.atMs > LOST_AFTER_MS;
}

export function postsOf(emulator: Emulator, prompt?: string): RecordedCall[] {
  return emulator.calls.filter(
    ({ call, body }) => call === 'submit' && (prompt === undefined || Object(body).prompt === prompt),
  );
}

/** A refused POST makes no task. */
export function isRefused({ status = 0 }: RecordedCall): boolean {
  return status >= 400;
}

/** The operator's decisions about a job, from its history. */
export function decisionsOf({ events }: Pick<RunJob, 'events'>): SubmitDecision['decision'][] {
  return events.flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: accepted }) => {
    const [argument] = accepted?.acceptedRequest?.input?.args?.payloads ?? [];
    return argument?.data ? [JSON.parse(Buffer.from(argument.data).toString()).decision] : [];
  });
}

/** The activities with an attempt that timed out, because its worker was killed. */
export function interrupted(events: readonly HistoryEvent[]): string[] {
  const types = new Map(
    events.map((event) => [
      String(event.eventId),
      event.activityTaskScheduledEventAttributes?.activityType?.name,
    ]),
  );
  return events.flatMap((event) => {
    const started = event.activityTaskStartedEventAttributes;
    const ended = event.activityTaskTimedOutEventAttributes;
    const isTimeout = Boolean((started?.lastFailure ?? ended?.failure)?.timeoutFailureInfo);
    return isTimeout ? [types.get(String((started ?? ended)?.scheduledEventId)) ?? ''] : [];
  });
}

function describePosts(posts: readonly RecordedCall[], decisions: readonly string[]): string {
  const lines = posts.map(({ atMs, status }) => `${new Date(atMs).toISOString()} → ${status ?? 'no answer'}`);
  return `POSTs ${lines.join(', ') || 'none'}; decided ${decisions.join(', ') || 'nothing'}`;
}
