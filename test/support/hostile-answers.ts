import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Answer, AskedVideo, ServedVideo } from './hostile-server';

/** What the head of an answer says otherwise than a good one; a header that is undefined is left out. */
export interface Change {
  status?: number;
  headers?: OutgoingHttpHeaders;
}

/** `from` is where in the video the answer begins. */
export type ChangeHead = (video: ServedVideo, from: number) => Change;

/** A good answer, but for what its head says. */
export function serveWith(change?: ChangeHead): Answer {
  return (response, video, asked) => {
    const from = begin(response, video, asked, change);
    response.end(video.bytes.subarray(from));
  };
}

/** As a good file server does it: the whole, or the rest from where it was asked for. */
export const serve = serveWith();

/** Of the whole video, from 0 to 1: where something happens to it. */
export type Share = number;

/** Ends the connection within the video. */
export function cutAt(share: Share, change?: ChangeHead): Answer {
  return (response, video, asked) => {
    const from = begin(response, video, asked, change);
    sendUpTo(response, video.bytes.subarray(from, offsetOf(share, video)), () => response.socket?.end());
  };
}

/** The same without a goodbye: what was on its way may be lost. */
export function resetAt(share: Share): Answer {
  return (response, video, asked) => {
    const from = begin(response, video, asked);
    sendUpTo(response, video.bytes.subarray(from, offsetOf(share, video)), () =>
      response.socket?.resetAndDestroy(),
    );
  };
}

export function offsetOf(share: Share, { bytes }: Pick<ServedVideo, 'bytes'>): number {
  return Math.floor(share * bytes.length);
}

/** Another video of the same length. */
export function otherThan(bytes: Buffer): Buffer {
  // Its first bytes make it a video; behind them is noise.
  const noise = Math.floor(bytes.length / 4);
  return Buffer.concat([bytes.subarray(0, noise), bytes.subarray(noise).map((byte) => byte ^ 0xff)]);
}

/** Has another video by now. */
export function serveOther(change?: ChangeHead): Answer {
  return (response, video, asked) =>
    serveWith(change)(response, { ...video, bytes: otherThan(video.bytes), etag: '"two"' }, asked);
}

/** From there on a byte now and then, for as long as anybody listens. */
export function trickleFrom(share: Share): Answer {
  return (response, video, asked) => {
    const from = begin(response, video, asked);
    const offset = Math.max(from, offsetOf(share, video));
    response.flushHeaders();
    response.write(video.bytes.subarray(from, offset));
    let sent = offset;
    nowAndThen(response, () => response.write(video.bytes.subarray(sent, ++sent)));
  };
}

/** Something other than the video, under whatever head. */
export function say(status: number, body: string | Buffer = '', headers: OutgoingHttpHeaders = {}): Answer {
  return (response) => response.writeHead(status, headers).end(body);
}

/** The head of an answer and nothing more. */
export function onlyHead(headers: OutgoingHttpHeaders): Answer {
  return (response) => response.writeHead(200, headers).flushHeaders();
}

/** A head, and of its body a byte now and then. */
export function trickle(status: number, headers: OutgoingHttpHeaders = {}): Answer {
  return (response) => {
    response.writeHead(status, headers).flushHeaders();
    nowAndThen(response, () => response.write('.'));
  };
}

/** The video and then more and more, for as long as anybody listens. */
export const endless: Answer = (response, { bytes, etag }) => {
  response.writeHead(200, { 'content-type': 'video/mp4', etag });
  const more = () => {
    while (!response.destroyed && response.write(bytes));
  };
  response.on('drain', more);
  more();
};

/** The beginning of the video as if it were all of it; nobody says how long it ought to be. */
export function endAt(share: Share): Answer {
  return (response, video) => {
    response.writeHead(200, { 'content-type': 'video/mp4', connection: 'close' });
    response.end(video.bytes.subarray(0, offsetOf(share, video)));
  };
}

/** What takes little room on the wire and much behind it. */
export function bomb(bytesBehind: number): Answer {
  return (response, { bytes }) => {
    const body = gzipSync(Buffer.concat([bytes, Buffer.alloc(bytesBehind)]));
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': body.length }).end(body);
  };
}

const ENCODERS = {
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 1 }),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } }),
};

/** The video in an encoding that nobody asked for. */
export function encoded(encoding: keyof typeof ENCODERS, spoil: 'well' | 'cut' | 'changed' = 'well'): Answer {
  const made = new WeakMap<Buffer, Buffer>();
  return (response, { bytes, etag }) => {
    const body = made.get(bytes) ?? ENCODERS[encoding](bytes);
    made.set(bytes, body);
    const headers = { 'content-encoding': encoding, 'content-length': body.length, etag };
    response.writeHead(200, headers);
    const middle = Math.floor(body.length / 2);
    if (spoil === 'well') response.end(body);
    else if (spoil === 'cut') sendUpTo(response, body.subarray(0, middle), () => response.socket?.end());
    else response.end(Buffer.concat([body.subarray(0, middle), Buffer.alloc(body.length - middle)]));
  };
}

export function redirect(to: string | ((video: ServedVideo) => string)): Answer {
  return (response, video, asked) =>
    say(302, '', { location: typeof to === 'string' ? to : to(video) })(response, video, asked);
}

/** So many redirects from place to place on one server, and the video behind the last one. */
export function hops(count: number): Answer {
  return (response, video, asked) => {
    const hop = Number(/[?&]hop=(\d+)/.exec(asked.path)?.[1] ?? 0);
    const answer = hop < count ? redirect(`?hop=${hop + 1}`) : serve;
    answer(response, video, asked);
  };
}

/** One answer while a link is new enough, another one to those before it. */
export function sinceLink(link: number, good: Answer, refusal: Answer): Answer {
  return (response, video, asked) => (asked.link >= link ? good : refusal)(response, video, asked);
}

/** Writes the head of a good answer; answers where in the video its body begins. */
function begin(
  response: ServerResponse,
  video: ServedVideo,
  { range, ifRange }: AskedVideo,
  change: ChangeHead = () => ({}),
): number {
  const { bytes, etag } = video;
  const isSame = ifRange === undefined || ifRange === etag;
  const from = isSame ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
  if (from >= bytes.length) {
    response.writeHead(416, { 'content-length': 0, 'content-range': `bytes */${bytes.length}` });
    return from;
  }
  const { status, headers } = change(video, from);
  const told = {
    'content-type': 'video/mp4',
    'content-length': bytes.length - from,
    etag,
    ...(from > 0 && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    ...headers,
  };
  const named = Object.entries(told).filter(([, value]) => value !== undefined);
  response.writeHead(status ?? (from > 0 ? 206 : 200), Object.fromEntries(named));
  return from;
}

/** Not before the bytes have left: the end of the connection would overtake them. */
function sendUpTo(response: ServerResponse, body: Buffer, then: () => void): void {
  response.flushHeaders();
  response.write(body, then);
}

const NOW_AND_THEN_MS = 20;

function nowAndThen(response: ServerResponse, work: () => void): void {
  const timer = setInterval(work, NOW_AND_THEN_MS);
  response.once('close', () => clearInterval(timer));
}
