import type { Readable } from 'node:stream';
import { Agent, DecoratorHandler, type Dispatcher } from 'undici';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { callService, refusalText, startDeadline } from './call-service';
import { decodeBody, encodingOf } from './decode-body';
import { createGuardedConnector, hostMatcher } from './guarded-connector';
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
  /** Whether the operator allows this host. */
  isAllowed: (hostname: string) => boolean;
}

const ALLOW = 'VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service,';

/** Videos have an agent of their own, so that none is fetched over a connection whose address was not checked. */
export function createVideoSource(options: VideoSourceOptions): VideoSource {
  const { base, downloadAllow, timeouts } = options;
  const connect = createGuardedConnector({
    timeout: timeouts.connect,
    // The service's own host is trusted like the service itself, and so are the hosts that the operator allows.
    mayBePrivate: hostMatcher([base.hostname, ...downloadAllow]),
    describe: (target, kind) =>
      `the link leads to ${target}, a ${kind} address: add the host to ${ALLOW} if videos really come from there`,
  });
  return { ...options, isAllowed: hostMatcher(downloadAllow), dispatcher: new Agent({ connect }) };
}

/** Throws for a link that is neither https nor allowed to be http. */
export function checkScheme(
  { protocol, hostname }: URL,
  { base, isAllowed }: VideoSource,
  secrets: Secrets,
): void {
  if (protocol === 'https:') return;
  if (protocol === 'http:' && (base.protocol === 'http:' || isAllowed(hostname))) return;
  const host = redact(hostname, secrets) || 'its host';
  throw new ServiceFault('not-allowed', {
    message: `the link is not https: add ${host} to ${ALLOW} if videos may come from there unencrypted`,
  });
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
  source: VideoSource,
  signal: AbortSignal | undefined,
  point?: ResumePoint,
): Promise<Dispatcher.ResponseData> {
  const { dispatcher, base, serviceHeaders, secrets } = source;
  const { video: timeouts } = source.timeouts;
  let url = new URL(link, base);
  let isAtService = true;
  for (let redirects = 0; ; redirects++) {
    // Once a redirect has left the service's origin, no later request carries the key, even one that leads back.
    isAtService &&= url.origin === base.origin;
    // A user name and password in the link are not sent: neither is part of the origin or the path.
    const path = url.pathname + url.search;
    const linkSecrets = secretsOfLink(path, secrets());
    checkScheme(url, source, linkSecrets);
    let body: Readable | undefined;
    const failingAfterRead = dispatcher.compose(
      (dispatch) => (options, handler) => dispatch(options, new FailAfterRead(handler, () => body)),
    );
    const answer = await callService(failingAfterRead, {
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
    body = answer.body;
    const { statusCode: status, headers } = answer;
    if (status < 300 || (point && status === RANGE_NOT_SATISFIABLE)) return answer;
    const text = await refusalText(answer, { signal, secrets: linkSecrets, ...timeouts });
    if (isRedirect(answer) && redirects < MAX_REDIRECTS) {
      url = redirectTarget(answer, url);
    } else {
      const reading = traceAnswer({ status, headers, receivedAtMs: Date.now(), body: text });
      throw refusalFault('download', { status, rawBody: text, reading, secrets: linkSecrets });
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
    const { etag } = headers;
    // It goes into heartbeats, which must not contain the key.
    const validator = isStrongTag(etag) && !isTainted(etag, secrets) ? etag : undefined;
    const contentType = headers['content-type']?.toString();
    return { stream: body, contentType, offset: 0, bytes, validator };
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

type Headers = Dispatcher.ResponseData['headers'];

/** Whether a server can be asked to resume here. Another version may have recorded a point that it cannot. */
function isResumable({ offset, validator }: ResumePoint): boolean {
  return Number.isSafeInteger(offset) && offset > 0 && isStrongTag(validator);
}

/** Requests the rest of the video, or all of it if it has changed. */
function rangeHeaders({ offset, validator }: ResumePoint): Record<string, string> {
  return { range: `bytes=${offset}-`, 'if-range': validator };
}

/**
 * The length of the whole video if a 206 has exactly the rest from this point; undefined otherwise. A 206 without a total
 * is rejected, because it may not reach the end.
 */
function totalOfRest(headers: Headers, { offset, validator }: ResumePoint): number | undefined {
  const {
    'content-range': range,
    'content-type': type,
    'content-length': length,
    etag = validator,
  } = headers;
  if (/^multipart\/byteranges/i.test(String(type ?? ''))) return undefined;
  const [, first, last, whole] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(String(range)) ?? [];
  const total = Number(whole);
  const isRest =
    Number(first) === offset && Number(last) === total - 1 && Number.isSafeInteger(total) && total > offset;
  const fits = length === undefined || length === String(total - offset);
  return isRest && fits && etag === validator ? total : undefined;
}

/** A weak ETag does not promise the same bytes. */
function isStrongTag(value: unknown): value is string {
  return typeof value === 'string' && /^"[\x21\x23-\x7e]*"$/.test(value);
}

/**
 * When a connection breaks, undici drops the bytes that have arrived but were not read. A resumed download needs them, so
 * the error is passed on only after all of them have been read.
 */
class FailAfterRead extends DecoratorHandler {
  constructor(
    private readonly inner: Dispatcher.DispatchHandler,
    private readonly bodyOf: () => Readable | undefined,
  ) {
    super(inner);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    const fail = () => this.inner.onResponseError?.(controller, error);
    const body = this.bodyOf();
    // A destroyed body is not read any further.
    if (body === undefined || body.destroyed || body.readableLength === 0) {
      fail();
      return;
    }
    const { read } = body;
    body.read = (size?: number) => {
      const chunk: unknown = read.call(body, size);
      if (chunk === null && body.readableLength === 0) {
        body.read = read;
        fail();
      }
      return chunk;
    };
  }
}
