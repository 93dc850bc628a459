import type { Dispatcher } from 'undici';
import { bodyBytes, bodyChunks, MAX_ANSWER_BYTES, type ServiceCall } from '../service/call-service';
import { encodingOf } from '../service/decode-body';
import { ServiceFault } from '../service/service-fault';

/**
 * An answer with a video in it, as base64: eight seconds at 100 Mbit/s. While a model reads it, it takes several times as much
 * memory.
 */
export const LARGEST_ANSWER_BYTES = 128 * 1024 * 1024;

/** What a model is answered: a small body as a whole, a larger one as it comes. */
export type AnswerBody = { whole: Buffer } | { chunks: AsyncGenerator<Buffer> };

interface ReadingLimits extends Pick<ServiceCall, 'signal' | 'secrets'> {
  mostBytes: number;
  /** Aborted when the model has read what it was called for, or has run out of time. */
  callEnded: AbortSignal;
}

/**
 * Reads an answer, and lets one large one at a time into the process. An encoded one has to be small when it is decoded: no
 * encoding was asked for, and videos hardly get smaller by one.
 */
export async function readAnswer(
  answer: Dispatcher.ResponseData,
  { mostBytes, callEnded, ...call }: ReadingLimits,
): Promise<AnswerBody> {
  if (mostBytes <= MAX_ANSWER_BYTES || encodingOf(answer.headers) !== undefined) {
    return { whole: await bodyBytes(answer, call) };
  }
  const chunks = bodyChunks(answer, call, mostBytes);
  const first: Buffer[] = [];
  let bytes = 0;
  while (bytes <= MAX_ANSWER_BYTES) {
    const next = await chunks.next();
    if (next.done) return { whole: Buffer.concat(first) };
    first.push(next.value);
    bytes += next.value.length;
  }
  // Nobody reads on after the call, and a connection that nobody reads from never times out.
  void aborted(callEnded).then(() => answer.body.destroy());
  await takeTurn(callEnded, call.signal);
  return { chunks: continued(first, chunks) };
}

async function* continued(first: Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield* first.splice(0);
  yield* rest;
}

const turns = new WeakMap<AbortSignal, Promise<void>>();
let lastEnd: Promise<void> = Promise.resolve();

/** Waits until the calls with earlier large answers have ended. A call has one turn for all of its answers. */
async function takeTurn(callEnded: AbortSignal, signal: AbortSignal = callEnded): Promise<void> {
  const begin = turns.get(callEnded) ?? lastEnd;
  if (!turns.has(callEnded)) lastEnd = Promise.all([lastEnd, aborted(callEnded)]).then(() => undefined);
  turns.set(callEnded, begin);
  await Promise.race([begin, aborted(callEnded), aborted(signal)]);
  if (callEnded.aborted || signal.aborted) {
    throw new ServiceFault('cut', { message: 'another large answer took the time of this one' });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
