import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { checkAttempts, type ObservedActivity, type RecordModel } from './attempts-model';
import type { Outcome, WorkflowEvent } from './events';
import { JobModel } from './job-model';
import type { Script, SharedOptions } from './random-script';
import { type Attempt, MOST_ATTEMPTS, type ObservedJob, UNKNOWN_TASK } from './scripted-job';

const MODELLED = ['submitVideo', 'pollVideo', 'adoptTask', 'downloadVideo'] as const;
const MAY_EXIST = 'a task may still exist';

export interface ComparedJob {
  /** What it did that the model does not allow, a sentence each. */
  problems: string[];
  /** What the model knows of each execution: of each start under the name of the job, with all its runs. */
  executions: JobModel[];
}

type RunEvent = ObservedJob['events'][number];

/** Compares a job with the model. One that is terminated may start again under its name, and only the record knows more. */
export function compareJob(observed: ObservedJob, options: SharedOptions, kind: Script['kind']): ComparedJob {
  const record: RecordModel = {
    isOpen: false,
    hasUnanswered: false,
    hasTask: observed.start === 'adopt',
    keySent: false,
  };
  const executions = executionsIn(observed.events).map((events) => follow(observed, events, options, record));
  const last = executions.at(-1);
  // A parent may never start it.
  if (last === undefined) return { problems: kind === 'job' ? ['the job never started'] : [], executions };
  return {
    problems: [
      ...executions.flatMap(({ problems }) => problems),
      ...(last.outcome === undefined ? ['the job never ended'] : []),
      ...(observed.attempts.length >= MOST_ATTEMPTS ? ['the job makes too many attempts'] : []),
      ...checkMoney(observed, options, executions),
      ...checkFiles(observed, last),
      ...executions.flatMap(({ outcome }, index) => checkRestart(kind, outcome, executions[index + 1])),
    ],
    executions,
  };
}

function executionsIn(events: RunEvent[]): RunEvent[][] {
  const executions: RunEvent[][] = [];
  for (const event of events) {
    if (event.kind === 'run' && !event.continued) executions.push([]);
    executions.at(-1)?.push(event);
  }
  return executions;
}

/** Only what ended without its video is started again, and by a batch only if it may end otherwise. */
function checkRestart(
  kind: Script['kind'],
  outcome: Outcome | undefined,
  next: JobModel | undefined,
): string[] {
  if (next === undefined || outcome === undefined) return [];
  const isWorthIt = 'failed' in outcome && (kind === 'fallback' || !FAILURES[outcome.failed].isFinal);
  return isWorthIt ? [] : [`it was started again after it had ended as ${describeEnd(outcome)}`];
}

export function describeEnd(outcome: Outcome | undefined): FailureType | 'succeeded' | 'nothing' {
  if (outcome === undefined) return 'nothing';
  return 'failed' in outcome ? outcome.failed : 'succeeded';
}

/** Tells the model what happened in one execution. */
function follow(
  observed: ObservedJob,
  events: RunEvent[],
  options: SharedOptions,
  record: RecordModel,
): JobModel {
  const { seed, service, start, takenTask, script } = observed;
  const input = events[0]?.kind === 'run' ? events[0].input : {};
  const model = new JobModel({
    ...options,
    ...script,
    deadlineMs: Number(input.deadline),
    ...(input.submitWithin !== undefined && { submitWithinMs: Number(input.submitWithin) }),
    ...(service !== undefined && { service }),
    ...(start === 'request' ? { seed } : { taskAtStart: taskAtStart(observed) }),
  });
  const terms = { ...options, ...script };
  const activities = new Map<string, Omit<ObservedActivity, 'end' | 'endedAtMs' | 'wasCancelled'>>();
  for (const event of events) {
    const { runId, ...plain } = event;
    model.take(plain, notedTask(observed, event));
    if (event.kind === 'activity') {
      const type = MODELLED.find((modelled) => modelled === event.type);
      if (type === undefined) continue;
      activities.set(`${runId}/${event.seq}`, {
        type: kindOf(type, event, model),
        closeMs: event.closeMs ?? 0,
        attempts: attemptsOf(observed, runId, event.seq),
        isTaken: takenTask !== undefined && event.input.taskId === takenTask,
        repeats: Array.isArray(event.input.repeats),
        withinMs: typeof event.input.withinMs === 'number' ? event.input.withinMs : undefined,
      });
    }
    if (event.kind === 'activity-end') {
      const activity = activities.get(`${runId}/${event.seq}`);
      if (activity === undefined) continue;
      const end = 'result' in event.end ? 'ok' : event.end.failed;
      const ended = { ...activity, end, endedAtMs: event.atMs, wasCancelled: model.isCancelled };
      model.problems.push(...checkAttempts(ended, terms, record), ...checkLostSubmit(event, observed));
      activities.delete(`${runId}/${event.seq}`);
    }
  }
  // What a terminated job had begun leaves its traces too.
  for (const activity of activities.values())
    model.problems.push(
      ...checkAttempts({ ...activity, end: '', endedAtMs: 0, wasCancelled: true }, terms, record),
    );
  return model;
}

function taskAtStart({ start, tasks: [first], takenTask }: ObservedJob): string {
  const tasks = {
    request: '',
    adopt: first,
    'adopt-unknown': UNKNOWN_TASK,
    'adopt-taken': takenTask,
  };
  return tasks[start] ?? '';
}

function kindOf(
  type: (typeof MODELLED)[number],
  { seq, isLocal }: Extract<WorkflowEvent, { kind: 'activity' }>,
  model: JobModel,
): ObservedActivity['type'] {
  if (type === 'pollVideo' && isLocal) return 'localPoll';
  return type === 'adoptTask' && model.isCandidate(seq) ? 'candidate' : type;
}

/** A local activity runs again from its first attempt when its workflow task is done again. */
function attemptsOf({ attempts }: ObservedJob, runId: string, seq: number): Attempt[] {
  const all = attempts.filter((attempt) => attempt.runId === runId && attempt.activityId === String(seq));
  return all.slice(Math.max(0, all.map((attempt) => attempt.number).lastIndexOf(1)));
}

/** The task in the last heartbeat of a submit that has ended. */
function notedTask(observed: ObservedJob, event: RunEvent): string | undefined {
  if (event.kind !== 'activity-end' || event.type !== 'submitVideo') return undefined;
  const attempts = attemptsOf(observed, event.runId, event.seq);
  return attempts.find(({ notedTaskId }) => notedTaskId !== undefined)?.notedTaskId;
}

/** A lost submit has the id of a send, unless its worker took it along. */
function checkLostSubmit(
  event: Extract<RunEvent, { kind: 'activity-end' }>,
  { sends }: ObservedJob,
): string[] {
  if (!('failed' in event.end) || event.end.failed !== 'SubmitUnconfirmed') return [];
  const { lostSubmit = '' } = event.end.details ?? {};
  const isKnown = sends.includes(lostSubmit) || lostSubmit.startsWith(`${event.runId}/`);
  return isKnown ? [] : [`the lost submit ${lostSubmit} was never sent`];
}

/** Nothing is paid twice without leave, and what was paid is named. */
function checkMoney(
  observed: ObservedJob,
  { onLostSubmit }: SharedOptions,
  executions: JobModel[],
): string[] {
  const { attempts, tasks, posts, start, script } = observed;
  const problems: string[] = [];
  const submits = attempts.filter(({ type }) => type === 'submitVideo');
  const sent = submits.filter(({ answers: [answer] }) => {
    return answer && !(answer.kind === 'killed' && ['start', 'before-send'].includes(answer.at));
  });
  if (posts !== sent.length) problems.push(`${posts} posts of ${sent.length} attempts`);
  const byPolicy = onLostSubmit === 'resubmit' ? submits.length : 0;
  const resubmits = executions.reduce((all, { resubmits: times }) => all + times, 0);
  const isOnce = script.idempotencyKeys === 'honoured' || start !== 'request';
  const most = isOnce ? 1 : 1 + resubmits + byPolicy;
  if (tasks.length > most) problems.push(`${tasks.length} tasks were paid for, not ${most}`);
  if (start !== 'request' && posts > 0) problems.push('a job that adopts its task has submitted');
  const { outcome, taskId } = executions.at(-1) ?? {};
  if (taskId !== undefined && start === 'request' && !tasks.includes(taskId))
    problems.push(`the job has a task ${taskId} that was never made for it`);
  // A killed last attempt would be a timeout, after which the job reads its record: see events.ts.
  const wasKilled = submits.at(-1)?.end === 'killed';
  const isPaid = start === 'request' && tasks.length > 0 && !wasKilled;
  // Before the new execution has read the record, it knows of nothing.
  const hasRead = submits.some(
    ({ runId, end }) => end !== 'cancelled' && observed.events.at(-1)?.runId === runId,
  );
  if (outcome && 'failed' in outcome && isPaid && hasRead && taskId === undefined && resubmits === 0) {
    const isNamed = outcome.failed === 'SubmitUnconfirmed' || outcome.details?.message?.includes(MAY_EXIST);
    if (!isNamed) problems.push(`${outcome.failed} does not say that a paid task may exist`);
  }
  return problems;
}

/** A whole video or none, and nothing half-written. */
function checkFiles({ attempts, files, storedRight }: ObservedJob, { outcome }: JobModel): string[] {
  const died = (at: string) =>
    attempts.some(
      ({ type, answers }) =>
        type === 'downloadVideo' && answers.some((answer) => answer.kind === 'killed' && answer.at === at),
    );
  const videos = files.filter((file) => file.endsWith('.mp4'));
  const parts = files.filter((file) => file.endsWith('.part'));
  if (outcome && 'succeeded' in outcome) {
    return [
      ...(storedRight ? [] : ['the stored file is not the video']),
      ...(videos.length === 1 ? [] : [`${videos.length} videos are stored`]),
      ...(files.some((file) => file.endsWith('.mp4.json')) ? [] : ['there is no sidecar']),
      ...(parts.length === 0 ? [] : ['a part is left beside the video']),
    ];
  }
  return [
    // The janitor removes the part of a worker that died.
    ...(parts.length === 0 || died('middle') ? [] : ['a part is left of a failed job']),
    ...(videos.length === 0 || died('end') ? [] : ['a failed job has stored a video']),
  ];
}
