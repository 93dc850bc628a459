import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { DecoratorHandler, type Dispatcher } from 'undici';
import { describeDuration } from '../contract/duration';
import { errorCode } from '../contract/error-code';
import { redact, type Secrets } from '../contract/redact';
import { ServiceFault } from './service-fault';
import { traceCall } from './spans';

/** Answers are small JSON; a larger one is a mistake or an attack. */
export const MAX_ANSWER_BYTES = 1024 * 1024;

export interface ServiceCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  origin?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
  /** How many bytes of the body are buffered ahead of its reader. */
  highWaterMark?: number;
  /** Later than this, nothing is sent. */
  startWithinMs?: number;
  /** Redacted from every error. */
  secrets: Secrets;
}

/** Sends one HTTP request and returns at the headers, whatever the status; a ServiceFault when none come. */
export async function callService(
  dispatcher: Dispatcher,
  { secrets, startWithinMs = Number.POSITIVE_INFINITY, ...call }: ServiceCall,
): Promise<Dispatcher.ResponseData> {
  const startBeforeMs = performance.now() + startWithinMs;
  let hasStarted = false;
  const watched = dispatcher.compose(
    (dispatch) => (options, handler) =>
      dispatch(
        options,
        new StartWatcher(handler, startBeforeMs, () => {
          hasStarted = true;
        }),
      ),
  );
  try {
    return await traceCall(call.method, () => watched.request(call));
  } catch (error) {
    throwIfCancelled(call.signal);
    // The guarded connector throws a ServiceFault when it refuses an address. Its host may contain anything.
    if (error instanceof ServiceFault)
      throw new ServiceFault(error.kind, { message: redact(error.facts.message ?? '', secrets) });
    throw connectionFault(error, hasStarted, secrets);
  }
}

type ReadOptions = Pick<ServiceCall, 'signal' | 'secrets'>;

/** The whole body as text. JSON is UTF-8; a byte order mark is dropped. */
export async function bodyText(answer: Dispatcher.ResponseData, options: ReadOptions): Promise<string> {
  return new TextDecoder().decode(await bodyBytes(answer, options));
}

/**
 * The whole body, decoded if the server sent an encoding; the size limit applies before and after decoding. The body of a
 * refusal is empty if it cannot be read: the status alone decides what happens next.
 */
export async function bodyBytes(
  answer: Dispatcher.ResponseData,
  { signal, secrets }: ReadOptions,
  mostBytes = MAX_ANSWER_BYTES,
): Promise<Buffer> {
  try {
    return decodeWhole(answer, await receive(answer, mostBytes));
  } catch (error) {
    throwIfCancelled(signal);
    if (answer.statusCode > 299) return Buffer.alloc(0);
    throw error instanceof ServiceFault ? error : connectionFault(error, true, secrets);
  }
}

async function receive(answer: Dispatcher.ResponseData, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw unreadable(answer, tooLarge(mostBytes));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const DECODERS = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** The encoding of a body; undefined when it has none. */
export function encodingOf(headers: Dispatcher.ResponseData['headers']): string | undefined {
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

function decodeWhole(answer: Dispatcher.ResponseData, whole: Buffer): Buffer {
  const encoding = encodingOf(answer.headers) ?? '';
  const decode = DECODERS.get(encoding);
  if (decode === undefined || whole.length === 0) return whole;
  try {
    return decode(whole, { maxOutputLength: MAX_ANSWER_BYTES });
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') throw unreadable(answer, tooLarge(MAX_ANSWER_BYTES));
    // A proxy may decode the body and leave the header.
    if (/^\s*[[{]/.test(whole.toString('latin1', 0, 100))) return whole;
    throw unreadable(answer, `the answer cannot be decoded as ${encoding}, which its Content-Encoding names`);
  }
}

const tooLarge = (mostBytes: number) => `the answer is larger than ${mostBytes} bytes`;

function unreadable({ statusCode: status }: Dispatcher.ResponseData, message: string): ServiceFault {
  return new ServiceFault('unreadable', { status, message });
}

/** Without the error as its cause: undici's errors contain what the server sent, and causes are logged. */
function connectionFault(error: unknown, hasStarted: boolean, secrets: Secrets): ServiceFault {
  // Not `instanceof Error`: in a test runner's sandbox, Node's own errors are of another realm.
  const redacted = (name: 'code' | 'message') => {
    const value: unknown = Reflect.get(Object(error), name);
    return typeof value === 'string' && value !== '' ? redact(value, secrets) : undefined;
  };
  return new ServiceFault(hasStarted ? 'cut' : 'not-sent', {
    code: redacted('code'),
    message: redacted('message'),
  });
}

/**
 * Reports when a request starts: on a connected socket, right before its first byte is written. A process that was stopped
 * meanwhile may go on when others have given the request up and repeated it, so a late one does not start.
 */
class StartWatcher extends DecoratorHandler {
  constructor(
    private readonly inner: Dispatcher.DispatchHandler,
    private readonly startBeforeMs: number,
    private readonly onStart: () => void,
  ) {
    super(inner);
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.inner.onRequestStart?.(controller, context);
    if (performance.now() < this.startBeforeMs) this.onStart();
    else controller.abort(new Error('it took too long to connect'));
  }
}

class DeadlineExpired extends Error {
  override readonly name = 'DeadlineExpired';
}

interface Deadline {
  signal: AbortSignal;
  lift(): void;
}

/** One deadline for a whole exchange, until it is lifted: a server that sends a byte now and then hits no other timeout. */
export function startDeadline(limitMs: number, cancellation?: AbortSignal): Deadline {
  const expiry = new AbortController();
  const expired = new DeadlineExpired(`no complete answer within ${describeDuration(limitMs)}`);
  const timer = setTimeout(() => expiry.abort(expired), limitMs);
  return {
    signal: cancellation === undefined ? expiry.signal : AbortSignal.any([cancellation, expiry.signal]),
    lift: () => clearTimeout(timer),
  };
}

/** Throws the reason of a cancellation. An expired deadline is a fault of the exchange, not a cancellation. */
function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted && !(signal.reason instanceof DeadlineExpired)) throw signal.reason;
}
