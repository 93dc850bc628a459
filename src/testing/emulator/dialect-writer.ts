import type { OutgoingHttpHeaders } from 'node:http';
import type { ContentStage } from '../../contract/failure-details';
import { type HttpAnswer, jsonAnswer, textAnswer } from './answers';
import { DIALECTS, type DialectName } from './dialects';
import { withCharge } from './dialects/charges';
import { type RefusalFacts, type Reply, ReplyWithStatus, type TaskFacts } from './dialects/dialect';
import { CONTENT_WORDS } from './dialects/refused-content';
import type { Refusal } from './faults';
import type { EmulatedTask, TaskFailure, TaskView } from './task-store';

/** The task that an answer describes, and how its caller reaches it. */
export interface DescribedTask {
  task: EmulatedTask;
  view: TaskView | { status: 'unknown'; word: string | number };
  /** The URL at which the caller reached the service. */
  origin: string;
  /** Left out if the answer must not link to the video. */
  videoPath?: string;
}

const CANCELLED = { code: 'cancelled', message: 'the task was cancelled' };

/** Writes the emulator's answers in one dialect. */
export class DialectWriter {
  private readonly dialect;

  constructor(
    private readonly name: DialectName,
    private readonly charge?: number,
  ) {
    this.dialect = DIALECTS[name];
  }

  /** The id of a task in paths. In answers it may be a number. */
  idOf({ taskId }: EmulatedTask): string {
    return String(this.dialect.idOf?.(taskId) ?? taskId);
  }

  /** Undefined in dialects without files. */
  fileIdOf({ taskId }: EmulatedTask): string | undefined {
    const { video } = this.dialect;
    return video?.at === 'file' ? String(video.idOf(taskId)) : undefined;
  }

  accepted(described: DescribedTask): HttpAnswer {
    return answer(200, this.dialect.accepted(this.factsOf(described)));
  }

  status(described: DescribedTask): HttpAnswer {
    const facts = this.factsOf(described);
    return answer(200, this.charged(this.dialect.status(facts), facts));
  }

  /** Like most services, it charges nothing for a task that failed. */
  private charged(reply: Reply, { state }: TaskFacts): Reply {
    const hasEnded = state === 'succeeded' || state === 'failed' || state === 'cancelled';
    if (this.charge === undefined || !hasEnded || reply instanceof ReplyWithStatus) return reply;
    return withCharge(reply, this.name, state === 'succeeded' ? this.charge : 0);
  }

  notFound(id: string): HttpAnswer {
    const { notFound } = this.dialect;
    return notFound ? answer(200, notFound(id)) : this.refused(404, 'not_found', 'no such task');
  }

  /** The dialect may replace the status by its own. */
  refused(status: number, code: string, message: string): HttpAnswer {
    return answer(status, this.dialect.refused({ status, code, message }));
  }

  /** How the service refuses content: with the answer to the submit, or with the failure of its task. */
  refusedContent(refuses: ContentStage): { answer: HttpAnswer } | { failure: TaskFailure } {
    const { at, code, message } = CONTENT_WORDS[this.name][refuses];
    if (at !== 'submit') return { failure: { code, message, refuses } };
    return { answer: answer(400, this.dialect.refused({ status: 400, code, message, refuses })) };
  }

  /** A file server answers with plain HTTP statuses, even if the service puts errors under HTTP 200. */
  refusedByFileServer(status: number, code: string, message: string): HttpAnswer {
    return this.scriptedRefusal({ kind: 'refused', status, code, message });
  }

  /** A refusal from a script keeps its status in every dialect. */
  scriptedRefusal(fault: Refusal): HttpAnswer {
    const facts = refusalFacts(fault);
    const refused = answer(facts.status, this.dialect.refused(facts), retryAfterHeader(fault));
    return { ...refused, status: facts.status };
  }

  retrieved(task: EmulatedTask, { url, bytes }: { url: string; bytes: number }): HttpAnswer {
    const { video } = this.dialect;
    if (video?.at !== 'file') throw new Error('This dialect has no files.');
    const file = { id: video.idOf(task.taskId), url, bytes, createdAtMs: task.submittedAtMs };
    return answer(200, video.retrieved(file));
  }

  private factsOf({ task, view, origin, videoPath }: DescribedTask): TaskFacts {
    const { idOf, words, video } = this.dialect;
    const id = idOf?.(task.taskId) ?? task.taskId;
    const common = {
      id,
      origin,
      submittedAtMs: task.submittedAtMs,
      stillUrl: (name: string) => `${origin}/stills/${task.taskId}/${name}`,
    };
    switch (view.status) {
      case 'unknown':
        return { ...common, state: 'unknown', word: view.word };
      case 'queued':
      case 'running':
        return { ...common, state: view.status, word: words[view.status], percent: view.progress };
      case 'failed':
        return { ...common, state: 'failed', word: words.failed, error: view.error };
      case 'cancelled':
        return words.cancelled === undefined
          ? { ...common, state: 'failed', word: words.failed, error: CANCELLED }
          : { ...common, state: 'cancelled', word: words.cancelled };
      case 'succeeded': {
        const succeeded: TaskFacts = { ...common, state: 'succeeded', word: words.succeeded };
        if (videoPath === undefined) return succeeded;
        if (video?.at === 'file') return { ...succeeded, fileId: video.idOf(task.taskId) };
        return { ...succeeded, videoUrl: video?.at === 'relative-link' ? videoPath : origin + videoPath };
      }
    }
  }
}

function answer(status: number, reply: Reply, headers?: OutgoingHttpHeaders): HttpAnswer {
  if (!(reply instanceof ReplyWithStatus)) return jsonAnswer(status, reply, headers);
  if (reply.body === undefined) return textAnswer(reply.status, 'application/json', '', headers);
  return jsonAnswer(reply.status, reply.body, headers);
}

function refusalFacts(fault: Refusal): RefusalFacts {
  switch (fault.kind) {
    case 'rate-limited':
      return { status: 429, code: 'rate_limited', message: 'too many requests' };
    case 'server-error':
      return { status: fault.status ?? 500, code: 'internal', message: 'internal server error' };
    case 'refused':
      return { status: fault.status, code: fault.code ?? 'refused', message: fault.message };
  }
}

function retryAfterHeader(fault: Refusal): OutgoingHttpHeaders {
  if (fault.kind !== 'rate-limited' || fault.retryAfter === undefined) return {};
  const { retryAfter } = fault;
  return { 'retry-after': retryAfter instanceof Date ? retryAfter.toUTCString() : String(retryAfter) };
}
