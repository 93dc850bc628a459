import { Agent, type Dispatcher } from 'undici';
import type { Secrets } from '../contract/find-secrets';
import { TASK_ID_RULE } from '../contract/input-rules';
import { OPEN_VIDEO_MS, POLL_EXCHANGE_MS, SUBMIT_EXCHANGE_MS } from '../contract/policies';
import { isTainted, redact } from '../contract/redact';
import { HIDDEN } from '../contract/redact-links';
import type { VideoRequest } from '../contract/request';
import { bodiesOf, parseJson, valuesIn } from './answer-paths';
import {
  type AnswerTimeouts,
  bodyText,
  callService,
  refusal,
  refusalText,
  type ServiceCall,
} from './call-service';
import { createDownloadRules } from './download-rules';
import { startDeadline } from './exchange-deadline';
import { type OpenVideoOptions, openVideo, type VideoBody, type VideoSource } from './open-video';
import { readingRules, type ServiceProfile } from './profile';
import { type AnswerReading, type TracedReading, traceAnswer, type VideoState } from './read-answer';
import { first, linkFrom, taskIdFrom } from './read-values';
import { redactReading, secretsOf } from './secrets-of-call';
import { ServiceFault } from './service-fault';
import { createVideoConnector } from './video-connector';

const SECOND = 1_000;

/** Milliseconds without a sign of life: until connected, until the headers, and between two pieces of the body. */
export interface ServiceTimeouts {
  connect: number;
  submit: AnswerTimeouts;
  poll: AnswerTimeouts;
  video: AnswerTimeouts;
  /**
   * Milliseconds for a whole exchange, whatever signs of life there are: of a video up to its first byte. Must stay below
   * the times of SUBMIT_POLICY and POLL_POLICY.
   */
  exchange: { submit: number; poll: number; video: number };
}

const DEFAULT_TIMEOUTS: ServiceTimeouts = {
  connect: 10 * SECOND,
  // Some services hold the POST while they check the prompt and the image.
  submit: { headersTimeout: 60 * SECOND, bodyTimeout: 20 * SECOND },
  poll: { headersTimeout: 20 * SECOND, bodyTimeout: 20 * SECOND },
  // Some storages take their time to bring a video up; then it flows.
  video: { headersTimeout: 60 * SECOND, bodyTimeout: 30 * SECOND },
  exchange: { submit: SUBMIT_EXCHANGE_MS, poll: POLL_EXCHANGE_MS, video: OPEN_VIDEO_MS },
};

/** Section 4 of the interface. */
const PATHS = {
  textToVideo: '/v1/videos/text-to-video',
  imageToVideo: '/v1/videos/image-to-video',
  task: '/v1/videos/{taskId}',
};
const AUTH = { header: 'Authorization', scheme: 'Bearer' };
const IDEMPOTENCY_HEADER = 'Idempotency-Key';

/** One answer of the service as it came, and what must not be kept of it. */
export interface ServiceAnswer {
  call: 'submit' | 'poll' | 'link' | 'cancel';
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: string;
  secrets: Secrets;
}

export interface VideoServiceOptions {
  baseUrl: string;
  /** Asked at every call, so that a rotated key is used at once. */
  apiKey: () => string;
  /** For a service that is known to be slower. */
  timeouts?: Partial<ServiceTimeouts>;
  /** Where the service differs from the interface. */
  profile?: ServiceProfile;
  /**
   * Hosts, by name or IP address, that videos may come from although they are at an address that is not public, or
   * without TLS. The service's own host may be at any address.
   */
  downloadAllow?: readonly string[];
  /** Told every answer of the service itself, good or bad: for whoever wants to see how it speaks. */
  onAnswer?: (answer: ServiceAnswer) => void;
}

export type CancelAnswer = 'asked' | 'refused' | 'not-offered';

export type TaskReading = AnswerReading & Pick<TracedReading, 'doubts' | 'retryAfterMs'>;

/** The video generation service. Each call is one attempt: Temporal retries, nobody else. */
export interface VideoService {
  /** Where it differs from the interface, for whoever parses requests and plans looks. */
  readonly profile?: ServiceProfile;
  submit(
    request: VideoRequest,
    options: { idempotencyKey: string },
  ): Promise<{ taskId: string; doubts: string[] }>;
  poll(taskId: string, options?: { signal?: AbortSignal }): Promise<TaskReading>;
  /** A `ServiceFault` of the kind `not-allowed` when the link, or a redirect, leads where no video may come from. */
  openVideo(link: string, options?: OpenVideoOptions): Promise<VideoBody>;
  /** Asks the service to stop working on a task, if its profile names a call for that. */
  cancel(taskId: string, options?: { signal?: AbortSignal }): Promise<CancelAnswer>;
  close(): Promise<void>;
}

/** A real one is shorter. */
const LONGEST_HOST = 200;

export function createVideoService(options: VideoServiceOptions): VideoService {
  const { profile = {}, downloadAllow = [], onAnswer = () => undefined } = options;
  const base = new URL(`${options.baseUrl.replace(/\/+$/, '')}/`);
  const basePath = base.pathname.replace(/\/$/, '');
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const paths = { ...PATHS, ...profile.paths };
  const auth = { ...AUTH, ...profile.auth };
  const { idempotencyHeader = IDEMPOTENCY_HEADER } = profile;
  const rules = readingRules(profile);
  const { refusals } = profile;
  const isLimit = (status: number, body: string) =>
    status === 429 ||
    refusals?.limited?.some((limit) => limit.status === status && body.includes(limit.says ?? '')) === true;
  const connect = { timeout: timeouts.connect };
  const keepAlive = new Agent({ connect });
  // A POST on a kept connection that the service has just closed looks like a lost submit. A fresh one cannot.
  const freshConnections = new Agent({ connect, pipelining: 0 });
  const ownSecrets = () => secretsOf('', [readKey(options.apiKey)], profile.headers);
  const tellHost = (hostname: string) => {
    try {
      return redact(hostname, ownSecrets(), LONGEST_HOST);
    } catch {
      // Nobody knows what is to be hidden while the key cannot be read, and a lookup has nobody to throw to.
      return HIDDEN;
    }
  };
  const downloadRules = createDownloadRules(base, downloadAllow, tellHost);
  const { mayBePrivate } = downloadRules;
  // Apart from the others, so that no video is fetched over a connection whose address was not checked.
  const videos = new Agent({
    connect: createVideoConnector({ timeout: timeouts.connect, mayBePrivate, tellHost }),
  });
  const authorization = () => {
    const key = readKey(options.apiKey);
    return {
      key,
      header: { [auth.header.toLowerCase()]: auth.scheme === '' ? key : `${auth.scheme} ${key}` },
    };
  };

  /** Headers and body of one answer, within one deadline. */
  const exchange = async (dispatcher: Dispatcher, kind: ServiceAnswer['call'], call: ServiceCall) => {
    const limitMs = timeouts.exchange[kind === 'submit' ? 'submit' : 'poll'];
    const { signal, lift } = startDeadline(limitMs, call.signal);
    try {
      const answer = await callService(dispatcher, { ...call, signal });
      const { statusCode, headers } = answer;
      const body = await (statusCode > 299
        ? refusalText(answer, { ...call, signal })
        : bodyText(answer, { ...call, signal }));
      return { statusCode, headers, body };
    } finally {
      lift();
    }
  };

  const askService = async (dispatcher: Dispatcher, kind: ServiceAnswer['call'], call: ServiceCall) => {
    const { key, header } = authorization();
    const made = {
      ...call,
      origin: base.origin,
      path: basePath + call.path,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'temporal-videogen',
        ...profile.headers,
        ...header,
        ...call.headers,
      },
    };
    const secrets = secretsOf(made.path, [key], profile.headers);
    const { statusCode, headers, body } = await exchange(dispatcher, kind, { ...made, secrets });
    onAnswer({ call: kind, status: statusCode, headers, body, secrets });
    const reading = traceAnswer(
      { status: statusCode, headers, receivedAtMs: Date.now(), body, baseUrl: base.href },
      rules,
    );
    // Some services answer everything with 200, and refuse by a code.
    const named = refusals?.codes?.[reading.said.code ?? ''];
    const isSubmit = kind === 'submit';
    const inBody = isSubmit && reading.taskId === undefined ? reading.refusal?.status : undefined;
    const status = named ?? inBody ?? statusCode;
    const isRefusal = status > 299;
    const isFailedTask = kind === 'poll' && refusals?.failed?.includes(status);
    if (isRefusal && !isFailedTask) {
      const message = describeRedirect(status, headers.location, made) ?? reading.said.message;
      const told = { ...reading, said: { ...reading.said, ...(message !== undefined && { message }) } };
      throw refusal({ status, body }, told, secrets, {
        limited: isLimit(status, body),
        taskMayExist: isSubmit && refusals?.taskMayExist?.includes(status),
      });
    }
    return { status, body, reading: redactReading(reading, secrets), secrets };
  };

  /** The link to a finished video, where the status answer does not hold it itself. */
  const linkOf = async (taskId: string, body: string, signal?: AbortSignal): Promise<string | undefined> => {
    const { video } = profile;
    if (video === undefined) return undefined;
    if (!('link' in video)) return base.origin + basePath + at(video.path, taskId);
    const read = (text: string, places: string | string[]) =>
      valuesIn(bodiesOf(parseJson(text), rules.places.within), [places].flat());
    const fileId = first(read(body, video.id), taskIdFrom)?.value;
    if (fileId === undefined) return undefined;
    const path = video.path
      .replaceAll('{fileId}', encodeURIComponent(fileId))
      .replaceAll('{taskId}', escapePathSegment(taskId));
    const answer = await askService(keepAlive, 'link', { method: 'GET', path, signal, ...timeouts.poll });
    return first(read(answer.body, video.link), linkFrom(base.href))?.value;
  };

  const source: VideoSource = {
    dispatcher: videos,
    base,
    rules: downloadRules,
    homeHeaders: () => ({ ...profile.headers, ...authorization().header }),
    secrets: ownSecrets,
    timeouts: timeouts.video,
    openWithinMs: timeouts.exchange.video,
  };

  return {
    profile,

    async submit(request, { idempotencyKey }) {
      const { status, body, reading, secrets } = await askService(freshConnections, 'submit', {
        method: 'POST',
        path: request.image_url === undefined ? paths.textToVideo : paths.imageToVideo,
        headers: {
          'content-type': 'application/json',
          ...(idempotencyHeader !== null && { [idempotencyHeader.toLowerCase()]: idempotencyKey }),
        },
        body: JSON.stringify(request),
        ...timeouts.submit,
      });
      const { taskId, unusableId, doubts, refusal: refused } = reading;
      if (taskId !== undefined && isTainted(taskId, secrets)) {
        throw new ServiceFault('unreadable', {
          status,
          message: 'the task id in the answer holds the API key',
        });
      }
      if (taskId !== undefined) {
        const both = `${reading.found.taskId} is ${taskId}, and ${refused?.at} says that the request was refused`;
        return { taskId, doubts: [...doubts, ...(refused ? [redact(both, secrets)] : [])] };
      }
      if (refused && unusableId === undefined) {
        const { code, message = redact(body, secrets) } = reading.said;
        throw new ServiceFault('refused', { status, code, message });
      }
      const said =
        unusableId === undefined
          ? `the answer names no task: ${redact(body, secrets) || 'it is empty'}`
          : `the answer names a task whose id ${TASK_ID_RULE}: ${redact(unusableId, secrets)}`;
      throw new ServiceFault('unreadable', { status, code: reading.said.code, message: said });
    },

    async poll(taskId, { signal } = {}) {
      const { status, body, reading, secrets } = await askService(keepAlive, 'poll', {
        method: 'GET',
        path: at(paths.task, taskId),
        signal,
        ...timeouts.poll,
      });
      if (!reading.json && status !== 202) {
        throw new ServiceFault('unreadable', { status, message: `not JSON: ${redact(body, secrets)}` });
      }
      const task: VideoState = status > 299 ? { state: 'failed', word: `HTTP ${status}` } : reading.task;
      const link =
        task.state === 'succeeded' && task.videoUrl === undefined
          ? await linkOf(taskId, body, signal)
          : undefined;
      return {
        ...reading,
        task: task.state === 'succeeded' && link !== undefined ? { ...task, videoUrl: link } : task,
      };
    },

    openVideo: (link, opening) => openVideo(link, source, opening),

    async cancel(taskId, { signal } = {}) {
      const { cancel } = profile;
      if (cancel === undefined) return 'not-offered';
      const { method, path } = cancel;
      await askService(keepAlive, 'cancel', { method, path: at(path, taskId), signal, ...timeouts.poll });
      return 'asked';
    },

    async close() {
      await Promise.all([keepAlive, freshConnections, videos].map((agent) => agent.destroy()));
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

/** Where a redirect leads, without its path, which may hold a token. */
function describeRedirect(status: number, location: unknown, { origin }: ServiceCall): string | undefined {
  if (status > 399 || typeof location !== 'string' || !URL.canParse(location, origin)) return undefined;
  const target = new URL(location, origin);
  return target.origin === origin
    ? 'it leads to another path of the service'
    : `it leads to ${target.protocol}//${target.host}`;
}

/** A path of a profile for one task. */
function at(path: string, taskId: string): string {
  return path.replaceAll('{taskId}', escapePathSegment(taskId));
}

/** `.` and `..` are escaped too: as path segments they would name another resource. */
function escapePathSegment(segment: string): string {
  return /^\.+$/.test(segment) ? segment.replaceAll('.', '%2E') : encodeURIComponent(segment);
}
