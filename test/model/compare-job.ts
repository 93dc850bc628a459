import type { PolledTask } from '../../activities/poll-video';
import { FAILURES, type FailureType } from '../../src/contract/failure-table';
import { checkAttempts, type PlayedActivity, type RecordModel } from './attempts-model';
import { JobModel } from './job-model';
import type { Note, Outcome } from './notes';
import type { Script, SharedOptions } from './script';
import { type Attempt, MOST_ATTEMPTS, type PlayedJob, UNKNOWN_TASK } from './scripted-job';

/** The server's clock goes on while a poll is under way. */
const MACHINE_MS = 20_000;
const MODELLED = ['submitVideo', 'pollVideo', 'adoptTask', 'downloadVideo'] as const;
const MAY_EXIST = 'a task may still exist';

/** One life of a job, from a start under its name to its end. */
export interface Life {
  startedAtMs: number;
  endedAtMs: number;
  /** What the job was started with. */
  input: Record<string, unknown>;
  holds: JobModel['holds'];
  isCancelled: boolean;
  taskId: string | undefined;
  /** Undefined when it was terminated. */
  outcome: Outcome | undefined;
}

export interface ComparedJob {
  /** What it did that the model does not allow, a sentence each. */
  problems: string[];
  lives: Life[];
}

type RunNote = PlayedJob['notes'][number];

/** Compares a job with the model. A job that is terminated lives again under its name, and only the record knows more. */
export function compareJob(played: PlayedJob, options: SharedOptions, kind: Script['kind']): ComparedJob {
  const record: RecordModel = {
    isOpen: false,
    hasUnanswered: false,
    hasTask: played.start === 'adopt',
    keySent: false,
  };
  const problems: string[] = [];
  const models: JobModel[] = [];
  const lives: Life[] = [];
  for (const notes of livesIn(played.notes)) {
    const [first] = notes;
    const input = first?.kind === 'run' ? first.input : {};
    const model = follow(played, notes, options, input, record);
    models.push(model);
    problems.push(...model.problems);
    const { startedAtMs, holds, isCancelled, outcome, taskId } = model;
    const endedAtMs = notes.at(-1)?.atMs ?? startedAtMs;
    lives.push({ startedAtMs, endedAtMs, input, holds, isCancelled, outcome, taskId });
  }
  const last = models.at(-1);
  // A parent may never start it.
  if (last === undefined) return { problems: kind === 'job' ? ['the job never started'] : [], lives };
  if (last.outcome === undefined) problems.push('the job never ended');
  if (played.attempts.length >= MOST_ATTEMPTS) problems.push('the job makes too many attempts');
  return {
    problems: [
      ...problems,
      ...checkMoney(played, options, models),
      ...checkFiles(played, last),
      ...lives.flatMap(({ outcome }, index) => checkSecondLife(kind, outcome, lives[index + 1])),
    ],
    lives,
  };
}

function livesIn(notes: RunNote[]): RunNote[][] {
  const lives: RunNote[][] = [];
  for (const note of notes) {
    if (note.kind === 'run' && !note.continued) lives.push([]);
    lives.at(-1)?.push(note);
  }
  return lives;
}

/** Only what ended without its video is started again, and by a batch only if it may end otherwise. */
function checkSecondLife(
  kind: Script['kind'],
  outcome: Outcome | undefined,
  next: Life | undefined,
): string[] {
  if (next === undefined || outcome === undefined) return [];
  const isWorthIt = 'failed' in outcome && (kind === 'fallback' || !FAILURES[outcome.failed].isFinal);
  return isWorthIt ? [] : [`it was started again after it had ended as ${describeEnd(outcome)}`];
}

export function describeEnd(outcome: Outcome | undefined): FailureType | 'succeeded' | 'nothing' {
  if (outcome === undefined) return 'nothing';
  return 'failed' in outcome ? outcome.failed : 'succeeded';
}

/** Plays one life to the model. */
function follow(
  played: PlayedJob,
  notes: RunNote[],
  options: SharedOptions,
  input: Record<string, unknown>,
  record: RecordModel,
): JobModel {
  const { seed, service, start, takenTask, fate } = played;
  const isRequest = start === 'request';
  const model = new JobModel({
    ...options,
    ...fate,
    deadlineMs: Number(input.deadline),
    ...(input.submitWithin !== undefined && { submitWithinMs: Number(input.submitWithin) }),
    ...(service !== undefined && { service }),
    ...(isRequest ? { seed } : { taskAtStart: taskAtStart(played) }),
  });
  const activities = new Map<string, Omit<PlayedActivity, 'end' | 'endedAtMs' | 'wasCancelled'>>();
  for (const note of notes) {
    const { runId, ...plain } = note;
    model.take(plain, notedTask(played, note));
    if (note.kind === 'activity') {
      const type = MODELLED.find((modelled) => modelled === note.type);
      if (type === undefined) continue;
      activities.set(`${runId}/${note.seq}`, {
        type: kindOf(type, note, model),
        closeMs: note.closeMs ?? 0,
        attempts: attemptsOf(played, runId, note.seq),
        isTaken: takenTask !== undefined && note.input.taskId === takenTask,
        repeats: Array.isArray(note.input.repeats),
        withinMs: typeof note.input.withinMs === 'number' ? note.input.withinMs : undefined,
      });
    }
    if (note.kind === 'activity-end') {
      const activity = activities.get(`${runId}/${note.seq}`);
      if (activity === undefined) continue;
      const end = 'result' in note.end ? 'ok' : note.end.failed;
      const ended = { ...activity, end, endedAtMs: note.atMs, wasCancelled: model.isCancelled };
      const terms = { ...options, ...fate };
      model.problems.push(
        ...checkAttempts(ended, terms, record),
        ...checkStatus(note, played, activity.attempts),
        ...checkLostSubmit(note, played),
      );
      activities.delete(`${runId}/${note.seq}`);
    }
  }
  // What a terminated job had begun leaves its traces too.
  for (const activity of activities.values())
    model.problems.push(
      ...checkAttempts(
        { ...activity, end: '', endedAtMs: 0, wasCancelled: true },
        { ...options, ...fate },
        record,
      ),
    );
  return model;
}

function taskAtStart({ start, generations, takenTask }: PlayedJob): string {
  const tasks = {
    request: '',
    adopt: generations[0]?.taskId,
    'adopt-unknown': UNKNOWN_TASK,
    'adopt-taken': takenTask,
  };
  return tasks[start] ?? '';
}

function kindOf(
  type: (typeof MODELLED)[number],
  { seq, isLocal }: Extract<Note, { kind: 'activity' }>,
  model: JobModel,
): PlayedActivity['type'] {
  if (type === 'pollVideo' && isLocal) return 'localPoll';
  return type === 'adoptTask' && model.isCandidate(seq) ? 'candidate' : type;
}

/** A local activity runs again from its first attempt when its workflow task is done again. */
function attemptsOf({ attempts }: PlayedJob, runId: string, seq: number): Attempt[] {
  const all = attempts.filter((attempt) => attempt.runId === runId && attempt.activityId === String(seq));
  return all.slice(Math.max(0, all.map((attempt) => attempt.number).lastIndexOf(1)));
}

/** The task in the last heartbeat of a submit that has ended. */
function notedTask(played: PlayedJob, note: RunNote): string | undefined {
  if (note.kind !== 'activity-end' || note.type !== 'submitVideo') return undefined;
  const attempts = attemptsOf(played, note.runId, note.seq);
  return attempts.find(({ notedTaskId }) => notedTaskId !== undefined)?.notedTaskId;
}

/** A lost submit has the id of a send, unless its worker took it along. */
function checkLostSubmit(note: Extract<RunNote, { kind: 'activity-end' }>, { sends }: PlayedJob): string[] {
  if (!('failed' in note.end) || note.end.failed !== 'SubmitUnconfirmed') return [];
  const { lostSubmit = '' } = note.end.details ?? {};
  const isKnown = sends.includes(lostSubmit) || lostSubmit.startsWith(`${note.runId}/`);
  return isKnown ? [] : [`the lost submit ${lostSubmit} was never sent`];
}

/** A poll says what is true of the task at that time. */
function checkStatus(
  note: Extract<Note, { kind: 'activity-end' }>,
  { generations }: PlayedJob,
  attempts: Attempt[],
): string[] {
  const last = attempts.at(-1);
  if (note.type !== 'pollVideo' || !('result' in note.end) || last?.answers[0]?.kind !== 'ok') return [];
  const { state } = note.end.result as PolledTask;
  const isOver = !['queued', 'running'].includes(state);
  const ends = generations.map(({ endsAtMs }) => endsAtMs);
  const mayBeOver = ends.some((atMs) => atMs <= note.atMs + MACHINE_MS);
  const mayRun = ends.some((atMs) => atMs >= last.attemptAtMs - MACHINE_MS);
  return (isOver ? mayBeOver : mayRun) ? [] : [`a poll found the task ${state}, which it was not`];
}

/** Nothing is paid twice without leave, and what was paid is named. */
function checkMoney(played: PlayedJob, { onLostSubmit }: SharedOptions, models: JobModel[]): string[] {
  const { attempts, generations, posts, start, fate } = played;
  const problems: string[] = [];
  const submits = attempts.filter(({ type }) => type === 'submitVideo');
  const sent = submits.filter(({ answers: [answer] }) => {
    return answer && !(answer.kind === 'killed' && ['start', 'before-send'].includes(answer.at));
  });
  if (posts !== sent.length) problems.push(`${posts} posts of ${sent.length} attempts`);
  const byPolicy = onLostSubmit === 'resubmit' ? submits.length : 0;
  const resubmits = models.reduce((all, model) => all + model.resubmits, 0);
  const isOnce = fate.idempotencyKeys === 'honoured' || start !== 'request';
  const most = isOnce ? 1 : 1 + resubmits + byPolicy;
  if (generations.length > most)
    problems.push(`${generations.length} generations were paid for, not ${most}`);
  if (start !== 'request' && posts > 0) problems.push('a job that adopts its task has submitted');
  const { outcome, taskId } = models.at(-1) ?? {};
  if (taskId !== undefined && start === 'request' && !generations.some((task) => task.taskId === taskId))
    problems.push(`the job has a task ${taskId} that was never made for it`);
  // A killed last attempt would be a timeout, after which the job reads its record: see notes.ts.
  const wasKilled = submits.at(-1)?.end === 'killed';
  const isPaid = start === 'request' && generations.length > 0 && !wasKilled;
  // Before the new life has read the record, it knows of nothing.
  const hasRead = submits.some(
    ({ runId, end }) => end !== 'cancelled' && played.notes.at(-1)?.runId === runId,
  );
  if (outcome && 'failed' in outcome && isPaid && hasRead && taskId === undefined && resubmits === 0) {
    const isNamed = outcome.failed === 'SubmitUnconfirmed' || outcome.details?.message?.includes(MAY_EXIST);
    if (!isNamed) problems.push(`${outcome.failed} does not say that a paid task may exist`);
  }
  return problems;
}

/** A whole video or none, and nothing half-written. */
function checkFiles({ attempts, files, storedRight }: PlayedJob, { outcome }: JobModel): string[] {
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
