import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { requestSchema, type VideoRequest } from '../contract/request';

/** All times are by the emulator's clock. */
export interface EmulatedTask {
  taskId: string;
  request: VideoRequest;
  submittedAtMs: number;
  /** Under which it was submitted. */
  idempotencyKey?: string;
  /** Set when the task is to end badly: when its time has come, or at `atMs`. */
  failure?: TaskFailure & { atMs?: number };
  cancelledAtMs?: number;
}

/** The reason that the emulated service gives for a failed task. */
export interface TaskFailure {
  code: string;
  message: string;
}

export type TaskView =
  | { status: 'queued' | 'running'; progress: number }
  | { status: 'succeeded' }
  | { status: 'failed'; error: TaskFailure }
  | { status: 'cancelled' };

/** A task is queued for this share of its time, then running. */
const QUEUED_SHARE = 0.1;

/** The tasks of the emulated service: each one is a generation that a user would have paid for. */
export class TaskBook {
  readonly tasks = new Map<string, EmulatedTask>();

  /** With a file, tasks outlive the emulator, as those of a service do. */
  constructor(
    private readonly jobTimeMs: number,
    private readonly file?: string,
  ) {
    for (const task of file === undefined ? [] : readTasks(file)) this.tasks.set(task.taskId, task);
  }

  create(
    request: VideoRequest,
    nowMs: number,
    more: Pick<EmulatedTask, 'idempotencyKey' | 'failure'> = {},
  ): EmulatedTask {
    const task: EmulatedTask = {
      taskId: `task_${randomUUID()}`,
      request,
      submittedAtMs: nowMs,
      ...more,
    };
    this.keep(task);
    return task;
  }

  fail(task: EmulatedTask, { code, message }: TaskFailure, nowMs: number): void {
    task.failure = { code, message, atMs: nowMs };
    this.keep(task);
  }

  /** A task that is over cannot be cancelled any more. */
  cancel(task: EmulatedTask, nowMs: number): boolean {
    if (nowMs >= this.endOf(task)) return false;
    task.cancelledAtMs = nowMs;
    this.keep(task);
    return true;
  }

  /** The first one under the key. */
  withKey(key: string): EmulatedTask | undefined {
    return [...this.tasks.values()].find(({ idempotencyKey }) => idempotencyKey === key);
  }

  /** How many are being worked on. */
  busy(nowMs: number): number {
    return [...this.tasks.values()].filter((task) => nowMs < this.endOf(task)).length;
  }

  /** When nothing is done for it any more, which may be yet to come. */
  endOf({ submittedAtMs, failure, cancelledAtMs = Infinity }: EmulatedTask): number {
    return Math.min(submittedAtMs + this.jobTimeMs, failure?.atMs ?? Infinity, cancelledAtMs);
  }

  view(task: EmulatedTask, nowMs: number): TaskView {
    if (nowMs < this.endOf(task)) {
      const share = (nowMs - task.submittedAtMs) / this.jobTimeMs;
      const progress = Math.max(0, Math.floor(share * 100));
      return { status: share < QUEUED_SHARE ? 'queued' : 'running', progress };
    }
    if (task.cancelledAtMs !== undefined) return { status: 'cancelled' };
    if (!task.failure) return { status: 'succeeded' };
    const { code, message } = task.failure;
    return { status: 'failed', error: { code, message } };
  }

  /** A task that has changed is written again: the last line about it holds. */
  private keep(task: EmulatedTask): void {
    this.tasks.set(task.taskId, task);
    if (this.file !== undefined) appendFileSync(this.file, `${JSON.stringify(task)}\n`);
  }
}

const taskSchema = z.object({
  taskId: z.string(),
  request: requestSchema,
  submittedAtMs: z.number(),
  idempotencyKey: z.string().optional(),
  failure: z.object({ code: z.string(), message: z.string(), atMs: z.number().optional() }).optional(),
  cancelledAtMs: z.number().optional(),
});

/** A line that was cut by a crash is a task that nobody was told of; the next one must not be added to it. */
function readTasks(file: string): EmulatedTask[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  if (lines.at(-1) !== '') appendFileSync(file, '\n');
  return lines.flatMap((line) => {
    try {
      return [taskSchema.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}
