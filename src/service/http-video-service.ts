import { Agent, type Dispatcher } from 'undici';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { isSignedLink } from '../contract/redact-links';
import type { VideoRequest } from '../contract/request';
import { bodiesOf, parseJson, valuesIn } from './answer-paths';
import { bodyText, callService, type ServiceCall, startDeadline } from './call-service';
import { createVideoSource, openVideo, type VideoSource } from './open-video';
import type { ServiceProfile } from './profile';
import { type HttpAnswer, traceAnswer } from './read-answer';
import { first, linkFrom, taskIdFrom } from './read-values';
import { type AnswerPath, type ReadingRules, readingRules } from './reading-rules';
import { redactAnswer } from './record-answers';
import { secretsOf } from './secrets-of-call';
import {
  missingTaskFault,
  type ReadAnswer,
  redactReading,
  refusalFault,
  refusedContentOf,
  ServiceFault,
  statusOfCode,
  toTaskReading,
} from './service-fault';
import {
  baseOf,
  type CancelAnswer,
  DEFAULT_TIMEOUTS,
  type OpenedVideoService,
  type OpenVideoOptions,
  type ServiceAnswer,
  type ServiceTimeouts,
  type StartedTask,
  type TaskReading,
  type VideoBody,
  type VideoServiceOptions,
} from './video-service';
import { fillPath, mapRequest, markTask, operationFor, taskPathOf, unmarkedId } from './word-request';

const AUTH = { header: 'Authorization', scheme: 'Bearer' };
const TEXT_TO_VIDEO_PATH = '/v1/videos/text-to-video';
const IMAGE_TO_VIDEO_PATH = '/v1/videos/image-to-video';
const IDEMPOTENCY_HEADER = 'Idempotency-Key';

/** Answers to a poll, or for its link, that are about the task when they say that its content was refused. */
export const REFUSED_TASK_STATUSES = [400, 422, 451];

type Signal = Pick<ServiceCall, 'signal'>;

/** The service over HTTP. Loads undici: see createVideoService. */
export class HttpVideoService implements OpenedVideoService {
  readonly profile: ServiceProfile;
  private readonly rules: ReadingRules;
  private readonly base: URL;
  private readonly timeouts: ServiceTimeouts;
  private readonly keepAlive: Agent;
  private readonly freshConnections: Agent;
  private readonly videos: VideoSource;

  constructor(private readonly options: VideoServiceOptions) {
    this.profile = options.profile ?? {};
    this.rules = readingRules(this.profile);
    this.base = baseOf(options.baseUrl);
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    const connect = { timeout: this.timeouts.connect };
    this.keepAlive = new Agent({ connect });
    // A POST on a reused connection that the service has just closed looks like a lost submit. On a fresh one it cannot.
    this.freshConnections = new Agent({ connect, pipelining: 0 });
    this.videos = createVideoSource({
      base: this.base,
      downloadAllow: options.downloadAllow ?? [],
      timeouts: this.timeouts,
      serviceHeaders: () => this.headersWith(this.readKey()),
      secrets: () => secretsOf('', [this.readKey()], this.profile),
    });
  }

  async start(request: VideoRequest, { idempotencyKey }: { idempotencyKey: string }): Promise<StartedTask> {
    const { paths = {}, idempotencyHeader = IDEMPOTENCY_HEADER } = this.profile;
    const { textToVideo = TEXT_TO_VIDEO_PATH, imageToVideo = IMAGE_TO_VIDEO_PATH } = paths;
    const mapped = mapRequest(this.profile, request);
    if (!mapped.ok) throw new ServiceFault('refused', { message: mapped.problem });
    const answer = await this.ask(
      'submit',
      {
        method: 'POST',
        path: { textToVideo, imageToVideo }[operationFor(request)],
        headers: {
          'content-type': 'application/json',
          ...(idempotencyHeader !== null && { [idempotencyHeader.toLowerCase()]: idempotencyKey }),
        },
        body: JSON.stringify(mapped.body),
      },
      { request },
    );
    const { reading, status, secrets } = answer;
    const { taskId, refusal, doubts, found } = reading;
    if (taskId === undefined) throw missingTaskFault(answer);
    const secret = isTainted(taskId, secrets)
      ? 'contains the API key'
      : isSignedLink(taskId) && 'is a signed link';
    // It would be in histories, logs and records. The task may exist, so it is a lost submit.
    if (secret)
      throw new ServiceFault('unreadable', { status, message: `the task id in the answer ${secret}` });
    const both = `${found.taskId} is ${taskId}, and ${refusal?.path} says that the request was refused`;
    return {
      taskId: markTask(this.profile, request, taskId),
      doubts: [...doubts, ...(refusal ? [redact(both, secrets)] : [])],
    };
  }

  async status(taskId: string, { signal }: Signal = {}): Promise<TaskReading> {
    const path = taskPathOf(this.profile, taskId);
    const id = unmarkedId(this.profile, taskId);
    const answer = await this.ask('poll', { method: 'GET', path, signal }, { taskId: id });
    const { status, rawBody, reading, secrets } = answer;
    if (!reading.json && status !== 202) {
      throw new ServiceFault('unreadable', { status, message: `not JSON: ${redact(rawBody, secrets)}` });
    }
    const polled = toTaskReading(answer);
    const { task } = polled;
    if (task.state !== 'succeeded') return polled;
    const link: FoundLink = task.videoUrl === undefined ? await this.findLink(id, rawBody, signal) : task;
    // Some services say only there that the task has failed.
    if (link.answer && link.answer.status > 299) return toTaskReading(link.answer);
    const refusedContent =
      refusedContentOf(reading) ?? (link.answer && refusedContentOf(link.answer.reading));
    const { videoUrl } = link;
    if (videoUrl === undefined) {
      // Some services call a task a success whose video they withhold.
      return refusedContent
        ? { ...polled, task: { state: 'failed', word: task.word }, refusedContent }
        : polled;
    }
    const doubts = refusedContent ? ['the video is marked as refused, and there is a link to it'] : [];
    return { ...polled, doubts: [...reading.doubts, ...doubts], task: { ...task, videoUrl } };
  }

  /** The link to a finished video, for services whose answer to a poll has none. */
  private async findLink(id: string, pollBody: string, signal?: AbortSignal): Promise<FoundLink> {
    const { video } = this.profile;
    if (video === undefined) return {};
    if (!('link' in video)) {
      return { videoUrl: this.base.origin + this.basePath + fillPath(video.path, { taskId: id }) };
    }
    const valuesOf = (body: string, paths: AnswerPath | AnswerPath[]) =>
      valuesIn(bodiesOf(parseJson(body), this.rules.paths.within), [paths].flat());
    const fileId = first(valuesOf(pollBody, video.id), taskIdFrom)?.value;
    if (fileId === undefined) return {};
    const path = fillPath(video.path, { taskId: id, fileId });
    const answer = await this.ask('link', { method: 'GET', path, signal });
    return {
      answer,
      videoUrl: first(valuesOf(answer.rawBody, video.link), linkFrom(this.base.href))?.value,
    };
  }

  open(link: string, options?: OpenVideoOptions): Promise<VideoBody> {
    return openVideo(link, this.videos, options);
  }

  async cancel(taskId: string, { signal }: Signal = {}): Promise<CancelAnswer> {
    const { cancel } = this.profile;
    if (cancel === undefined) return 'not-offered';
    const path = fillPath(cancel.path, { taskId: unmarkedId(this.profile, taskId) });
    await this.ask('cancel', { method: cancel.method, path, signal });
    return 'asked';
  }

  async close(): Promise<void> {
    const agents = [this.keepAlive, this.freshConnections, this.videos.dispatcher];
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  /** Sends one call and reads its answer; a ServiceFault when the service refuses it or does not answer. */
  private async ask(
    kind: ServiceAnswer['call'],
    question: Pick<ServiceCall, 'method' | 'path' | 'headers' | 'signal'> & { body?: string },
    about: Pick<HttpAnswer, 'request' | 'taskId'> = {},
  ): Promise<ReadAnswer> {
    const key = this.readKey();
    const path = this.basePath + question.path;
    const secrets = secretsOf(path, [key], this.profile);
    const isSubmit = kind === 'submit';
    const limits = isSubmit ? 'submit' : 'poll';
    const call: ServiceCall = {
      ...question,
      origin: this.base.origin,
      path,
      secrets,
      ...(isSubmit && { startWithinMs: this.timeouts.connect }),
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'temporal-videogen',
        ...this.headersWith(key),
        ...question.headers,
      },
    };
    const dispatcher = isSubmit ? this.freshConnections : this.keepAlive;
    const got = await exchange(dispatcher, call, this.timeouts[limits]);
    const { method, body } = question;
    this.showAnswer({ call: kind, sent: { method, path, body }, ...got }, secrets);
    const reading = traceAnswer(
      { ...got, receivedAtMs: Date.now(), baseUrl: this.base.href, ...about },
      this.rules,
    );
    // Some services answer everything with 200 and refuse in the body.
    const inBody = isSubmit && reading.taskId === undefined ? reading.refusal?.status : undefined;
    const status = statusOfCode(this.profile, reading.serviceMessage.code) ?? inBody ?? got.status;
    const answer = { status, rawBody: got.body, reading, secrets };
    const isRefusedTask = reading.refusedContent?.isCertain && REFUSED_TASK_STATUSES.includes(status);
    const isFailedTask =
      (kind === 'poll' || kind === 'link') &&
      (isRefusedTask || this.profile.refusals?.failed?.includes(status));
    if (status <= 299 || isFailedTask) return { ...answer, reading: redactReading(reading, secrets) };
    const message = describeRedirect(status, got.headers.location, this.base.origin);
    const shown = message ? { ...reading, serviceMessage: { message } } : reading;
    throw refusalFault(limits, { ...answer, reading: shown }, this.profile);
  }

  /** An error of the host's hook must not turn a paid answer into a lost one. */
  private showAnswer(answer: ServiceAnswer, secrets: Secrets): void {
    try {
      this.options.onAnswer?.(redactAnswer(answer, secrets));
    } catch (error) {
      process.emitWarning(redact(`onAnswer failed: ${error}`, secrets));
    }
  }

  private get basePath(): string {
    return this.base.pathname.replace(/\/$/, '');
  }

  /** What identifies us. In small letters, so that the header of the key replaces the same header of the profile. */
  private headersWith(key: string): Record<string, string> {
    const { auth, headers = {} } = this.profile;
    const { header, scheme } = { ...AUTH, ...auth };
    const all = [...Object.entries(headers), [header, scheme === '' ? key : `${scheme} ${key}`]];
    return Object.fromEntries(all.map(([name, value]) => [name?.toLowerCase(), value]));
  }

  /** A key that cannot be read right now, for example while its file is replaced, is a call that was not sent. */
  private readKey(): string {
    try {
      return this.options.apiKey();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new ServiceFault('not-sent', { message }, { cause: error });
    }
  }
}

interface FoundLink {
  videoUrl?: string | undefined;
  /** What the call for the link was answered. */
  answer?: ReadAnswer;
}

/** Headers and body of one answer, within one deadline. */
async function exchange(dispatcher: Dispatcher, call: ServiceCall, limitMs: number) {
  const { signal, lift } = startDeadline(limitMs, call.signal);
  try {
    const answer = await callService(dispatcher, { ...call, signal });
    const body = await bodyText(answer, { ...call, signal });
    return { status: answer.statusCode, headers: answer.headers, body };
  } finally {
    lift();
  }
}

/** Without the path of the target, which may contain a token. */
function describeRedirect(status: number, location: unknown, origin: string): string | undefined {
  if (status > 399 || typeof location !== 'string' || !URL.canParse(location, origin)) return undefined;
  const target = new URL(location, origin);
  return target.origin === origin
    ? 'it redirects to another path of the service'
    : `it redirects to ${target.protocol}//${target.host}`;
}
