import { DecoratorHandler, type Dispatcher } from 'undici';
import { NO_SECRETS, type Secrets } from '../contract/find-secrets';
import { redact } from '../contract/redact';
import { decodeBytes, encodingOf, textOf } from './decode-body';
import { throwIfCancelled } from './exchange-deadline';
import type { HttpAnswer, TracedReading } from './read-answer';
import { type FaultFacts, ServiceFault } from './service-fault';

/** Answers are small JSON; more than this is a mistake or an attack. */
const LARGEST_ANSWER_BYTES = 1024 * 1024;
const TOO_LARGE = `the answer is larger than ${LARGEST_ANSWER_BYTES} bytes`;

/** Milliseconds without a sign of life: until the headers, and between two pieces of the body. */
export interface AnswerTimeouts {
  headersTimeout: number;
  bodyTimeout: number;
}

export interface ServiceCall extends AnswerTimeouts {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  origin?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  /** How many bytes of the body may wait to be read. */
  highWaterMark?: number;
  /** What must not be told of what the call meets. */
  secrets?: Secrets;
}

/** One HTTP exchange up to the headers, whatever they say; a ServiceFault when there are none. */
export async function callService(
  dispatcher: Dispatcher,
  { secrets = NO_SECRETS, ...call }: ServiceCall,
): Promise<Dispatcher.ResponseData> {
  let left = false;
  const watched = dispatcher.compose(
    (dispatch) => (options, handler) =>
      dispatch(
        options,
        new StartWatcher(handler, () => {
          left = true;
        }),
      ),
  );
  try {
    return await watched.request(call);
  } catch (error) {
    throwIfCancelled(call.signal);
    // A connector that refuses an address says so itself.
    throw error instanceof ServiceFault ? error : connectionFault(error, left, secrets);
  }
}

/** The whole body as text, decoded if the server insisted on an encoding; the size limit holds before and after. */
export async function bodyText(
  answer: Dispatcher.ResponseData,
  { signal, secrets = NO_SECRETS }: Pick<ServiceCall, 'signal' | 'secrets'> = {},
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer.body) {
      bytes += chunk.length;
      if (bytes > LARGEST_ANSWER_BYTES) throw unreadable(answer, TOO_LARGE);
      chunks.push(chunk);
    }
  } catch (error) {
    throwIfCancelled(signal);
    throw error instanceof ServiceFault ? error : connectionFault(error, true, secrets);
  }
  const whole = Buffer.concat(chunks);
  const encoding = encodingOf(answer.headers);
  const decoded = encoding && (await decodeBytes(whole, encoding, LARGEST_ANSWER_BYTES));
  if (!decoded) return textOf(whole, answer.headers['content-type']);
  if (decoded.ok) return textOf(decoded.bytes, answer.headers['content-type']);
  const undecodable = `the answer is not in the encoding ${encoding} that it names`;
  throw unreadable(answer, decoded.why === 'too-large' ? TOO_LARGE : undecodable);
}

function unreadable({ statusCode: status }: Dispatcher.ResponseData, message: string): ServiceFault {
  return new ServiceFault('unreadable', { status, message });
}

/**
 * The body of a refusal. The status alone decides what happens next, so one that cannot be read is no second fault, and
 * one that takes longer than a piece of it may is not waited for: byte by byte it could keep us for hours.
 */
export async function refusalText(
  answer: Dispatcher.ResponseData,
  { signal, bodyTimeout }: Pick<ServiceCall, 'signal' | 'bodyTimeout'>,
): Promise<string> {
  const late = setTimeout(() => answer.body.destroy(), bodyTimeout);
  const body = await bodyText(answer).catch(() => '');
  clearTimeout(late);
  throwIfCancelled(signal);
  return body;
}

/** What a profile says of a refusal beside its status. */
export type RefusalMarks = Pick<FaultFacts, 'limited' | 'taskMayExist'>;

/** An answer other than 2xx, in the service's own words as far as they may be repeated. */
export function refusal(
  { status, body }: Pick<HttpAnswer, 'status' | 'body'>,
  { said: { code, message = body }, retryAfterMs }: Pick<TracedReading, 'said' | 'retryAfterMs'>,
  secrets: Secrets,
  { limited = status === 429, taskMayExist = false }: RefusalMarks = {},
): ServiceFault {
  return new ServiceFault('answered', {
    status,
    ...(limited && { limited }),
    ...(taskMayExist && { taskMayExist }),
    code: code && redact(code, secrets),
    message: redact(message, secrets) || undefined,
    retryAfterMs,
  });
}

/** Without the error itself as its cause: undici's hold what the other side sent, and causes are told as well. */
function connectionFault(error: unknown, left: boolean, secrets: Secrets): ServiceFault {
  // Not `instanceof Error`: in the sandbox of a test runner the errors of Node itself are of another realm.
  const told = (name: 'code' | 'message') => {
    const value: unknown = Reflect.get(Object(error), name);
    return typeof value === 'string' && value !== '' ? redact(value, secrets) : undefined;
  };
  return new ServiceFault(left ? 'cut' : 'not-sent', { code: told('code'), message: told('message') });
}

/** Tells when a request starts: on a connected socket, right before its first byte is written. */
class StartWatcher extends DecoratorHandler {
  constructor(
    private readonly inner: Dispatcher.DispatchHandler,
    private readonly onStart: () => void,
  ) {
    super(inner);
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.onStart();
    this.inner.onRequestStart?.(controller, context);
  }
}
