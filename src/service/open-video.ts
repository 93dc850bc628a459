import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { type AnswerTimeouts, callService, refusalFault, refusalText, startDeadline } from './call-service';
import { decodeBody, encodingOf } from './decode-body';
import type { DownloadRules } from './download-rules';
import { FailAfterRead } from './fail-after-read';
import { traceAnswer } from './read-answer';
import { secretsOfLink } from './secrets-of-call';
import { ServiceFault } from './service-fault';
import { isResumable, type ResumePoint, rangeHeaders, totalOfRest, validatorOf } from './video-range';

const MAX_REDIRECTS = 5;
const MAX_ENCODING_LENGTH = 50;
/** With the default of 64 KiB the socket stops and starts for every chunk; a large video took a tenth longer. */
const READ_AHEAD_BYTES = 1024 * 1024;

const PARTIAL = 206;
const RANGE_NOT_SATISFIABLE = 416;
/** 203 is a 200 that a proxy has changed. */
const WHOLE = [200, 203];

/** The body of a video, still to be read. */
export interface VideoBody {
  /** Already decoded if the server sent an encoding. */
  stream: Readable;
  contentType: string;
  /** Where in the video the stream begins: the requested offset, or 0 when the server starts over. */
  offset: number;
  /** The length of the whole video; undefined when the server does not say. */
  bytes: number | undefined;
  /** A strong ETag, or else a Last-Modified date, that another request can resume with; undefined when it cannot. */
  validator: string | undefined;
  /** The encoding in which the server sent it. */
  encoding?: string;
}

export interface VideoSource {
  dispatcher: Dispatcher;
  /** The service's own address. */
  base: URL;
  rules: Pick<DownloadRules, 'checkScheme'>;
  /** The API key and the profile's headers, only for the service's own origin. */
  serviceHeaders: () => Record<string, string>;
  secrets: () => Secrets;
  timeouts: AnswerTimeouts;
  /** Milliseconds until the headers of the video have come, redirects included. */
  openWithinMs: number;
}

export interface OpenVideoOptions {
  signal?: AbortSignal;
  /** Where to resume a video of which a part is stored. */
  from?: ResumePoint;
}

/** Requests the video behind a link, or the rest of it, and returns at its headers. */
export async function openVideo(
  link: string,
  source: VideoSource,
  { signal: cancellation, from }: OpenVideoOptions = {},
): Promise<VideoBody> {
  const { signal, lift } = startDeadline(source.openWithinMs, cancellation);
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
  if (total) return { ...bodyOf(answer), offset: point.offset, bytes: total, validator: point.validator };
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
  { dispatcher, base, rules, serviceHeaders, secrets, timeouts }: VideoSource,
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
      throw refusalFault({ status, body }, reading, linkSecrets);
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
  const plain = bodyOf(answer);
  const encoding = encodingOf(headers);
  if (encoding === undefined) {
    const length = /^\d+$/.test(String(headers['content-length'])) ? Number(headers['content-length']) : NaN;
    const bytes = Number.isSafeInteger(length) ? length : undefined;
    const validator = validatorOf(headers);
    // It goes into heartbeats, which must not contain the key.
    const isSafe = validator !== undefined && !isTainted(validator, secrets);
    return { ...plain, offset: 0, bytes, validator: isSafe ? validator : undefined };
  }
  const stream = decodeBody(plain.stream, encoding);
  if (stream) {
    // The length and the offsets of the encoded bytes are not those of the video.
    return {
      ...plain,
      stream: ignoreErrors(stream),
      offset: 0,
      bytes: undefined,
      validator: undefined,
      encoding,
    };
  }
  discard(answer);
  throw new ServiceFault('unreadable', {
    status: statusCode,
    message: `the video is encoded as ${redact(encoding, secrets, MAX_ENCODING_LENGTH)}, which is not supported`,
  });
}

function bodyOf({ headers, body }: Dispatcher.ResponseData): Pick<VideoBody, 'stream' | 'contentType'> {
  return {
    stream: ignoreErrors(body),
    contentType: String(headers['content-type'] ?? 'application/octet-stream'),
  };
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
