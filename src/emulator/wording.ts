import type { OutgoingHttpHeaders } from 'node:http';
import { json, type WrittenAnswer, written } from './answers';
import { DIALECTS, type DialectName } from './dialects';
import { HttpReply, type Refused, type Reply, type ToldTask } from './dialects/dialect';
import type { Refusal } from './faults';
import type { EmulatedTask, TaskView } from './task-book';

/** What is to be told of a task. */
export interface Telling {
  task: EmulatedTask;
  view: TaskView | { status: 'unknown'; word: string | number };
  /** Where the caller found the service. */
  origin: string;
  /** Where the video is, if it may be told. */
  videoPath?: string;
}

const CANCELLED = { code: 'cancelled', message: 'the task was cancelled' };

/** Says in the words of a dialect what the emulator has to say. */
export class Wording {
  private readonly dialect;

  constructor(name: DialectName) {
    this.dialect = DIALECTS[name];
  }

  /** The name of a task in paths, and in answers, where it may be a number. */
  idOf({ taskId }: EmulatedTask): string {
    return String(this.dialect.idOf?.(taskId) ?? taskId);
  }

  /** Where the dialect keeps files apart. */
  fileIdOf({ taskId }: EmulatedTask): string | undefined {
    const { video } = this.dialect;
    return video?.at === 'file' ? String(video.idOf(taskId)) : undefined;
  }

  accepted(telling: Telling): WrittenAnswer {
    return answer(200, this.dialect.accepted(this.told(telling)));
  }

  looked(telling: Telling): WrittenAnswer {
    return answer(200, this.dialect.looked(this.told(telling)));
  }

  notFound(id: string): WrittenAnswer {
    const { notFound } = this.dialect;
    return notFound ? answer(200, notFound(id)) : this.refused(404, 'not_found', 'no such task');
  }

  /** The status is one of the interface; the dialect may have another for the same. */
  refused(status: number, code: string, message: string): WrittenAnswer {
    return answer(status, this.dialect.refused({ status, code, message }));
  }

  /** Files are kept by a storage, which knows HTTP's own statuses whatever the service makes of them. */
  refusedByStorage(status: number, code: string, message: string): WrittenAnswer {
    return this.refusedAsTold({ kind: 'refused', status, code, message });
  }

  /** A refusal that was asked for keeps its status. */
  refusedAsTold(fault: Refusal): WrittenAnswer {
    const refused = facts(fault);
    const worded = answer(refused.status, this.dialect.refused(refused), retryAfter(fault));
    return { ...worded, status: refused.status };
  }

  retrieved(task: EmulatedTask, { url, bytes }: { url: string; bytes: number }): WrittenAnswer {
    const { video } = this.dialect;
    if (video?.at !== 'file') throw new Error('The dialect has no files.');
    const file = { id: video.idOf(task.taskId), url, bytes, createdAtMs: task.submittedAtMs };
    return answer(200, video.retrieved(file));
  }

  private told({ task, view, origin, videoPath }: Telling): ToldTask {
    const { idOf, words, video } = this.dialect;
    const id = idOf?.(task.taskId) ?? task.taskId;
    const about = {
      id,
      origin,
      submittedAtMs: task.submittedAtMs,
      stillUrl: (name: string) => `${origin}/stills/${task.taskId}/${name}`,
    };
    switch (view.status) {
      case 'unknown':
        return { ...about, state: 'unknown', word: view.word };
      case 'queued':
      case 'running':
        return { ...about, state: view.status, word: words[view.status], percent: view.progress };
      case 'failed':
        return { ...about, state: 'failed', word: words.failed, error: view.error };
      case 'cancelled':
        return words.cancelled === undefined
          ? { ...about, state: 'failed', word: words.failed, error: CANCELLED }
          : { ...about, state: 'cancelled', word: words.cancelled };
      case 'succeeded': {
        const succeeded: ToldTask = { ...about, state: 'succeeded', word: words.succeeded };
        if (videoPath === undefined) return succeeded;
        if (video?.at === 'file') return { ...succeeded, fileId: video.idOf(task.taskId) };
        return { ...succeeded, videoUrl: video?.at === 'relative-link' ? videoPath : origin + videoPath };
      }
    }
  }
}

function answer(status: number, reply: Reply, headers?: OutgoingHttpHeaders): WrittenAnswer {
  if (!(reply instanceof HttpReply)) return json(status, reply, headers);
  if (reply.body === undefined) return written(reply.status, 'application/json', '', headers);
  return json(reply.status, reply.body, headers);
}

function facts(fault: Refusal): Refused {
  switch (fault.kind) {
    case 'rate-limited':
      return { status: 429, code: 'rate_limited', message: 'too many requests' };
    case 'server-error':
      return { status: fault.status ?? 500, code: 'internal', message: 'internal server error' };
    case 'refused':
      return { status: fault.status, code: fault.code ?? 'refused', message: fault.message };
  }
}

function retryAfter(fault: Refusal): OutgoingHttpHeaders {
  if (fault.kind !== 'rate-limited' || fault.retryAfter === undefined) return {};
  const { retryAfter: value } = fault;
  return { 'retry-after': value instanceof Date ? value.toUTCString() : String(value) };
}
