import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { ContentStage } from '../contract/failure-details';
import type { VideoRequest } from '../contract/request';

/** The reason that the emulated service gives for a failed task. */
export interface TaskFailure {
  code: string;
  message: string;
  /** What the content policy refused, if that is the reason. */
  refuses?: ContentStage;
}

/** What is known of a task when it is made. */
export interface NewTask {
  /** The `Idempotency-Key` of its submit. */
  idempotencyKey?: string;
  /** Set if the task fails: at `atMs`, or else when its job time is over. */
  failure?: TaskFailure & { atMs?: number };
  /** The image that was fetched for it, if the emulator fetches images. */
  image?: { bytes: number; sha256: string; contentType: string };
}

/** A task of the emulated service. All times are by the emulator's clock. */
export interface EmulatedTask extends NewTask {
  taskId: string;
  request: VideoRequest;
  submittedAtMs: number;
  cancelledAtMs?: number;
}

/** How a task is at one time. */
export interface TaskView {
  state: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Set while it is queued or running. */
  percent?: number;
  /** Set if it has failed. */
  error?: TaskFailure;
}

/** A task is queued for this share of its job time, then running. */
const QUEUED_SHARE = 0.1;

/** The tasks of the emulated service. Each is a generation that a user would have paid for. */
export class TaskStore {
  readonly tasks = new Map<string, EmulatedTask>();

  /** With a file, tasks survive a restart of the emulator, as those of a real service do. */
  constructor(
    private readonly jobTimeMs: number,
    private readonly file?: string,
  ) {
    for (const task of file === undefined ? [] : readTasks(file)) this.tasks.set(task.taskId, task);
  }

  create(request: VideoRequest, nowMs: number, more: NewTask = {}): EmulatedTask {
    const task: EmulatedTask = { taskId: `task_${randomUUID()}`, request, submittedAtMs: nowMs, ...more };
    this.save(task);
    return task;
  }

  /** Lets a task fail or be cancelled. */
  end(task: EmulatedTask, how: Pick<EmulatedTask, 'failure' | 'cancelledAtMs'>): void {
    this.save(Object.assign(task, how));
  }

  /** The first task that was submitted with this key. */
  withKey(key: string): EmulatedTask | undefined {
    return [...this.tasks.values()].find(({ idempotencyKey }) => idempotencyKey === key);
  }

  /** The number of tasks that are queued or running. */
  countActive(nowMs: number): number {
    return [...this.tasks.values()].filter((task) => nowMs < this.endOf(task)).length;
  }

  /** When the task ends, or ended: it may lie in the future. */
  endOf({ submittedAtMs, failure, cancelledAtMs = Infinity }: EmulatedTask): number {
    return Math.min(submittedAtMs + this.jobTimeMs, failure?.atMs ?? Infinity, cancelledAtMs);
  }

  view(task: EmulatedTask, nowMs: number): TaskView {
    if (nowMs < this.endOf(task)) {
      const share = (nowMs - task.submittedAtMs) / this.jobTimeMs;
      const percent = Math.max(0, Math.floor(share * 100));
      return { state: share < QUEUED_SHARE ? 'queued' : 'running', percent };
    }
    if (task.cancelledAtMs !== undefined) return { state: 'cancelled' };
    return task.failure ? { state: 'failed', error: task.failure } : { state: 'succeeded' };
  }

  /** Appends a changed task again: the last line of a task counts. */
  private save(task: EmulatedTask): void {
    this.tasks.set(task.taskId, task);
    if (this.file !== undefined) appendFileSync(this.file, `${JSON.stringify(task)}\n`);
  }
}

/** Skips a line that a crash cut off, and ends it, so that the next task starts a line. Its caller got no answer. */
function readTasks(file: string): EmulatedTask[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  if (lines.at(-1) !== '') appendFileSync(file, '\n');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}
