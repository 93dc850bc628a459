import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { VideoRequest } from '../contract/request';
import { bodyText, callService, type ServiceCall } from './call-service';
import { quotable, quotableReading, secretsOf } from './quotable';
import { type AnswerReading, readAnswer } from './read-answer';
import { retryAfterMs } from './retry-after';
import { ServiceFault } from './service-fault';

const SECOND = 1_000;
const MOST_REDIRECTS = 5;

interface AnswerTimeouts {
  headersTimeout: number;
  bodyTimeout: number;
}

/** Milliseconds without a sign of life: until connected, until the headers, and between two pieces of the body. */
export interface ServiceTimeouts {
  connect: number;
  submit: AnswerTimeouts;
  check: AnswerTimeouts;
  video: AnswerTimeouts;
}

const DEFAULT_TIMEOUTS: ServiceTimeouts = {
  connect: 10 * SECOND,
  // Some services hold the POST while they check the prompt and the image.
  submit: { headersTimeout: 60 * SECOND, bodyTimeout: 20 * SECOND },
  check: { headersTimeout: 20 * SECOND, bodyTimeout: 20 * SECOND },
  // Some storages take their time to bring a video up; then it flows.
  video: { headersTimeout: 60 * SECOND, bodyTimeout: 30 * SECOND },
};

const PATHS = {
  textToVideo: '/v1/videos/text-to-video',
  imageToVideo: '/v1/videos/image-to-video',
  task: (taskId: string) => `/v1/videos/${escapePathSegment(taskId)}`,
};

/** Where one service differs from the interface. */
export interface ServiceProfile {
  /** How to cancel a task; `{taskId}` in the path stands for its id. The interface has no such call. */
  cancel?: { method: 'POST' | 'DELETE'; path: string };
}

export interface VideoServiceOptions {
  baseUrl: string;
  /** Asked at every call, so that a rotated key is used at once. */
  apiKey: () => string;
  /** For a service that is known to be slower. The sum for a submit must stay below SUBMIT_POLICY's time. */
  timeouts?: Partial<ServiceTimeouts>;
  profile?: ServiceProfile;
}

export interface VideoBody {
  stream: Readable;
  contentType: string;
  /** Undefined when the server did not say. */
  bytes: number | undefined;
}

export type CancelAnswer = 'asked' | 'refused' | 'not-offered';

export type TaskReading = AnswerReading & { retryAfterMs?: number };

/** The video generation service. Each call is one attempt: Temporal retries, nobody else. */
export interface VideoService {
  submit(request: VideoRequest, options: { idempotencyKey: string }): Promise<{ taskId: string }>;
  check(taskId: string, options?: { signal?: AbortSignal }): Promise<TaskReading>;
  openVideo(link: string, options?: { signal?: AbortSignal }): Promise<VideoBody>;
  /** Asks the service to stop working on a task, if its profile names a call for that. */
  cancel(taskId: string, options?: { signal?: AbortSignal }): Promise<CancelAnswer>;
  close(): Promise<void>;
}

export function createVideoService(options: VideoServiceOptions): VideoService {
  const base = new URL(`${options.baseUrl.replace(/\/+$/, '')}/`);
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const connect = { timeout: timeouts.connect };
  const keepAlive = new Agent({ connect });
  // A POST on a kept connection that the service has just closed looks like a lost submit. A fresh one cannot.
  const freshConnections = new Agent({ connect, pipelining: 0 });
  const bearer = () => `Bearer ${readKey(options.apiKey)}`;

  const askService = async (dispatcher: Dispatcher, call: ServiceCall) => {
    const made = {
      ...call,
      origin: base.origin,
      path: base.pathname.replace(/\/$/, '') + call.path,
      headers: {
        accept: 'application/json',
        authorization: bearer(),
        'user-agent': 'temporal-videogen',
        ...call.headers,
      },
    };
    const answer = await callService(dispatcher, made);
    const body = await bodyText(answer, call.signal);
    const secrets = secretsOf(made);
    const reading = quotableReading(readAnswer({ status: answer.statusCode, body }), secrets);
    return { answer, body, reading, secrets };
  };

  return {
    async submit(request, { idempotencyKey }) {
      const { answer, body, reading, secrets } = await askService(freshConnections, {
        method: 'POST',
        path: request.image_url === undefined ? PATHS.textToVideo : PATHS.imageToVideo,
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(request),
        ...timeouts.submit,
      });
      if (reading.taskId !== undefined) return { taskId: reading.taskId };
      throw new ServiceFault('unreadable', {
        status: answer.statusCode,
        code: reading.said.code,
        message: `the answer names no task: ${quotable(body, secrets) || 'it is empty'}`,
      });
    },

    async check(taskId, { signal } = {}) {
      const { answer, body, reading, secrets } = await askService(keepAlive, {
        method: 'GET',
        path: PATHS.task(taskId),
        signal,
        ...timeouts.check,
      });
      const { statusCode: status, headers } = answer;
      if (!reading.json && status !== 202) {
        throw new ServiceFault('unreadable', { status, message: `not JSON: ${quotable(body, secrets)}` });
      }
      return { ...reading, retryAfterMs: retryAfterMs(headers, Date.now()) };
    },

    async openVideo(link, { signal } = {}) {
      let url = new URL(link, base);
      let atHome = true;
      for (let redirects = 0; ; redirects++) {
        // The key is for the service's own origin and for no other, nor for whoever was led back from another.
        atHome &&= url.origin === base.origin;
        const answer = await callService(keepAlive, {
          method: 'GET',
          origin: url.origin,
          path: url.pathname + url.search,
          headers: atHome ? { authorization: bearer() } : {},
          signal,
          acceptRedirect: redirects < MOST_REDIRECTS,
          ...timeouts.video,
        });
        if (answer.statusCode < 300) return videoBody(answer);
        await answer.body.dump();
        url = redirectTarget(answer, url);
      }
    },

    async cancel(taskId, { signal } = {}) {
      const { cancel } = options.profile ?? {};
      if (cancel === undefined) return 'not-offered';
      const path = cancel.path.replaceAll('{taskId}', escapePathSegment(taskId));
      await askService(keepAlive, { method: cancel.method, path, signal, ...timeouts.check });
      return 'asked';
    },

    async close() {
      await Promise.all([keepAlive.destroy(), freshConnections.destroy()]);
    },
  };
}

/** A key that cannot be read just now, while its file is replaced for instance, is a call that was not made. */
function readKey(apiKey: () => string): string {
  try {
    return apiKey();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ServiceFault('not-sent', { message }, { cause: error });
  }
}

function redirectTarget({ statusCode, headers }: Dispatcher.ResponseData, from: URL): URL {
  const { location } = headers;
  if (typeof location === 'string' && URL.canParse(location, from.href)) {
    const target = new URL(location, from);
    if (/^https?:$/.test(target.protocol)) return target;
  }
  throw new ServiceFault('answered', { status: statusCode, message: 'a redirect that leads nowhere' });
}

function videoBody({ headers, body }: Dispatcher.ResponseData): VideoBody {
  const length = Number(headers['content-length'] ?? Number.NaN);
  return {
    stream: body,
    contentType: String(headers['content-type'] ?? 'application/octet-stream'),
    bytes: Number.isSafeInteger(length) ? length : undefined,
  };
}

/** `.` and `..` are escaped too: as path segments they would name another resource. */
function escapePathSegment(segment: string): string {
  return /^\.+$/.test(segment) ? segment.replaceAll('.', '%2E') : encodeURIComponent(segment);
}
