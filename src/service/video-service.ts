import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { VideoRequest } from '../contract/request';
import { bodyText, callService, type ServiceCall } from './call-service';
import { type AnswerReading, readAnswer } from './read-answer';
import { retryAfterMs } from './retry-after';
import { ServiceFault } from './service-fault';

const SECOND = 1_000;
const CONNECT_TIMEOUT_MS = 10 * SECOND;
/** Some services hold the POST while they check the prompt and the image. */
const SUBMIT_TIMEOUTS = { headersTimeout: 60 * SECOND, bodyTimeout: 20 * SECOND };
const CHECK_TIMEOUTS = { headersTimeout: 20 * SECOND, bodyTimeout: 20 * SECOND };
/** Between two pieces of a video, not for the whole of it. */
const VIDEO_TIMEOUTS = { headersTimeout: 60 * SECOND, bodyTimeout: 30 * SECOND };
const MOST_REDIRECTS = 5;

const PATHS = {
  textToVideo: '/v1/videos/text-to-video',
  imageToVideo: '/v1/videos/image-to-video',
  task: (taskId: string) => `/v1/videos/${escapePathSegment(taskId)}`,
};

export interface VideoServiceOptions {
  baseUrl: string;
  /** Asked at every call, so that a rotated key is used at once. */
  apiKey: () => string;
}

export interface VideoBody {
  stream: Readable;
  contentType: string;
  /** Undefined when the server did not say. */
  bytes: number | undefined;
}

export type TaskReading = AnswerReading & { retryAfterMs?: number };

/** The video generation service. Each call is one attempt: Temporal retries, nobody else. */
export interface VideoService {
  /** Resolves with the answer to a POST that the service accepted; whether it names a task is the caller's matter. */
  submit(request: VideoRequest, options: { idempotencyKey: string }): Promise<AnswerReading>;
  check(taskId: string, options?: { signal?: AbortSignal }): Promise<TaskReading>;
  openVideo(link: string, options?: { signal?: AbortSignal }): Promise<VideoBody>;
  close(): Promise<void>;
}

export function createVideoService({ baseUrl, apiKey }: VideoServiceOptions): VideoService {
  const base = new URL(baseUrl);
  const basePath = base.pathname.replace(/\/+$/, '');
  const connect = { timeout: CONNECT_TIMEOUT_MS };
  const keepAlive = new Agent({ connect });
  // A POST on a kept connection that the service has just closed looks like a lost submit. A fresh one cannot.
  const freshConnections = new Agent({ connect, pipelining: 0 });
  const serviceHeaders = () => ({
    accept: 'application/json',
    authorization: `Bearer ${apiKey()}`,
    'user-agent': 'temporal-videogen',
  });

  const askService = (dispatcher: Dispatcher, call: ServiceCall) =>
    callService(dispatcher, {
      ...call,
      origin: base.origin,
      path: basePath + call.path,
      headers: { ...serviceHeaders(), ...call.headers },
    });

  return {
    async submit(request, { idempotencyKey }) {
      const answer = await askService(freshConnections, {
        method: 'POST',
        path: request.image_url === undefined ? PATHS.textToVideo : PATHS.imageToVideo,
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(request),
        ...SUBMIT_TIMEOUTS,
      });
      return readAnswer({ status: answer.statusCode, body: await bodyText(answer) });
    },

    async check(taskId, { signal } = {}) {
      const answer = await askService(keepAlive, {
        method: 'GET',
        path: PATHS.task(taskId),
        signal,
        ...CHECK_TIMEOUTS,
      });
      const body = await bodyText(answer);
      const reading = readAnswer({ status: answer.statusCode, body });
      if (!reading.json && answer.statusCode !== 202) {
        throw new ServiceFault('unreadable', {
          status: answer.statusCode,
          message: `not JSON: ${body.slice(0, 200)}`,
        });
      }
      return { ...reading, retryAfterMs: retryAfterMs(answer.headers, Date.now()) };
    },

    async openVideo(link, { signal } = {}) {
      let url = new URL(link, base);
      for (let redirects = 0; ; redirects++) {
        const answer = await callService(keepAlive, {
          method: 'GET',
          origin: url.origin,
          path: url.pathname + url.search,
          // The key is for the service's own origin and for no other.
          headers: url.origin === base.origin ? { authorization: serviceHeaders().authorization } : {},
          signal,
          acceptRedirect: redirects < MOST_REDIRECTS,
          ...VIDEO_TIMEOUTS,
        });
        const { location } = answer.headers;
        if (answer.statusCode < 300 || typeof location !== 'string') return videoBody(answer);
        await answer.body.dump();
        url = new URL(location, url);
      }
    },

    async close() {
      await Promise.all([keepAlive.destroy(), freshConnections.destroy()]);
    },
  };
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
