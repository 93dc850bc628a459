import { DecoratorHandler, type Dispatcher } from 'undici';
import { cleanText } from '../contract/failures';
import { readAnswer } from './read-answer';
import { retryAfterMs } from './retry-after';
import { ServiceFault } from './service-fault';

/** Answers are small JSON; more than this is a mistake or an attack. */
const LARGEST_ANSWER_BYTES = 1024 * 1024;

export interface ServiceCall {
  method: 'GET' | 'POST';
  origin?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  headersTimeout: number;
  bodyTimeout: number;
  /** Hand a 3xx back instead of treating it as a refusal. */
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
    throw call.signal?.aborted ? error : connectionFault(error, left);
  }
  const { statusCode } = answer;
  if (statusCode < 300 || (acceptRedirect && statusCode < 400)) return answer;
  throw await refusal(answer);
}

/** The whole body as text, within the size limit. */
export async function bodyText(answer: Dispatcher.ResponseData): Promise<string> {
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
    throw error instanceof ServiceFault ? error : connectionFault(error, true);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function refusal(answer: Dispatcher.ResponseData): Promise<ServiceFault> {
  // The status alone decides what happens next, so a body that cannot be read is no second fault.
  const body = await bodyText(answer).catch(() => '');
  const { said } = readAnswer({ status: answer.statusCode, body });
  return new ServiceFault('answered', {
    status: answer.statusCode,
    code: said.code && cleanText(said.code),
    message: cleanText(said.message ?? body),
    retryAfterMs: retryAfterMs(answer.headers, Date.now()),
  });
}

function connectionFault(error: unknown, left: boolean): ServiceFault {
  const facts = error instanceof Error ? error : new Error(String(error));
  const code = 'code' in facts && typeof facts.code === 'string' ? facts.code : undefined;
  return new ServiceFault(
    left ? 'cut' : 'not-sent',
    { code, message: cleanText(facts.message) },
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
