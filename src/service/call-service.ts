import { DecoratorHandler, type Dispatcher } from 'undici';
import { cleanText } from '../contract/clean-text';
import { quotable, secretsOf } from './quotable';
import { readAnswer } from './read-answer';
import { retryAfterMs } from './retry-after';
import { ServiceFault } from './service-fault';

/** Answers are small JSON; more than this is a mistake or an attack. */
const LARGEST_ANSWER_BYTES = 1024 * 1024;

export interface ServiceCall {
  method: 'GET' | 'POST' | 'DELETE';
  origin?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  headersTimeout: number;
  bodyTimeout: number;
  /** Hand a redirect back instead of treating it as a refusal: for the caller to follow, and to check where to. */
  acceptRedirect?: boolean;
}

/** One HTTP exchange up to the headers: a 2xx answer with its body still to read, or a ServiceFault. */
export async function callService(
  dispatcher: Dispatcher,
  { acceptRedirect = false, ...call }: ServiceCall,
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
  let answer: Dispatcher.ResponseData;
  try {
    answer = await watched.request(call);
  } catch (error) {
    call.signal?.throwIfAborted();
    throw connectionFault(error, left);
  }
  const { statusCode, headers } = answer;
  const isRedirect = statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
  if (statusCode < 300 || (acceptRedirect && isRedirect)) return answer;
  throw await refusal(answer, call);
}

/** The whole body as text, within the size limit. */
export async function bodyText(answer: Dispatcher.ResponseData, signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer.body) {
      bytes += chunk.length;
      if (bytes > LARGEST_ANSWER_BYTES) {
        throw new ServiceFault('unreadable', {
          status: answer.statusCode,
          message: `the answer is larger than ${LARGEST_ANSWER_BYTES} bytes`,
        });
      }
      chunks.push(chunk);
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof ServiceFault ? error : connectionFault(error, true);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function refusal(answer: Dispatcher.ResponseData, call: ServiceCall): Promise<ServiceFault> {
  // The status alone decides what happens next, so a body that cannot be read is no second fault.
  const body = await bodyText(answer).catch(() => '');
  call.signal?.throwIfAborted();
  const { said } = readAnswer({ status: answer.statusCode, body });
  const secrets = secretsOf(call);
  return new ServiceFault('answered', {
    status: answer.statusCode,
    code: said.code && quotable(said.code, secrets),
    message: quotable(said.message ?? body, secrets) || undefined,
    retryAfterMs: retryAfterMs(answer.headers, Date.now()),
  });
}

function connectionFault(error: unknown, left: boolean): ServiceFault {
  // Not `instanceof Error`: in the sandbox of a test runner the errors of Node itself are of another realm.
  const told = (name: 'code' | 'message') => {
    const value: unknown = Reflect.get(Object(error), name);
    return typeof value === 'string' && value !== '' ? cleanText(value) : undefined;
  };
  return new ServiceFault(
    left ? 'cut' : 'not-sent',
    { code: told('code'), message: told('message') },
    { cause: error },
  );
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
