import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { requestSchema, type VideoRequest } from '../contract/request';

export interface EmulatedTask {
  taskId: string;
  request: VideoRequest;
  submittedAtMs: number;
  /** Set when the task is to end badly: when its time has come, or `early`. */
  failure?: TaskFailure & { early?: boolean };
}

export interface TaskFailure {
  code: string;
  message: string;
}

export type TaskView =
  | { status: 'queued' | 'running'; progress: number }
  | { status: 'succeeded' }
  | { status: 'failed'; error: TaskFailure };

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

  create(request: VideoRequest, nowMs: number): EmulatedTask {
    const task: EmulatedTask = { taskId: `task_${randomUUID()}`, request, submittedAtMs: nowMs };
    this.tasks.set(task.taskId, task);
    if (this.file !== undefined) appendFileSync(this.file, `${JSON.stringify(task)}\n`);
    return task;
  }

  view(task: EmulatedTask, nowMs: number): TaskView {
    const share = this.jobTimeMs === 0 ? 1 : (nowMs - task.submittedAtMs) / this.jobTimeMs;
    if (task.failure && (share >= 1 || task.failure.early)) {
      const { code, message } = task.failure;
      return { status: 'failed', error: { code, message } };
    }
    if (share >= 1) return { status: 'succeeded' };
    const progress = Math.max(0, Math.floor(share * 100));
    return { status: share < QUEUED_SHARE ? 'queued' : 'running', progress };
  }
}

const taskSchema = z.object({ taskId: z.string(), request: requestSchema, submittedAtMs: z.number() });

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
