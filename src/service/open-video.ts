import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { bodyText, callService, encodingOf, startDeadline } from './call-service';
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

export type VideoSource = ReturnType<typeof createVideoSource>;

const ALLOW = 'VIDEOGEN_DOWNLOAD_ALLOW, or to downloadAllow of the service,';

/** Videos have an agent of their own, so that none is fetched over a connection whose address was not checked. */
export function createVideoSource(options: VideoSourceOptions) {
  const { base, downloadAllow, timeouts } = options;
  const connect = createGuardedConnector({
    timeout: timeouts.connect,
    // The service's own host is trusted like the service itself, and so are the hosts that the operator allows.
    mayBePrivate: hostMatcher([base.hostname, ...downloadAllow]),
    describe: (target, kind) =>
      `the link leads to ${target}, a ${kind} address: add the host to ${ALLOW} if videos really come from there`,
  });
  // Allowed are the hosts that the operator names.
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
  const { signal, lift } = startDeadline(source.timeouts.video, cancellation);
  try {
    const point = from && isResumable(from) ? from : undefined;
    let answer = await requestVideo(link, source, signal, point);
    if (answer.statusCode === PARTIAL || answer.statusCode === RANGE_NOT_SATISFIABLE) {
      const rest = point && restOfVideo(answer, point);
      if (rest) return rest;
      discard(answer);
      // The part does not continue the stored bytes, so the whole video is requested.
      answer = await requestVideo(link, source, signal);
    }
    return wholeVideo(answer, source.secrets());
  } finally {
    // The reader of the stream watches how fast the video itself comes.
    lift();
  }
}

/** Follows redirects by hand: each target is checked, and the key is never sent to another origin. */
async function requestVideo(
  link: string,
  source: VideoSource,
  signal: AbortSignal | undefined,
  point?: ResumePoint,
): Promise<Dispatcher.ResponseData> {
  const { dispatcher, base, serviceHeaders, secrets } = source;
  let url = new URL(link, base);
  let isAtService = true;
  for (let redirects = 0; ; redirects++) {
    // Once a redirect has left the service's origin, no later request carries the key, even one that leads back.
    isAtService &&= url.origin === base.origin;
    // A user name and password in the link are not sent: neither is part of the origin or the path.
    const path = url.pathname + url.search;
    const linkSecrets = secretsOfLink(path, secrets());
    checkScheme(url, source, linkSecrets);
    const answer = await callService(dispatcher, {
      method: 'GET',
      origin: url.origin,
      path,
      headers: {
        ...(isAtService && serviceHeaders()),
        'accept-encoding': 'identity',
        // The rest of the video, or all of it if it has changed.
        ...(point && { range: `bytes=${point.offset}-`, 'if-range': point.validator }),
      },
      signal,
      highWaterMark: READ_AHEAD_BYTES,
      secrets: linkSecrets,
    });
    const { statusCode: status, headers } = answer;
    if (status < 300 || (point && status === RANGE_NOT_SATISFIABLE)) return answer;
    if (status < 400 && headers.location !== undefined && redirects < MAX_REDIRECTS) {
      discard(answer);
      url = redirectTarget(answer, url);
    } else {
      const text = await bodyText(answer, { signal, secrets: linkSecrets });
      const reading = traceAnswer({ status, headers, receivedAtMs: Date.now(), body: text });
      throw refusalFault('download', { status, rawBody: text, reading, secrets: linkSecrets });
    }
  }
}

function redirectTarget({ statusCode, headers }: Dispatcher.ResponseData, from: URL): URL {
  const location = String(headers.location);
  const target = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (target && /^https?:$/.test(target.protocol)) return target;
  throw new ServiceFault('answered', {
    status: statusCode,
    message: 'the redirect does not lead to an http address',
  });
}

function wholeVideo(answer: Dispatcher.ResponseData, secrets: Secrets): VideoBody {
  const { headers, statusCode: status, body } = answer;
  const encoding = encodingOf(headers);
  if (!WHOLE.includes(status) || encoding !== undefined) {
    discard(answer);
    const message =
      encoding === undefined
        ? `the link answered with status ${status} when all of the video was requested`
        : `the video is encoded as ${redact(encoding, secrets, MAX_ENCODING_LENGTH)}, which was not requested`;
    throw new ServiceFault('unreadable', { status, message });
  }
  const length = /^\d+$/.test(String(headers['content-length'])) ? Number(headers['content-length']) : NaN;
  const { etag } = headers;
  return {
    stream: readToBreak(body),
    contentType: headers['content-type']?.toString(),
    offset: 0,
    bytes: Number.isSafeInteger(length) ? length : undefined,
    // It goes into heartbeats, which must not contain the key.
    validator: isStrongTag(etag) && !isTainted(etag, secrets) ? etag : undefined,
  };
}

function discard({ body }: Dispatcher.ResponseData): void {
  ignoreErrors(body).destroy();
}

/** An error of a stream without a listener would end the process. Readers still get the error. */
function ignoreErrors(stream: Readable): Readable {
  return stream.on('error', () => undefined);
}

/** Whether a server can be asked to resume here. Another version may have recorded a point that it cannot. */
function isResumable({ offset, validator }: ResumePoint): boolean {
  return Number.isSafeInteger(offset) && offset > 0 && isStrongTag(validator);
}

/**
 * The stream of a 206 that has exactly the rest from this point; undefined otherwise. A 206 without a total is rejected, because
 * it may not reach the end.
 */
function restOfVideo(
  { headers, body, statusCode }: Dispatcher.ResponseData,
  { offset, validator }: ResumePoint,
): VideoBody | undefined {
  const { 'content-type': type, 'content-length': length, etag = validator } = headers;
  const [, first, last, whole] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(String(headers['content-range'])) ?? [];
  const bytes = Number(whole);
  const isRest = Number(first) === offset && Number(last) === bytes - 1 && bytes > offset;
  const fits = length === undefined || length === String(bytes - offset);
  const isPlain = !encodingOf(headers) && !/^multipart\/byteranges/i.test(String(type));
  if (statusCode !== PARTIAL || !isRest || !fits || !isPlain || etag !== validator) return undefined;
  return { stream: readToBreak(body), offset, bytes, validator };
}

/** A weak ETag does not promise the same bytes. */
function isStrongTag(value: unknown): value is string {
  return typeof value === 'string' && /^"[\x21\x23-\x7e]*"$/.test(value);
}

/**
 * When a connection breaks, the bytes that have arrived but were not read would be lost. A resumed download needs them, so
 * they are read before the error is passed on.
 */
function readToBreak(body: Readable): Readable {
  const chunks = chunksToBreak(ignoreErrors(body));
  const stream = new Readable({
    // Each chunk is read before the next is fetched: an error would take a waiting one with it.
    highWaterMark: 1,
    read() {
      chunks.next().then(
        ({ value = null }) => this.push(value),
        (error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      body.destroy();
      done(error);
    },
  });
  return ignoreErrors(stream);
}

async function* chunksToBreak(body: Readable): AsyncGenerator<Buffer, undefined> {
  try {
    yield* body;
  } catch (error) {
    const rest: Buffer | null = body.read();
    if (rest !== null) yield rest;
    throw error;
  }
}
