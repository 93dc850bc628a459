import { Agent, type Dispatcher } from 'undici';
import type { RefusedContent } from '../contract/failure-details';
import { redact, type Secrets } from '../contract/redact';
import { HIDDEN } from '../contract/redact-links';
import {
  bodyText,
  callService,
  refusalFault,
  refusalText,
  type ServiceCall,
  startDeadline,
} from './call-service';
import type { ServiceProfile } from './profile';
import { type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { type ReadingRules, readingRules } from './reading-rules';
import { redactAnswer } from './record-answers';
import { secretsOf } from './secrets-of-call';
import { ServiceFault } from './service-fault';
import { baseOf, type ServiceAnswer, type ServiceTimeouts, type VideoServiceOptions } from './video-service';

const AUTH = { header: 'Authorization', scheme: 'Bearer' };

/** Longer than any real host name. */
const MAX_HOST_LENGTH = 200;

/** What differs between the calls to the service. */
export type Question = Pick<ServiceCall, 'method' | 'path' | 'headers' | 'body' | 'signal'>;

/** The status that the profile gives a code of the service, which may be any word. */
export function statusOfCode({ refusals }: ServiceProfile, code = ''): number | undefined {
  const { codes = {} } = refusals ?? {};
  return Object.hasOwn(codes, code) ? codes[code] : undefined;
}

/** Answers to a poll, or for its link, that are about the task when they say that its content was refused. */
export const REFUSED_TASK_STATUSES = [400, 422, 451];

/** An answer that is not a refusal. */
export interface Answered {
  status: number;
  /** As it came: redact what is shown of it. */
  rawBody: string;
  /** Redacted, except for what must stay exact: see `redactReading`. */
  reading: TracedReading;
  secrets: Secrets;
}

/** Sends one call at a time to one service, with its key and its profile, and reads the answer. */
export class ServiceConnection {
  readonly profile: ServiceProfile;
  readonly rules: ReadingRules;
  readonly base: URL;
  private readonly keepAlive: Agent;
  private readonly freshConnections: Agent;

  constructor(
    private readonly options: VideoServiceOptions,
    private readonly timeouts: ServiceTimeouts,
  ) {
    this.profile = options.profile ?? {};
    this.rules = readingRules(this.profile);
    this.base = baseOf(options.baseUrl);
    const connect = { timeout: timeouts.connect };
    this.keepAlive = new Agent({ connect });
    // A POST on a reused connection that the service has just closed looks like a lost submit. On a fresh one it cannot.
    this.freshConnections = new Agent({ connect, pipelining: 0 });
  }

  /** Sends one call and reads its answer; a ServiceFault when the service refuses it or does not answer. */
  async ask(
    kind: ServiceAnswer['call'],
    question: Question,
    { request, taskId }: Pick<HttpAnswer, 'request' | 'taskId'> = {},
  ): Promise<Answered> {
    const key = this.readKey();
    const isSubmit = kind === 'submit';
    const path = this.basePath + question.path;
    // In small letters, so that the header of the key replaces the same header of the profile.
    const ownHeaders = Object.fromEntries(
      Object.entries(this.profile.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const secrets = secretsOf(path, [key], this.profile);
    const call: ServiceCall = {
      ...question,
      ...this.timeouts[isSubmit ? 'submit' : 'poll'],
      origin: this.base.origin,
      path,
      secrets,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'temporal-videogen',
        ...ownHeaders,
        ...this.authHeader(key),
        ...question.headers,
      },
    };
    const dispatcher = isSubmit ? this.freshConnections : this.keepAlive;
    const limitMs = this.timeouts.exchange[isSubmit ? 'submit' : 'poll'];
    const { statusCode, headers, body } = await exchange(dispatcher, call, limitMs);
    const { method, body: asked } = question;
    const sent = { method, path, ...(typeof asked === 'string' && { body: asked }) };
    this.showAnswer({ call: kind, sent, status: statusCode, headers, body }, secrets);
    const reading = traceAnswer(
      {
        status: statusCode,
        headers,
        receivedAtMs: Date.now(),
        body,
        baseUrl: this.base.href,
        request,
        taskId,
      },
      this.rules,
    );
    const status = this.statusOf(kind, statusCode, reading);
    const { refusals } = this.profile;
    const isRefusedTask = reading.refusedContent?.isCertain && REFUSED_TASK_STATUSES.includes(status);
    const isOfTask = kind === 'poll' || kind === 'link';
    const isFailedTask = isOfTask && (refusals?.failed?.includes(status) || isRefusedTask);
    if (status > 299 && !isFailedTask) {
      const redirect = describeRedirect(status, headers.location, this.base.origin);
      const { serviceMessage } = wordsOfError(reading);
      const shown = { ...serviceMessage, ...(redirect && { message: redirect }) };
      throw refusalFault({ status, body }, { ...reading, serviceMessage: shown }, secrets, {
        limited: isLimit(this.profile, status, body),
        taskMayExist: isSubmit && refusals?.taskMayExist?.includes(status),
        noTask: isSubmit && refusals?.noTask?.includes(status),
        ...(isSubmit &&
          mayBeContent(status, reading) && {
            refusedContent: refusedContentOf(redactReading(reading, secrets)),
          }),
      });
    }
    return { status, rawBody: body, reading: redactReading(wordsOfError(reading), secrets), secrets };
  }

  /** An error of the host's hook must not turn a paid answer into a lost one. */
  private showAnswer(answer: ServiceAnswer, secrets: Secrets): void {
    try {
      this.options.onAnswer?.(redactAnswer(answer, secrets));
    } catch (error) {
      process.emitWarning(redact(`onAnswer failed: ${error}`, secrets));
    }
  }

  /** The address of a path at the service. */
  urlOf(path: string): string {
    return this.base.origin + this.basePath + path;
  }

  /** What identifies us to the service. */
  headers(): Record<string, string> {
    return { ...this.profile.headers, ...this.authHeader(this.readKey()) };
  }

  secrets(): Secrets {
    return secretsOf('', [this.readKey()], this.profile);
  }

  redactHost(hostname: string): string {
    try {
      return redact(hostname, this.secrets(), MAX_HOST_LENGTH);
    } catch {
      // Without the key nothing can be redacted, and nothing would catch an error thrown from a DNS lookup.
      return HIDDEN;
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.keepAlive.destroy(), this.freshConnections.destroy()]);
  }

  private get basePath(): string {
    return this.base.pathname.replace(/\/$/, '');
  }

  private authHeader(key: string): Record<string, string> {
    const { header, scheme } = { ...AUTH, ...this.profile.auth };
    return { [header.toLowerCase()]: scheme === '' ? key : `${scheme} ${key}` };
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

  /** Some services answer everything with 200 and refuse by a code in the body. */
  private statusOf(kind: ServiceAnswer['call'], httpStatus: number, reading: TracedReading): number {
    const byCode = statusOfCode(this.profile, reading.serviceMessage.code);
    const inBody = kind === 'submit' && reading.taskId === undefined ? reading.refusal?.status : undefined;
    return byCode ?? inBody ?? httpStatus;
  }
}

/** Whether an answer asks for fewer requests. */
export function isLimit({ refusals }: ServiceProfile, status: number, body: string): boolean {
  if (status === 429) return true;
  const { limited = [] } = refusals ?? {};
  return limited.some((limit) => limit.status === status && body.includes(limit.says ?? ''));
}

/** Headers and body of one answer, within one deadline. */
async function exchange(dispatcher: Dispatcher, call: ServiceCall, limitMs: number) {
  const { signal, lift } = startDeadline(limitMs, call.signal);
  try {
    const answer = await callService(dispatcher, { ...call, signal });
    const { statusCode, headers } = answer;
    const readText = statusCode > 299 ? refusalText : bodyText;
    return { statusCode, headers, body: await readText(answer, { ...call, signal }) };
  } finally {
    lift();
  }
}

/** A refusal for content may have a more telling code than the one that is usually read, and a reason in place of a message. */
export function wordsOfError(reading: TracedReading): TracedReading {
  const { code, message } = reading.refusedContent ?? {};
  return {
    ...reading,
    serviceMessage: {
      ...reading.serviceMessage,
      ...(code !== undefined && { code }),
      ...(message !== undefined && { message }),
    },
  };
}

/** Most services answer 403 to accounts that they have blocked, and say so in similar words. */
export function mayBeContent(status: number, { refusedContent }: TracedReading): boolean {
  return refusedContent !== undefined && (status !== 403 || refusedContent.isCertain);
}

/** What may be told about refused content. */
export function refusedContentOf({ refusedContent }: TracedReading): RefusedContent | undefined {
  if (refusedContent === undefined) return undefined;
  const { isCertain: _, code: __, message: ___, ...refused } = refusedContent;
  return refused;
}

/** Ids and links must stay exact, so they are not redacted: video-service.ts refuses or redacts those that it shows. */
export function redactReading(reading: TracedReading, secrets: Secrets): TracedReading {
  const {
    task,
    serviceMessage: { code, message },
    doubts,
    refusedContent,
  } = reading;
  return {
    ...reading,
    doubts: doubts.map((doubt) => redact(doubt, secrets)),
    task: { ...task, word: redact(task.word, secrets) },
    ...(refusedContent?.field !== undefined && {
      refusedContent: { ...refusedContent, field: redact(refusedContent.field, secrets) },
    }),
    serviceMessage: {
      ...(code !== undefined && { code: redact(code, secrets) }),
      ...(message !== undefined && { message: redact(message, secrets) }),
    },
  };
}

/** Without the path of the target, which may contain a token. */
function describeRedirect(status: number, location: unknown, origin: string): string | undefined {
  if (status > 399 || typeof location !== 'string' || !URL.canParse(location, origin)) return undefined;
  const target = new URL(location, origin);
  return target.origin === origin
    ? 'it redirects to another path of the service'
    : `it redirects to ${target.protocol}//${target.host}`;
}
