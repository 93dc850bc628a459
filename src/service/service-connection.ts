import { Agent, type Dispatcher } from 'undici';
import { redact, type Secrets } from '../contract/redact';
import { bodyText, callService, refusalText, type ServiceCall, startDeadline } from './call-service';
import type { ServiceProfile } from './profile';
import { type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { type ReadingRules, readingRules } from './reading-rules';
import { redactAnswer } from './record-answers';
import { secretsOf } from './secrets-of-call';
import { type ReadAnswer, redactReading, refusalFault, ServiceFault, statusOfCode } from './service-fault';
import { baseOf, type ServiceAnswer, type ServiceTimeouts, type VideoServiceOptions } from './video-service';

const AUTH = { header: 'Authorization', scheme: 'Bearer' };

/** What differs between the calls to the service. */
export type Question = Pick<ServiceCall, 'method' | 'path' | 'headers' | 'body' | 'signal'>;

/** Answers to a poll, or for its link, that are about the task when they say that its content was refused. */
export const REFUSED_TASK_STATUSES = [400, 422, 451];

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
  ): Promise<ReadAnswer> {
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
    const answer = { status, rawBody: body, reading, secrets };
    if (status > 299 && !isFailedTask) {
      const message = describeRedirect(status, headers.location, this.base.origin);
      const shown = message ? { ...reading, serviceMessage: { message } } : reading;
      throw refusalFault(isSubmit ? 'submit' : 'poll', { ...answer, reading: shown }, this.profile);
    }
    return { ...answer, reading: redactReading(reading, secrets) };
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

/** Without the path of the target, which may contain a token. */
function describeRedirect(status: number, location: unknown, origin: string): string | undefined {
  if (status > 399 || typeof location !== 'string' || !URL.canParse(location, origin)) return undefined;
  const target = new URL(location, origin);
  return target.origin === origin
    ? 'it redirects to another path of the service'
    : `it redirects to ${target.protocol}//${target.host}`;
}
