import type { Readable } from 'node:stream';
import { Agent, DecoratorHandler, type Dispatcher } from 'undici';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { HIDDEN } from '../contract/redact-links';
import { callService, refusalText, startDeadline } from './call-service';
import { decodeBody, encodingOf } from './decode-body';
import { createDownloadRules, createVideoConnector, type DownloadRules } from './download-rules';
import { traceAnswer } from './read-answer';
import { secretsOfLink } from './secrets-of-call';
import { refusalFault, ServiceFault } from './service-fault';
import type { OpenVideoOptions, ResumePoint, ServiceTimeouts, VideoBody } from './video-service';

const MAX_REDIRECTS = 5;
const MAX_ENCODING_LENGTH = 50;
/** With the default of 64 KiB the socket stops and starts for every chunk; a large video took a tenth longer. */
const READ_AHEAD_BYTES = 1024 * 1024;

const PARTIAL = 206;
const RANGE_NOT_SATISFIABLE = 416;
/** 203 is a 200 that a proxy has changed. */
const WHOLE = [200, 203];

export interface VideoSourceOptions {
  /** The service's own address. */
  base: URL;
  downloadAllow: readonly string[];
  timeouts: ServiceTimeouts;
  /** The API key and the profile's headers, only for the service's own origin. */
  serviceHeaders: () => Record<string, string>;
  secrets: () => Secrets;
}

export interface VideoSource extends VideoSourceOptions {
  dispatcher: Agent;
  rules: DownloadRules;
}

/** Longer than any real host name. */
const MAX_HOST_LENGTH = 200;

/** Videos have an agent of their own, so that none is fetched over a connection whose address was not checked. */
export function createVideoSource(options: VideoSourceOptions): VideoSource {
  const redactHost = (hostname: string) => {
    try {
      return redact(hostname, options.secrets(), MAX_HOST_LENGTH) || HIDDEN;
    } catch {
      // Without the key nothing can be redacted, and nothing would catch an error thrown from a DNS lookup.
      return HIDDEN;
    }
  };
  const rules = createDownloadRules(options.base, options.downloadAllow, redactHost);
  const { connect: timeout } = options.timeouts;
  const connect = createVideoConnector({ timeout, mayBePrivate: rules.mayBePrivate, redactHost });
  return { ...options, rules, dispatcher: new Agent({ connect }) };
}

/** Requests the video behind a link, or the rest of it, and returns at its headers. */
export async function openVideo(
  link: string,
  source: VideoSource,
  { signal: cancellation, from }: OpenVideoOptions = {},
): Promise<VideoBody> {
  const { signal, lift } = startDeadline(source.timeouts.exchange.video, cancellation);
  try {
    return await openWithin(link, source, { signal, from });
  } finally {
    // The reader of the stream watches how fast the video itself comes.
    lift();
  }
}

async function openWithin(
  link: string,
  source: VideoSource,
  { signal, from }: OpenVideoOptions,
): Promise<VideoBody> {
  const point = from && isResumable(from) ? from : undefined;
  const answer = await requestVideo(link, source, signal, point);
  const { statusCode: status, headers } = answer;
  if (WHOLE.includes(status)) return wholeVideo(answer, source.secrets());
  const total = point && status === PARTIAL && !encodingOf(headers) && totalOfRest(headers, point);
  if (total)
    return {
      stream: ignoreErrors(answer.body),
      offset: point.offset,
      bytes: total,
      validator: point.validator,
    };
  discard(answer);
  if (status !== PARTIAL && status !== RANGE_NOT_SATISFIABLE) throw noVideoFault(answer);
  // The part does not continue the stored bytes, so the whole video is requested.
  const startedOver = await requestVideo(link, source, signal);
  if (WHOLE.includes(startedOver.statusCode)) return wholeVideo(startedOver, source.secrets());
  discard(startedOver);
  throw noVideoFault(startedOver);
}

/** Follows redirects by hand: each target is checked, and the key is never sent to another origin. */
async function requestVideo(
  link: string,
  { dispatcher, base, rules, serviceHeaders, secrets, timeouts: { video: timeouts } }: VideoSource,
  signal: AbortSignal | undefined,
  point?: ResumePoint,
): Promise<Dispatcher.ResponseData> {
  let url = new URL(link, base);
  let isAtService = true;
  for (let redirects = 0; ; redirects++) {
    rules.checkScheme(url);
    // Once a redirect has left the service's origin, no later request carries the key, even one that leads back.
    isAtService &&= url.origin === base.origin;
    // A user name and password in the link are not sent: neither is part of the origin or the path.
    const path = url.pathname + url.search;
    const linkSecrets = secretsOfLink(path, secrets());
    const failAfterRead = new FailAfterRead();
    const answer = await callService(dispatcher.compose(failAfterRead.interceptor), {
      method: 'GET',
      origin: url.origin,
      path,
      headers: {
        ...(isAtService && serviceHeaders()),
        'accept-encoding': 'identity',
        ...(point && rangeHeaders(point)),
      },
      signal,
      highWaterMark: READ_AHEAD_BYTES,
      secrets: linkSecrets,
      ...timeouts,
    });
    failAfterRead.watch(answer.body);
    const { statusCode: status, headers } = answer;
    if (status < 300 || (point && status === RANGE_NOT_SATISFIABLE)) return answer;
    const body = await refusalText(answer, { signal, secrets: linkSecrets, ...timeouts });
    if (isRedirect(answer) && redirects < MAX_REDIRECTS) {
      url = redirectTarget(answer, url);
    } else {
      const reading = traceAnswer({ status, headers, receivedAtMs: Date.now(), body });
      throw refusalFault('download', { status, rawBody: body, reading, secrets: linkSecrets });
    }
  }
}

function isRedirect({ statusCode, headers }: Dispatcher.ResponseData): boolean {
  return statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
}

function redirectTarget({ statusCode, headers }: Dispatcher.ResponseData, from: URL): URL {
  const { location } = headers;
  if (typeof location === 'string' && URL.canParse(location, from.href)) {
    const target = new URL(location, from);
    if (/^https?:$/.test(target.protocol)) return target;
  }
  throw new ServiceFault('answered', {
    status: statusCode,
    message: 'the redirect does not lead to an http address',
  });
}

function wholeVideo(answer: Dispatcher.ResponseData, secrets: Secrets): VideoBody {
  const { headers, statusCode } = answer;
  const body = ignoreErrors(answer.body);
  const encoding = encodingOf(headers);
  if (encoding === undefined) {
    const length = /^\d+$/.test(String(headers['content-length'])) ? Number(headers['content-length']) : NaN;
    const bytes = Number.isSafeInteger(length) ? length : undefined;
    const validator = validatorOf(headers);
    // It goes into heartbeats, which must not contain the key.
    const isSafe = validator !== undefined && !isTainted(validator, secrets);
    const contentType = headers['content-type']?.toString();
    return { stream: body, contentType, offset: 0, bytes, validator: isSafe ? validator : undefined };
  }
  const stream = decodeBody(body, encoding);
  if (stream) {
    // The length and the offsets of the encoded bytes are not those of the video.
    return { stream: ignoreErrors(stream), offset: 0, encoding };
  }
  discard(answer);
  throw new ServiceFault('unreadable', {
    status: statusCode,
    message: `the video is encoded as ${redact(encoding, secrets, MAX_ENCODING_LENGTH)}, which is not supported`,
  });
}

function noVideoFault({ statusCode: status }: Dispatcher.ResponseData): ServiceFault {
  const message =
    status === PARTIAL
      ? 'the link answered with a part of the video when all of it was requested'
      : `the link answered with status ${status}, which has no video`;
  return new ServiceFault('unreadable', { status, message });
}

function discard({ body }: Dispatcher.ResponseData): void {
  ignoreErrors(body).destroy();
}

/** An error of a stream without a listener would end the process. Readers still get the error. */
function ignoreErrors(stream: Readable): Readable {
  return stream.on('error', () => undefined);
}

const SECOND = 1_000;

type Headers = Dispatcher.ResponseData['headers'];

/** Whether a server can be asked to resume here. Another version may have recorded a point that it cannot. */
function isResumable({ offset, validator }: ResumePoint): boolean {
  return Number.isSafeInteger(offset) && offset > 0 && (isStrongTag(validator) || isHttpDate(validator));
}

/** Requests the rest of the video, or all of it if it has changed. */
function rangeHeaders({ offset, validator }: ResumePoint): Record<string, string> {
  return { range: `bytes=${offset}-`, 'if-range': validator };
}

/** What another request can use to resume within the same bytes. A weak ETag does not promise the same bytes. */
function validatorOf({ etag, 'last-modified': modified, date }: Headers): string | undefined {
  if (isStrongTag(etag)) return etag;
  // RFC 9110, 8.8.2.2: a file that changed within the second of the answer may change again within that second.
  const isOldEnough =
    isHttpDate(modified) && isHttpDate(date) && Date.parse(date) - Date.parse(modified) >= SECOND;
  return isOldEnough ? modified : undefined;
}

/**
 * The length of the whole video if a 206 has exactly the rest from this point; undefined otherwise. A 206 without a total
 * is rejected, because it may not reach the end.
 */
function totalOfRest(headers: Headers, { offset, validator }: ResumePoint): number | undefined {
  const { 'content-range': range, 'content-type': type, 'content-length': length } = headers;
  if (/^multipart\/byteranges/i.test(String(type ?? ''))) return undefined;
  const [, first, last, whole] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(String(range)) ?? [];
  const total = Number(whole);
  const isRest =
    Number(first) === offset && Number(last) === total - 1 && Number.isSafeInteger(total) && total > offset;
  const fits = length === undefined || length === String(total - offset);
  return isRest && fits && isSameVideo(headers, validator) ? total : undefined;
}

function isSameVideo({ etag, 'last-modified': modified }: Headers, validator: string): boolean {
  const current = isHttpDate(validator) ? modified : etag;
  return current === undefined || current === validator;
}

function isStrongTag(value: unknown): value is string {
  return typeof value === 'string' && /^"[\x21\x23-\x7e]*"$/.test(value);
}

/** In the one form that servers must send. */
function isHttpDate(value: unknown): value is string {
  return typeof value === 'string' && new Date(value).toUTCString() === value && value !== 'Invalid Date';
}

/**
 * When a connection breaks, undici drops the bytes that have arrived but were not read. A resumed download needs them, so
 * the error is passed on only after all of them have been read.
 */
class FailAfterRead {
  private body: Readable | undefined;
  private fail: (() => void) | undefined;

  /** Compose it into the dispatcher of one request. */
  readonly interceptor: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
    dispatch(options, new DelayedFailure(handler, (fail) => this.onFailure(fail)));

  /** Call it with the body of that request as soon as it is there. */
  watch(body: Readable): void {
    this.body = body;
    const read = body.read.bind(body);
    body.read = (size?: number) => {
      const chunk: unknown = read(size);
      if (chunk === null) this.failWhenEmpty();
      return chunk;
    };
  }

  private onFailure(fail: () => void): void {
    this.fail = fail;
    this.failWhenEmpty();
  }

  private failWhenEmpty(): void {
    const { body, fail } = this;
    // A destroyed body is not read any further.
    const isRead = body === undefined || body.destroyed || body.readableLength === 0;
    if (fail === undefined || !isRead) return;
    this.fail = undefined;
    fail();
  }
}

class DelayedFailure extends DecoratorHandler {
  constructor(
    private readonly inner: Dispatcher.DispatchHandler,
    private readonly onFailure: (fail: () => void) => void,
  ) {
    super(inner);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.onFailure(() => this.inner.onResponseError?.(controller, error));
  }
}
