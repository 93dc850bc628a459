import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { type AnswerTimeouts, callService, refusal, refusalText } from './call-service';
import { secretsOf } from './quotable';
import { traceAnswer } from './read-answer';
import { ServiceFault } from './service-fault';

const MOST_REDIRECTS = 5;

export interface VideoBody {
  stream: Readable;
  contentType: string;
  /** Undefined when the server did not say. */
  bytes: number | undefined;
}

export interface OpenVideoOptions {
  dispatcher: Dispatcher;
  /** The service's own address. */
  base: URL;
  /** What identifies us, for the service's own origin alone. */
  homeHeaders: () => Record<string, string>;
  secrets: () => string[];
  timeouts: AnswerTimeouts;
  signal?: AbortSignal;
}

/** The video behind a link, with its body still to read. Redirects are followed by hand: the key must not follow. */
export async function openVideo(
  link: string,
  { dispatcher, base, homeHeaders, secrets, timeouts, signal }: OpenVideoOptions,
): Promise<VideoBody> {
  let url = new URL(link, base);
  let atHome = true;
  for (let redirects = 0; ; redirects++) {
    // The key is for the service's own origin and for no other, nor for whoever was led back from another.
    atHome &&= url.origin === base.origin;
    const path = url.pathname + url.search;
    const answer = await callService(dispatcher, {
      method: 'GET',
      origin: url.origin,
      path,
      headers: atHome ? homeHeaders() : {},
      signal,
      ...timeouts,
    });
    const { statusCode: status, headers } = answer;
    if (status < 300) return videoBody(answer);
    if (isRedirect(answer) && redirects < MOST_REDIRECTS) {
      await answer.body.dump();
      url = redirectTarget(answer, url);
    } else {
      const body = await refusalText(answer, signal);
      const reading = traceAnswer({ status, headers, receivedAtMs: Date.now(), body });
      throw refusal({ status, body }, reading, secretsOf(path, secrets()));
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

function videoBody({ headers, body }: Dispatcher.ResponseData): VideoBody {
  const length = Number(headers['content-length'] ?? Number.NaN);
  return {
    stream: body,
    contentType: String(headers['content-type'] ?? 'application/octet-stream'),
    bytes: Number.isSafeInteger(length) ? length : undefined,
  };
}
