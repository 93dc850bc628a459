import type { TaskStatus } from '../../src/contract/job';
import { checkAttempts, type PlayedActivity, type SubmitMemory } from './attempts-model';
import { JobModel } from './job-model';
import type { Note } from './notes';
import { type Attempt, MOST_ATTEMPTS, type Performance, REQUEST, UNKNOWN_TASK } from './stage';

/** The server's clock goes on while a poll is under way. */
const MACHINE_MS = 20_000;
const MODELLED = ['submitVideo', 'pollVideo', 'downloadVideo'] as const;
const MAY_EXIST = 'a task may still exist';

/** What a job did that the model does not allow, a sentence each. */
export function compare(performance: Performance): string[] {
  const { script, notes, ended } = performance;
  const isRequest = script.start === 'request';
  const model = new JobModel(
    script,
    isRequest ? REQUEST.seed : undefined,
    isRequest ? undefined : adoptedTask(performance),
  );
  const problems: string[] = [];
  const memory: SubmitMemory = { keyMayBeKnown: false, resubmits: false };
  const activities = new Map<string, Omit<PlayedActivity, 'end' | 'endedAtMs' | 'wasCancelled'>>();
  for (const note of notes) {
    const { runId, ...plain } = note;
    model.take(plain, notedTask(performance, note));
    if (note.kind === 'activity') {
      const type = MODELLED.find((modelled) => modelled === note.type);
      if (type === undefined) continue;
      const attempts = attemptsOf(performance, runId, note.seq);
      const { closeMs = 0 } = note;
      activities.set(`${runId}/${note.seq}`, {
        type: type === 'pollVideo' ? kindOfPoll(note, model) : type,
        closeMs,
        attempts,
      });
      if (type === 'submitVideo') memory.resubmits = note.input.resubmits === true;
    }
    if (note.kind === 'activity-end') {
      const activity = activities.get(`${runId}/${note.seq}`);
      if (activity === undefined) continue;
      const end = 'result' in note.end ? 'ok' : note.end.failed;
      const played = { ...activity, end, endedAtMs: note.atMs, wasCancelled: model.isCancelled };
      problems.push(
        ...checkAttempts(played, script, memory),
        ...checkStatus(note, performance, activity.attempts),
      );
    }
  }
  if (!ended) problems.push('the job never ended');
  if (performance.attempts.length >= MOST_ATTEMPTS) problems.push('the job makes too many attempts');
  if (ended && model.outcome === undefined) problems.push('the job ended without a word');
  return [
    ...model.problems,
    ...problems,
    ...checkMoney(performance, model),
    ...checkFiles(performance, model),
  ];
}

function kindOfPoll({ seq, isLocal }: Extract<Note, { kind: 'activity' }>, model: JobModel) {
  if (isLocal) return 'localPoll';
  return model.isCandidate(seq) ? 'candidate' : 'pollVideo';
}

function adoptedTask({ script, generations }: Performance): string {
  return (script.start === 'adopt' && generations[0]?.taskId) || UNKNOWN_TASK;
}

/** A local activity runs again from its first attempt when its workflow task is done again. */
function attemptsOf({ attempts }: Performance, runId: string, seq: number): Attempt[] {
  const all = attempts.filter((attempt) => attempt.runId === runId && attempt.activityId === String(seq));
  return all.slice(Math.max(0, all.map((attempt) => attempt.number).lastIndexOf(1)));
}

/** The task in the last heartbeat of a submit that has ended. */
function notedTask(performance: Performance, note: Performance['notes'][number]): string | undefined {
  if (note.kind !== 'activity-end' || note.type !== 'submitVideo') return undefined;
  const attempts = attemptsOf(performance, note.runId, note.seq);
  return attempts.find(({ notedTaskId }) => notedTaskId !== undefined)?.notedTaskId;
}

/** A poll says what is true of the task at that time. */
function checkStatus(
  note: Extract<Note, { kind: 'activity-end' }>,
  { generations }: Performance,
  attempts: Attempt[],
): string[] {
  const last = attempts.at(-1);
  if (note.type !== 'pollVideo' || !('result' in note.end) || last?.answers[0]?.kind !== 'ok') return [];
  const { state } = note.end.result as TaskStatus;
  const isOver = !['queued', 'running'].includes(state);
  const ends = generations.map(({ endsAtMs }) => endsAtMs);
  const mayBeOver = ends.some((atMs) => atMs <= note.atMs + MACHINE_MS);
  const mayRun = ends.some((atMs) => atMs >= last.attemptAtMs - MACHINE_MS);
  return (isOver ? mayBeOver : mayRun) ? [] : [`a poll found the task ${state}, which it was not`];
}

/** Nothing is paid twice without leave, and what was paid is named. */
function checkMoney({ script, attempts, generations, posts }: Performance, model: JobModel): string[] {
  const problems: string[] = [];
  const submits = attempts.filter(({ type }) => type === 'submitVideo');
  const sent = submits.filter(({ answers: [answer] }) => {
    return answer && !(answer.kind === 'killed' && ['start', 'before-send'].includes(answer.at));
  });
  if (posts !== sent.length) problems.push(`${posts} posts of ${sent.length} attempts`);
  const byPolicy = script.onLostSubmit === 'resubmit' ? submits.length : 0;
  const isOnce = script.idempotencyKeys === 'honoured' || script.start !== 'request';
  const most = isOnce ? 1 : 1 + model.resubmits + byPolicy;
  if (generations.length > most)
    problems.push(`${generations.length} generations were paid for, not ${most}`);
  if (script.start !== 'request' && posts > 0) problems.push('a job that adopts its task has submitted');
  const { outcome, taskId } = model;
  if (
    taskId !== undefined &&
    script.start === 'request' &&
    !generations.some((task) => task.taskId === taskId)
  ) {
    problems.push(`the job has a task ${taskId} that was never made`);
  }
  // A killed last attempt would be a timeout, after which the job reads its record: see notes.ts.
  const wasKilled = submits.at(-1)?.end === 'killed';
  const isPaid = script.start === 'request' && generations.length > 0 && !wasKilled;
  if (outcome && 'failed' in outcome && isPaid && taskId === undefined && model.resubmits === 0) {
    const isNamed = outcome.failed === 'SubmitUnconfirmed' || outcome.details?.message?.includes(MAY_EXIST);
    if (!isNamed) problems.push(`${outcome.failed} does not say that a paid task may exist`);
  }
  return problems;
}

/** A whole video or none, and nothing half-written. */
function checkFiles({ attempts, files, storedRight }: Performance, { outcome }: JobModel): string[] {
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
