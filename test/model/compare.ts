import type { ItemResult } from '../../src/contract/batch';
import { FAILURES } from '../../src/contract/failure-table';
import type { JobResult } from '../../src/contract/job';
import { type ComparedJob, compareJob, describeEnd } from './compare-job';
import type { Outcome, WorkflowEvent } from './events';
import type { JobModel } from './job-model';
import type { BatchScript, FallbackScript, Script } from './random-script';
import type { Observed } from './running-script';
import type { Attempt, ObservedJob } from './scripted-job';

/** Temporal takes 0 for no limit. */
const SHORTEST_TURN_MS = 1_000;
/** The parent learns of a hold and of its end by signals. */
const NEWS_MS = 20_000;

type ChildEvent = Extract<WorkflowEvent, { kind: 'child' }>;

/** One execution of a batch or a fallback: its start, and the children that it started or tried to start. */
interface ParentExecution {
  startedAtMs: number;
  children: ChildEvent[];
}

/** What the workflows of a script did that they must not, a sentence each. */
export function compare(observed: Observed): string[] {
  const { script, jobs, ended } = observed;
  const compared = jobs.map((job) => compareJob(job, script, script.kind));
  const ofJobs = compared.flatMap(({ problems }, index) =>
    problems.map((problem) => (script.kind === 'job' ? problem : `job ${index + 1}: ${problem}`)),
  );
  return [
    ...ofJobs,
    ...(ended ? [] : ['it never ended']),
    ...(isKind(observed, 'fallback') ? checkFallback(observed, compared) : []),
    ...(isKind(observed, 'batch') ? checkBatch(observed, compared) : []),
  ];
}

function isKind<Kind extends Script['kind']>(
  observed: Observed,
  kind: Kind,
): observed is Observed<Extract<Script, { kind: Kind }>> {
  return observed.script.kind === kind;
}

function executionsOf(parent: WorkflowEvent[]): ParentExecution[] {
  const executions: ParentExecution[] = [];
  for (const event of parent) {
    if (event.kind === 'run' && !event.continued) executions.push({ startedAtMs: event.atMs, children: [] });
    if (event.kind === 'child') executions.at(-1)?.children.push(event);
  }
  return executions;
}

function outcomeOf(parent: WorkflowEvent[]): Outcome | undefined {
  const last = parent.at(-1);
  return last?.kind === 'end' ? last.outcome : undefined;
}

const isCancelled = (parent: WorkflowEvent[]) => parent.some(({ kind }) => kind === 'cancel');

/** One service makes the video, and the next one is asked only when none before it can have a task. */
function checkFallback(
  { script, jobs, parent }: Observed<FallbackScript>,
  compared: ComparedJob[],
): string[] {
  const problems: string[] = [];
  const paid = jobs.filter(({ tasks }) => tasks.length > 0);
  if (paid.length > 1) problems.push(`${paid.length} services were paid`);
  const executions = executionsOf(parent);
  const isRestarted = executions.length > 1;
  for (const [index, job] of jobs.entries()) {
    const others = jobs.filter((other) => other !== job).flatMap(submitsOf);
    const lastPostMs = Math.max(...submitsOf(job).map(({ attemptAtMs }) => attemptAtMs));
    const doubtful = others.find((attempt) => mayHaveTask(attempt) && attempt.attemptAtMs < lastPostMs);
    if (doubtful)
      problems.push(`service ${index + 1} was asked after ${JSON.stringify(doubtful.answers)} of another`);
    const next = compared[index + 1]?.executions ?? [];
    for (const { outcome: end, startedAtMs, endedAtMs } of compared[index]?.executions ?? []) {
      const submits = submitsOf(job).filter(({ attemptAtMs }) => attemptAtMs <= endedAtMs);
      const mayGoOn = end && 'failed' in end && isCertain(end, submits);
      const goesOn = mayGoOn && !submits.some(isKilled);
      const isFollowed = next.some((execution) => execution.startedAtMs >= endedAtMs);
      const isLast = index === jobs.length - 1;
      if (goesOn && !isLast && !isFollowed && !isCancelled(parent) && !isRestarted)
        problems.push(`it ended although service ${index + 1} certainly has no task`);
      const isJoined = next.some((execution) => execution.startedAtMs >= startedAtMs);
      if (end && !mayGoOn && isJoined)
        problems.push(
          `service ${index + 2} was asked after service ${index + 1} ended as ${describeEnd(end)}`,
        );
    }
  }
  const lastEnd = compared.findLast(({ executions }) => executions.length > 0)?.executions.at(-1)?.outcome;
  problems.push(...checkTurns(script, executions), ...checkSameEnd(outcomeOf(parent), lastEnd, parent));
  return problems;
}

/** Those of which the service may have received something. */
function submitsOf({ attempts }: ObservedJob): Attempt[] {
  return attempts.filter(({ type, answers }) => type === 'submitVideo' && answers.length > 0);
}

const isKilled = ({ answers: [answer] }: Attempt) => answer?.kind === 'killed';

/** A worker that died at its start has sent nothing, which only the record can tell. */
function mayHaveTask({ answers: [answer], end }: Attempt): boolean {
  if (answer?.kind === 'killed') return answer.at !== 'start';
  return ['ok', 'SubmitUnconfirmed', 'ServiceFailed'].includes(end);
}

function isCertain({ failed, details }: Extract<Outcome, { failed: unknown }>, submits: Attempt[]): boolean {
  const { fallsBack } = FAILURES[failed];
  if (submits.some(mayHaveTask) || details?.taskId !== undefined) return false;
  return fallsBack === 'always' || (fallsBack === 'if-answered' && details?.status !== undefined);
}

/** Each job has the rest of the deadline, and to submit as long as leaves time for the services after it. */
function checkTurns(script: FallbackScript, executions: ParentExecution[]): string[] {
  return executions.flatMap(({ startedAtMs, children }) =>
    children.flatMap(({ input, atMs, name }) => {
      const remainingMs = Math.max(SHORTEST_TURN_MS, startedAtMs + script.deadlineMs - atMs);
      const left = script.services.length - itemOf({ name });
      const turnMs = Math.floor(Math.min(script.fallbackAfterMs, remainingMs / (left + 1)));
      const within = left > 0 ? Math.max(SHORTEST_TURN_MS, turnMs) : undefined;
      return [
        ...(input.deadline === remainingMs ? [] : [`${name} has ${input.deadline} ms, not ${remainingMs}`]),
        ...(input.submitWithin === within
          ? []
          : [`${name} submits for ${input.submitWithin} ms, not ${within}`]),
      ];
    }),
  );
}

function checkSameEnd(
  found: Outcome | undefined,
  ofJob: Outcome | undefined,
  parent: WorkflowEvent[],
): string[] {
  if (isCancelled(parent) && describeEnd(found) === 'Cancelled') return [];
  if (describeEnd(found) !== describeEnd(ofJob))
    return [`it ended as ${describeEnd(found)}, and its last job as ${describeEnd(ofJob)}`];
  return taskOf(found) === taskOf(ofJob) ? [] : [`its task is ${taskOf(found)}, not ${taskOf(ofJob)}`];
}

function taskOf(outcome: Outcome | undefined): string | undefined {
  if (outcome === undefined) return undefined;
  return 'succeeded' in outcome ? outcome.succeeded.taskId : outcome.details?.taskId;
}

/** Every item has its result, in a file that is complete and in order, and not too many run at once. */
function checkBatch(observed: Observed<BatchScript>, compared: ComparedJob[]): string[] {
  const { script, workflowId, results, parent } = observed;
  const executions = executionsOf(parent);
  const failures = results.flatMap((result) => (result.outcome === 'failed' ? [result.failure] : []));
  const stops = script.onFailure === 'stop' && failures.length > 0;
  const isCutShort = stops || isCancelled(parent);
  // One that ends early does not know of later items that an earlier execution began. They are found when it starts again.
  const reached = isCutShort ? (executions.at(-1)?.children ?? []).map(itemOf) : undefined;
  const problems = compared.flatMap((job, index) => {
    const result = results.find(({ item }) => item === index + 1);
    const isUnreached =
      result === undefined && reached?.includes(index + 1) === false && executions.length > 1;
    return isUnreached ? [] : checkItem(result, job.executions, index + 1);
  });
  const numbers = results.map(({ item }) => item);
  if (numbers.some((item, index) => index > 0 && item <= (numbers[index - 1] ?? 0)))
    problems.push(`results of ${numbers}`);
  if (results.some(({ item, name }) => name !== `${workflowId}-${item}`))
    problems.push('a result has another name');
  if (results.length !== script.items.length && !isCutShort)
    problems.push(`${results.length} results for ${script.items.length} items`);
  const expected = [
    ...(stops ? failures : ['succeeded']),
    // What failed for good in an earlier execution does not stop the next one.
    ...(stops && executions.length > 1 ? ['succeeded'] : []),
    ...(isCancelled(parent) ? ['Cancelled', 'succeeded'] : []),
  ];
  const found = describeEnd(outcomeOf(parent));
  if (!expected.includes(found)) problems.push(`the batch ended as ${found}, not ${expected.join(' or ')}`);
  return [...problems, ...checkOrder(executions), ...checkWindow(script, executions, compared)];
}

function checkItem(result: ItemResult | undefined, executions: JobModel[], number: number): string[] {
  const { outcome, input, taskId: ownTask } = executions.at(-1) ?? {};
  const wrong = (problem: string) => [`item ${number}: ${problem}`];
  if (executions.length === 0) return result === undefined ? [] : wrong('it has a result and never began');
  if (result === undefined) return wrong('it began and has no result');
  if (Object(input?.request).seed !== number) return wrong('it is of another request');
  if (result.outcome !== 'succeeded') {
    const isSame = describeEnd(outcome) === result.failure && ownTask === result.details.taskId;
    return isSame ? [] : wrong(`it ended as ${describeEnd(outcome)}, and its result says ${result.failure}`);
  }
  if (outcome === undefined || !('succeeded' in outcome)) return wrong('it has not succeeded');
  const [recorded, facts] = [factsOf(result), factsOf(outcome.succeeded)];
  return recorded === facts ? [] : wrong(`${recorded} is recorded, not ${facts}`);
}

type Facts = Pick<JobResult, 'taskId' | 'video' | 'waitedMs' | 'polls' | 'seed'>;

function factsOf({ taskId, video, waitedMs, polls, seed }: Facts): string {
  return JSON.stringify({ taskId, video, waitedMs, polls, seed });
}

/** In each execution the items begin in order; one that ended before may be started a second time. */
function checkOrder(executions: ParentExecution[]): string[] {
  return executions.flatMap(({ children }) => {
    const items = children.map(itemOf);
    const first = items.filter((item, index) => items.indexOf(item) === index);
    const isInOrder = first.every((item, index) => index === 0 || item > (first[index - 1] ?? 0));
    return isInOrder ? [] : [`items began as ${items}`];
  });
}

/**
 * Items that wait for a decision do not count, but no more of them than the window is wide. Nor do those that an earlier
 * execution of the batch started, until this one comes to them.
 */
function checkWindow(
  { window }: BatchScript,
  executions: ParentExecution[],
  compared: ComparedJob[],
): string[] {
  const isHeld = ({ holds }: JobModel, atMs: number) =>
    holds.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs + NEWS_MS);
  return executions.flatMap(({ children }) =>
    children.flatMap(({ atMs, name }, index) => {
      const before = new Set(children.slice(0, index).map(itemOf));
      before.delete(itemOf({ name }));
      const running = [...before].flatMap((item) =>
        (compared[item - 1]?.executions ?? []).filter(
          (execution) => execution.startedAtMs <= atMs && atMs < execution.endedAtMs,
        ),
      );
      const held = running.filter((execution) => isHeld(execution, atMs)).length;
      const counted = running.length + 1 - Math.min(held, window);
      return counted <= window ? [] : [`${counted} items ran at once`];
    }),
  );
}

function itemOf({ name }: Pick<ChildEvent, 'name'>): number {
  return Number(name.split('-').at(-1));
}
