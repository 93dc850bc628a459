import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { ContentStage } from '../contract/failure-details';
import { type ParsedRequest, parseRequest, type VideoRequest } from '../contract/request';
import type { EmulatedCall } from './faults';
import type { TaskFailure, TaskView } from './task-store';

/** What an answer can contain about a task. */
export interface TaskFacts {
  /** The id in this dialect. */
  id: string;
  request: VideoRequest;
  state: TaskView['state'] | 'unknown';
  /** The word for an unknown state, which a fault made up. */
  word?: string | number;
  /** Set while the task is queued or running. */
  percent?: number;
  /** Set if the video is ready. */
  videoUrl?: string;
  error?: TaskFailure;
  /** Set if the task has ended and the emulator charges, in dollars. */
  cost?: number;
  submittedAtMs: number;
  /** The URL at which the caller reached the emulator. */
  origin: string;
}

/** The body of an answer, as an object or as text, with its status if that is not the usual one. */
export interface Reply {
  status?: number;
  headers?: OutgoingHttpHeaders;
  body?: object | string;
}

/** A call of a service. */
export interface DialectRoute {
  method: string;
  /** The first group is the id of the task. */
  path: RegExp;
  call: EmulatedCall;
  /** The query parameter that has the id, if the path does not. */
  idIn?: string;
  /** The id by which this call names a task, if it is not that of the dialect. */
  idOf?(taskId: string): string;
  /** The API key in the headers of the call; by default that of `Authorization: Bearer`. */
  keyIn?(headers: IncomingHttpHeaders): string | undefined;
  /** Reads the request of a submit; by default in the words of the interface. */
  read?(body: unknown): ParsedRequest;
  /** The answer, if it is not `status` of the dialect. */
  answer?(task: TaskFacts): Reply;
}

/** How a service is called, and how it words its answers. */
export interface Dialect {
  routes: readonly DialectRoute[];
  /** The id of a task in answers and paths; by default the emulator's own. */
  idOf?(taskId: string): string;
  accepted(task: TaskFacts): Reply;
  status(task: TaskFacts): Reply;
  /** `refuses` is what the content policy refused, if that is the reason. */
  refused(refusal: { status: number; code: string; message: string; refuses?: ContentStage }): Reply;
  /** How the content policy refuses: the submit, or by the failure of its task. */
  refusedContent?(stage: ContentStage): { at: 'submit' | 'task'; code: string; message: string };
}

export type RefusalFacts = Parameters<Dialect['refused']>[0];

/** Section 4 of the interface. What it does not show is worded as most services do. */
export const INTERFACE: Dialect = {
  routes: [
    { method: 'POST', path: /^\/v1\/videos\/text-to-video$/, call: 'submit' },
    { method: 'POST', path: /^\/v1\/videos\/image-to-video$/, call: 'submit', read: readImageRequest },
    { method: 'GET', path: /^\/v1\/videos\/([^/]+)$/, call: 'status' },
  ],
  accepted: ({ id, state }) => ({ body: { task_id: id, status: state } }),
  status: ({ id, state, word, percent, error, videoUrl, cost }) => ({
    body: {
      task_id: id,
      status: word ?? state,
      progress: percent,
      error: error && { code: error.code, message: error.message },
      video_url: videoUrl,
      cost_usd: cost,
    },
  }),
  refused: ({ code, message }) => ({ body: { error: { code, message } } }),
};

/** Not part of the interface: services that can cancel often do it like this. */
export const CANCELLING: DialectRoute = {
  method: 'DELETE',
  path: /^\/v1\/videos\/([^/]+)$/,
  call: 'cancel',
};

function readImageRequest(body: unknown): ParsedRequest {
  const parsed = parseRequest(body);
  if (!parsed.ok || parsed.request.image_url !== undefined) return parsed;
  return { ok: false, problem: 'image_url is missing' };
}

const POLICY: Record<ContentStage, string> = {
  prompt: 'the prompt violates the content policy',
  image: 'the image violates the content policy',
  output: 'the generated video was blocked by the content policy',
};

/** Most services refuse a prompt or an image at once, and a video when it is finished. */
export const refuseContent: NonNullable<Dialect['refusedContent']> = (stage) => ({
  at: stage === 'output' ? 'task' : 'submit',
  code: 'content_policy_violation',
  message: POLICY[stage],
});
