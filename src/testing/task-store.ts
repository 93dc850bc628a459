import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { CONTENT_STAGES } from '../contract/failure-details';
import { requestSchema, type VideoRequest } from '../contract/request';

const failureSchema = z.object({
  code: z.string(),
  message: z.string(),
  /** What the content policy refused, if that is the reason. */
  refuses: z.enum(CONTENT_STAGES).optional(),
});

/** The reason that the emulated service gives for a failed task. */
export type TaskFailure = z.infer<typeof failureSchema>;

const taskSchema = z.object({
  taskId: z.string(),
  request: requestSchema,
  submittedAtMs: z.number(),
  /** The `Idempotency-Key` of its submit. */
  idempotencyKey: z.string().optional(),
  /** Set if the task fails: at `atMs`, or else when its job time is over. */
  failure: failureSchema.extend({ atMs: z.number().optional() }).optional(),
  cancelledAtMs: z.number().optional(),
  /** The image that was fetched for it, if the emulator fetches images. */
  image: z.object({ bytes: z.number(), sha256: z.string(), contentType: z.string() }).optional(),
});

/** A task of the emulated service. All times are by the emulator's clock. */
export type EmulatedTask = z.infer<typeof taskSchema>;

/** What is known of a task when it is made. */
export type NewTask = Pick<EmulatedTask, 'idempotencyKey' | 'failure' | 'image'>;

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

  fail(task: EmulatedTask, { code, message }: TaskFailure, nowMs: number): void {
    task.failure = { code, message, atMs: nowMs };
    this.save(task);
  }

  /** Returns false if the task is over already. */
  cancel(task: EmulatedTask, nowMs: number): boolean {
    if (nowMs >= this.endOf(task)) return false;
    task.cancelledAtMs = nowMs;
    this.save(task);
    return true;
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
    if (!task.failure) return { state: 'succeeded' };
    const { atMs: _, ...error } = task.failure;
    return { state: 'failed', error };
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
      return [taskSchema.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}
