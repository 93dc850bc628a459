import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Secrets } from '../contract/find-secrets';
import { isTainted, redact } from '../contract/redact';
import { type AnswerTimeouts, callService, refusal, refusalText } from './call-service';
import { decodeBody, encodingOf } from './decode-body';
import type { DownloadRules } from './download-rules';
import { startDeadline } from './exchange-deadline';
import { traceAnswer } from './read-answer';
import { ReadOutFirst } from './read-out-first';
import { secretsOfLink } from './secrets-of-call';
import { ServiceFault } from './service-fault';
import { isResumable, type ResumePoint, rangeHeaders, totalOfRest, validatorOf } from './video-range';

const MOST_REDIRECTS = 5;
const LONGEST_ENCODING = 50;
/** With the usual 64 KiB the socket is stopped and started for every piece; a large video took a tenth longer. */
const READ_AHEAD_BYTES = 1024 * 1024;

const PARTIAL = 206;
const NO_SUCH_RANGE = 416;
/** 203 is a 200 that a proxy has passed on. */
const WHOLE = [200, 203];

export interface VideoBody {
  /** Decoded, if the server insisted on an encoding. */
  stream: Readable;
  contentType: string;
  /** Where in the video the stream begins: the offset that was asked for, or 0 when the server starts over. */
  offset: number;
  /** The length of the whole video; undefined when the server did not say. */
  bytes: number | undefined;
  /**
   * With which another request may go on within the same content: a strong ETag, or else a Last-Modified date;
   * undefined when it cannot.
   */
  validator: string | undefined;
  /** In which encoding the server sent it. */
  encoding?: string;
}

export interface VideoSource {
  dispatcher: Dispatcher;
  /** The service's own address. */
  base: URL;
  rules: Pick<DownloadRules, 'checkScheme'>;
  /** What identifies us, for the service's own origin alone. */
  homeHeaders: () => Record<string, string>;
  secrets: () => Secrets;
  timeouts: AnswerTimeouts;
  /** Milliseconds until the first byte of a video has come, redirects included. */
  openWithinMs: number;
}

export interface OpenVideoOptions {
  signal?: AbortSignal;
  /** Where to go on with a video of which a part is there. */
  from?: ResumePoint;
}

/** The video behind a link, or the rest of it, with its body still to read. */
export async function openVideo(
  link: string,
  source: VideoSource,
  { signal: cancellation, from }: OpenVideoOptions = {},
): Promise<VideoBody> {
  const { signal, lift } = startDeadline(source.openWithinMs, cancellation);
  try {
    return await openWithin(link, source, { signal, from });
  } finally {
    // How fast the video itself comes is for its reader to watch.
    lift();
  }
}

async function openWithin(
  link: string,
  source: VideoSource,
  { signal, from }: OpenVideoOptions,
): Promise<VideoBody> {
  const point = from && isResumable(from) ? from : undefined;
  const answer = await askForVideo(link, source, signal, point);
  const { statusCode: status, headers } = answer;
  if (WHOLE.includes(status)) return wholeVideo(answer, source.secrets());
  const total = point && status === PARTIAL && !encodingOf(headers) && totalOfRest(headers, point);
  if (total) return { ...bodyOf(answer), offset: point.offset, bytes: total, validator: point.validator };
  letGo(answer);
  if (status !== PARTIAL && status !== NO_SUCH_RANGE) throw notAVideo(answer);
  // A part that does not continue what is there is of no use: the video is asked for as if nothing were there.
  const startedOver = await askForVideo(link, source, signal);
  if (WHOLE.includes(startedOver.statusCode)) return wholeVideo(startedOver, source.secrets());
  letGo(startedOver);
  throw notAVideo(startedOver);
}

/** Redirects are followed by hand: each may lead where we must not go, and the key must not follow. */
async function askForVideo(
  link: string,
  { dispatcher, base, rules, homeHeaders, secrets, timeouts }: VideoSource,
  signal: AbortSignal | undefined,
  point?: ResumePoint,
): Promise<Dispatcher.ResponseData> {
  let url = new URL(link, base);
  let atHome = true;
  for (let redirects = 0; ; redirects++) {
    rules.checkScheme(url);
    // The key is for the service's own origin and for no other, nor for whoever was led back from another.
    atHome &&= url.origin === base.origin;
    // A name and a password in the link stay behind, because neither is in its origin or its path.
    const path = url.pathname + url.search;
    const carried = secretsOfLink(path, secrets());
    const readOut = new ReadOutFirst();
    const answer = await callService(dispatcher.compose(readOut.interceptor), {
      method: 'GET',
      origin: url.origin,
      path,
      headers: {
        ...(atHome && homeHeaders()),
        'accept-encoding': 'identity',
        ...(point && rangeHeaders(point)),
      },
      signal,
      highWaterMark: READ_AHEAD_BYTES,
      secrets: carried,
      ...timeouts,
    });
    readOut.watch(answer.body);
    const { statusCode: status, headers } = answer;
    if (status < 300 || (point && status === NO_SUCH_RANGE)) return answer;
    const body = await refusalText(answer, { signal, ...timeouts });
    if (isRedirect(answer) && redirects < MOST_REDIRECTS) {
      url = redirectTarget(answer, url);
    } else {
      const reading = traceAnswer({ status, headers, receivedAtMs: Date.now(), body });
      throw refusal({ status, body }, reading, carried);
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
  throw new ServiceFault('answered', { status: statusCode, message: 'a redirect that leads nowhere' });
}

function wholeVideo(answer: Dispatcher.ResponseData, secrets: Secrets): VideoBody {
  const { headers, statusCode } = answer;
  const plain = bodyOf(answer);
  const encoding = encodingOf(headers);
  if (encoding === undefined) {
    const length = /^\d+$/.test(String(headers['content-length'])) ? Number(headers['content-length']) : NaN;
    const bytes = Number.isSafeInteger(length) ? length : undefined;
    const validator = validatorOf(headers);
    // It is noted in heartbeats.
    const isKept = validator !== undefined && !isTainted(validator, secrets);
    return { ...plain, offset: 0, bytes, validator: isKept ? validator : undefined };
  }
  const stream = decodeBody(plain.stream, encoding);
  if (stream) {
    // The length and the offsets of the encoding are not those of the video.
    return { ...plain, stream: quiet(stream), offset: 0, bytes: undefined, validator: undefined, encoding };
  }
  letGo(answer);
  throw new ServiceFault('unreadable', {
    status: statusCode,
    message: `the video is sent in the encoding ${redact(encoding, secrets, LONGEST_ENCODING)}, which is not known here`,
  });
}

function bodyOf({ headers, body }: Dispatcher.ResponseData): Pick<VideoBody, 'stream' | 'contentType'> {
  return {
    stream: quiet(body),
    contentType: String(headers['content-type'] ?? 'application/octet-stream'),
  };
}

function notAVideo({ statusCode: status }: Dispatcher.ResponseData): ServiceFault {
  const message =
    status === PARTIAL
      ? 'the link answered with a part of the video when the whole was asked for'
      : `the link answered with status ${status}, which brings no video`;
  return new ServiceFault('unreadable', { status, message });
}

function letGo({ body }: Dispatcher.ResponseData): void {
  quiet(body).destroy();
}

/** A stream that nobody listens to yet, or any more, must not end the process when it fails. Readers still see it fail. */
function quiet(stream: Readable): Readable {
  return stream.on('error', () => undefined);
}
