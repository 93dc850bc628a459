import type { ItemResult } from '../../src/contract/batch';
import { FAILURES } from '../../src/contract/failure-table';
import { type ComparedJob, compareJob, describeEnd, type Life } from './compare-job';
import type { Played } from './family';
import type { Note, Outcome } from './notes';
import type { BatchScript, FallbackScript, Script } from './script';
import type { Attempt, PlayedJob } from './scripted-job';

/** Temporal takes 0 for no limit. */
const SHORTEST_TURN_MS = 1_000;
/** The parent learns of a hold and of its end by signals. */
const NEWS_MS = 20_000;

type ChildNote = Extract<Note, { kind: 'child' }>;

/** One life of a batch or a fallback: its start, and the children that it started or tried to start. */
interface ParentLife {
  startedAtMs: number;
  children: ChildNote[];
}

/** What the workflows of a script did that they must not, a sentence each. */
export function compare(played: Played): string[] {
  const { script, jobs, ended } = played;
  const compared = jobs.map((job) => compareJob(job, script, script.kind));
  const ofJobs = compared.flatMap(({ problems }, index) =>
    problems.map((problem) => (script.kind === 'job' ? problem : `job ${index + 1}: ${problem}`)),
  );
  return [
    ...ofJobs,
    ...(ended ? [] : ['it never ended']),
    ...(isKind(played, 'fallback') ? checkFallback(played, compared) : []),
    ...(isKind(played, 'batch') ? checkBatch(played, compared) : []),
  ];
}

function isKind<Kind extends Script['kind']>(
  played: Played,
  kind: Kind,
): played is Played<Extract<Script, { kind: Kind }>> {
  return played.script.kind === kind;
}

function livesOf(parent: Note[]): ParentLife[] {
  const lives: ParentLife[] = [];
  for (const note of parent) {
    if (note.kind === 'run' && !note.continued) lives.push({ startedAtMs: note.atMs, children: [] });
    if (note.kind === 'child') lives.at(-1)?.children.push(note);
  }
  return lives;
}

function outcomeOf(parent: Note[]): Outcome | undefined {
  const last = parent.at(-1);
  return last?.kind === 'end' ? last.outcome : undefined;
}

const isCancelled = (parent: Note[]) => parent.some(({ kind }) => kind === 'cancel');

/** One service makes the video, and the next one is asked only when none before it can have a task. */
function checkFallback({ script, jobs, parent }: Played<FallbackScript>, compared: ComparedJob[]): string[] {
  const problems: string[] = [];
  const paid = jobs.filter(({ generations }) => generations.length > 0);
  if (paid.length > 1) problems.push(`${paid.length} services were paid`);
  const lives = livesOf(parent);
  const isRestarted = lives.length > 1;
  for (const [index, job] of jobs.entries()) {
    const others = jobs.filter((other) => other !== job).flatMap(submitsOf);
    const lastPostMs = Math.max(...submitsOf(job).map(({ attemptAtMs }) => attemptAtMs));
    const doubtful = others.find((attempt) => mayHaveTask(attempt) && attempt.attemptAtMs < lastPostMs);
    if (doubtful)
      problems.push(`service ${index + 1} was asked after ${JSON.stringify(doubtful.answers)} of another`);
    const next = compared[index + 1]?.lives ?? [];
    for (const { outcome: end, startedAtMs, endedAtMs } of compared[index]?.lives ?? []) {
      const submits = submitsOf(job).filter(({ attemptAtMs }) => attemptAtMs <= endedAtMs);
      const mayGoOn = end && 'failed' in end && isCertain(end, submits);
      const goesOn = mayGoOn && !submits.some(isKilled);
      const isFollowed = next.some((life) => life.startedAtMs >= endedAtMs);
      const isLast = index === jobs.length - 1;
      if (goesOn && !isLast && !isFollowed && !isCancelled(parent) && !isRestarted)
        problems.push(`it ended although service ${index + 1} certainly has no task`);
      const isJoined = next.some((life) => life.startedAtMs >= startedAtMs);
      if (end && !mayGoOn && isJoined)
        problems.push(
          `service ${index + 2} was asked after service ${index + 1} ended as ${describeEnd(end)}`,
        );
    }
  }
  const lastEnd = compared.findLast(({ lives }) => lives.length > 0)?.lives.at(-1)?.outcome;
  problems.push(...checkTurns(script, lives), ...checkSameEnd(outcomeOf(parent), lastEnd, parent));
  return problems;
}

/** Those of which the service may have received something. */
function submitsOf({ attempts }: PlayedJob): Attempt[] {
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
function checkTurns(script: FallbackScript, lives: ParentLife[]): string[] {
  return lives.flatMap(({ startedAtMs, children }) =>
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

function checkSameEnd(found: Outcome | undefined, ofJob: Outcome | undefined, parent: Note[]): string[] {
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
function checkBatch(played: Played<BatchScript>, compared: ComparedJob[]): string[] {
  const { script, workflowId, results, parent } = played;
  const lives = livesOf(parent);
  const failures = results.flatMap((result) => (result.outcome === 'failed' ? [result.failure] : []));
  const stops = script.onFailure === 'stop' && failures.length > 0;
  const isCutShort = stops || isCancelled(parent);
  // One that ends early does not know of the items after it that an earlier life began. They are found when it starts again.
  const reached = isCutShort ? (lives.at(-1)?.children ?? []).map(itemOf) : undefined;
  const problems = compared.flatMap((job, index) => {
    const result = results.find(({ item }) => item === index + 1);
    const isUnreached = result === undefined && reached?.includes(index + 1) === false && lives.length > 1;
    return isUnreached ? [] : checkItem(result, job.lives, index + 1);
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
    // What failed for good in an earlier life does not stop the next one.
    ...(stops && lives.length > 1 ? ['succeeded'] : []),
    ...(isCancelled(parent) ? ['Cancelled', 'succeeded'] : []),
  ];
  const found = describeEnd(outcomeOf(parent));
  if (!expected.includes(found)) problems.push(`the batch ended as ${found}, not ${expected.join(' or ')}`);
  return [...problems, ...checkOrder(lives), ...checkWindow(script, lives, compared)];
}

function checkItem(result: ItemResult | undefined, lives: Life[], number: number): string[] {
  const { outcome, input, taskId: ownTask } = lives.at(-1) ?? {};
  const wrong = (problem: string) => [`item ${number}: ${problem}`];
  if (lives.length === 0) return result === undefined ? [] : wrong('it has a result and never began');
  if (result === undefined) return wrong('it began and has no result');
  if (Object(input?.request).seed !== number) return wrong('it is of another request');
  if (result.outcome !== 'succeeded') {
    const isSame = describeEnd(outcome) === result.failure && ownTask === result.details.taskId;
    return isSame ? [] : wrong(`it ended as ${describeEnd(outcome)}, and its result says ${result.failure}`);
  }
  if (outcome === undefined || !('succeeded' in outcome)) return wrong('it has not succeeded');
  const { taskId, video, waitedMs, polls, seed } = outcome.succeeded;
  const facts = JSON.stringify({ taskId, video, waitedMs, polls, seed });
  const { taskId: a, video: b, waitedMs: c, polls: d, seed: e } = result;
  const recorded = JSON.stringify({ taskId: a, video: b, waitedMs: c, polls: d, seed: e });
  return recorded === facts ? [] : wrong(`${recorded} is recorded, not ${facts}`);
}

/** In each life the items begin in order; one that ended before may be started a second time. */
function checkOrder(lives: ParentLife[]): string[] {
  return lives.flatMap(({ children }) => {
    const items = children.map(itemOf);
    const first = items.filter((item, index) => items.indexOf(item) === index);
    const isInOrder = first.every((item, index) => index === 0 || item > (first[index - 1] ?? 0));
    return isInOrder ? [] : [`items began as ${items}`];
  });
}

/**
 * Items that wait for a decision do not count, but no more of them than the window is wide. Nor do those that an earlier life of
 * the batch started, until this one comes to them.
 */
function checkWindow({ window }: BatchScript, lives: ParentLife[], compared: ComparedJob[]): string[] {
  const isHeld = ({ holds }: Life, atMs: number) =>
    holds.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs + NEWS_MS);
  return lives.flatMap(({ children }) =>
    children.flatMap(({ atMs, name }, index) => {
      const before = new Set(children.slice(0, index).map(itemOf));
      before.delete(itemOf({ name }));
      const running = [...before].flatMap((item) =>
        (compared[item - 1]?.lives ?? []).filter((life) => life.startedAtMs <= atMs && atMs < life.endedAtMs),
      );
      const held = running.filter((life) => isHeld(life, atMs)).length;
      const counted = running.length + 1 - Math.min(held, window);
      return counted <= window ? [] : [`${counted} items ran at once`];
    }),
  );
}

function itemOf({ name }: Pick<ChildNote, 'name'>): number {
  return Number(name.split('-').at(-1));
}
