import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Answer, AskedVideo, ServedVideo } from './hostile-server';

/** How the head of an answer differs from a correct one. A header that is undefined is left out. */
export interface Change {
  status?: number;
  headers?: OutgoingHttpHeaders;
}

/** `from` is where in the video the answer begins. */
export type ChangeHead = (video: ServedVideo, from: number) => Change;

/** A correct answer with a changed head. */
export function serveWith(change?: ChangeHead): Answer {
  return (response, video, asked) => {
    const from = writeHead(response, video, asked, change);
    response.end(video.bytes.subarray(from));
  };
}

/** A correct answer: the whole video, or the range that was asked for. */
export const serve = serveWith();

/** A position in the video, from 0 to 1. */
export type Share = number;

/** Ends the connection inside the video. */
export function cutAt(share: Share, change?: ChangeHead): Answer {
  return (response, video, asked) => {
    const from = writeHead(response, video, asked, change);
    sendUpTo(response, video.bytes.subarray(from, offsetOf(share, video)), () => response.socket?.end());
  };
}

/** Resets the connection inside the video; bytes in flight may be lost. */
export function resetAt(share: Share): Answer {
  return (response, video, asked) => {
    const from = writeHead(response, video, asked);
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
  // The first bytes identify the container; the rest is noise.
  const noise = Math.floor(bytes.length / 4);
  return Buffer.concat([bytes.subarray(0, noise), bytes.subarray(noise).map((byte) => byte ^ 0xff)]);
}

/** Serves another video under the same path. */
export function serveOther(change?: ChangeHead): Answer {
  return (response, video, asked) =>
    serveWith(change)(response, { ...video, bytes: otherThan(video.bytes), etag: '"two"' }, asked);
}

/** From that position on, sends single bytes until the connection closes. */
export function trickleFrom(share: Share): Answer {
  return (response, video, asked) => {
    const from = writeHead(response, video, asked);
    const offset = Math.max(from, offsetOf(share, video));
    response.flushHeaders();
    response.write(video.bytes.subarray(from, offset));
    let sent = offset;
    repeatUntilClosed(response, () => response.write(video.bytes.subarray(sent, ++sent)));
  };
}

/** Something other than the video. */
export function say(status: number, body: string | Buffer = '', headers: OutgoingHttpHeaders = {}): Answer {
  return (response) => response.writeHead(status, headers).end(body);
}

/** A head, then single bytes until the connection closes. */
export function trickle(status: number, headers: OutgoingHttpHeaders = {}): Answer {
  return (response) => {
    response.writeHead(status, headers).flushHeaders();
    repeatUntilClosed(response, () => response.write('.'));
  };
}

/** Repeats the video until the connection closes. */
export const endless: Answer = (response, { bytes, etag }) => {
  response.writeHead(200, { 'content-type': 'video/mp4', etag });
  const more = () => {
    while (!response.destroyed && response.write(bytes));
  };
  response.on('drain', more);
  more();
};

/** The beginning of the video, without a length, so that only the video itself shows that it is incomplete. */
export function endAt(share: Share): Answer {
  return (response, video) => {
    response.writeHead(200, { 'content-type': 'video/mp4', connection: 'close' });
    response.end(video.bytes.subarray(0, offsetOf(share, video)));
  };
}

export function redirect(to: string | ((video: ServedVideo) => string)): Answer {
  return (response, video, asked) =>
    say(302, '', { location: typeof to === 'string' ? to : to(video) })(response, video, asked);
}

/** A chain of `count` redirects on one server that ends at the video. */
export function hops(count: number): Answer {
  return (response, video, asked) => {
    const hop = Number(/[?&]hop=(\d+)/.exec(asked.path)?.[1] ?? 0);
    const answer = hop < count ? redirect(`?hop=${hop + 1}`) : serve;
    answer(response, video, asked);
  };
}

/** Answers `good` from the link with this number on, and `refusal` to older links. */
export function sinceLink(link: number, good: Answer, refusal: Answer): Answer {
  return (response, video, asked) => (asked.link >= link ? good : refusal)(response, video, asked);
}

/** Writes the head of a correct answer, and returns the offset at which its body starts. */
function writeHead(
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
  const all = {
    'content-type': 'video/mp4',
    'content-length': bytes.length - from,
    etag,
    ...(from > 0 && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    ...headers,
  };
  const set = Object.entries(all).filter(([, value]) => value !== undefined);
  response.writeHead(status ?? (from > 0 ? 206 : 200), Object.fromEntries(set));
  return from;
}

/** Calls `then` once the bytes have left: ending the connection earlier would drop them. */
function sendUpTo(response: ServerResponse, body: Buffer, then: () => void): void {
  response.flushHeaders();
  response.write(body, then);
}

const TRICKLE_INTERVAL_MS = 20;

function repeatUntilClosed(response: ServerResponse, work: () => void): void {
  const timer = setInterval(work, TRICKLE_INTERVAL_MS);
  response.once('close', () => clearInterval(timer));
}
