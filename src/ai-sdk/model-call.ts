import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { redact } from '../contract/redact';
import { type AnswerTimeouts, callService, refusalText, startDeadline } from '../service/call-service';
import { ServiceFault } from '../service/service-fault';
import { type Exchange, mayChange, watchExchanges } from './exchanges';
import type { KnownSecrets } from './known-secrets';
import { type AnswerBody, readAnswer } from './large-answers';
import { headersOf, messageOf, readable } from './sdk-errors';
import type { AiSdkFetch, AiSdkModelSource, AiSdkVideoModel } from './video-model-types';

/** A model that does not react to its abort signal is left alone after this time. */
const SETTLE_WITHIN_MS = 1_000;

/** A function that makes a model may fetch a key first. Well below what a submit and a poll may take. */
const MADE_WITHIN_MS = 20_000;

export interface MakingLimits {
  limitMs: number;
  signal?: AbortSignal | undefined;
}

/** Decides about a request of the model: an answer in its place, or undefined to send it. Throws to refuse it. */
export type RequestGuard = (request: { method: string; url: string }) => Response | undefined;

export interface ModelCallOptions {
  source: AiSdkVideoModel | AiSdkModelSource;
  /** What sends a request. Throws a ServiceFault for one that may not be sent. */
  route: (url: URL, headers: Record<string, string>) => Dispatcher;
  timeouts: AnswerTimeouts;
  /** Of an answer. */
  mostBytes: number;
  secrets: KnownSecrets;
  guard: RequestGuard;
}

/** One call of a model, with what it sent and what came back. */
export class ModelCall {
  /** What went through our own `fetch`. */
  readonly own: Exchange[] = [];
  /** What undici reported: all of it, without the bodies. */
  private readonly seen: Exchange[] = [];
  private made: AiSdkVideoModel | undefined;
  private readonly ended = new AbortController();
  private onAnswered: () => void = () => undefined;
  /** Resolves when a request that may change something got a good answer. */
  readonly answered = new Promise<void>((resolve) => {
    this.onAnswered = resolve;
  });

  constructor(private readonly options: ModelCallOptions) {}

  get exchanges(): readonly Exchange[] {
    return this.own.length > 0 ? this.own : this.seen;
  }

  /** True when the model has our `fetch` and did not call it: then it has sent nothing, whatever its error says. */
  get sentNothing(): boolean {
    return this.made !== undefined && usesFetch(this.made, this.fetch) && this.own.length === 0;
  }

  /** The model of this call. Whatever goes wrong here comes before the first request. */
  async model({ limitMs, signal: cancellation }: MakingLimits): Promise<AiSdkVideoModel> {
    const { source, secrets } = this.options;
    if (typeof source !== 'function') {
      this.made = source;
      return source;
    }
    const withinMs = Math.min(limitMs, MADE_WITHIN_MS);
    const { signal, lift } = startDeadline(withinMs, cancellation);
    try {
      this.made = await settleWith(signal, async () => source({ fetch: this.fetch }));
      return this.made;
    } catch (thrown) {
      // A function that goes on must send nothing: this call counts as unsent, and is repeated.
      this.ended.abort();
      const error = readable(thrown);
      const message =
        error instanceof NotSettled
          ? `the function of aiSdkService made no model within ${withinMs} ms`
          : messageOf(error);
      throw new ServiceFault('not-sent', { message: redact(message, secrets.all) });
    } finally {
      lift();
    }
  }

  /** Runs what comes before the model is asked. Whatever goes wrong here has sent nothing, so it is no lost submit. */
  async prepare<T>(work: () => Promise<T>, cancellation?: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (cancellation?.aborted) throw cancellation.reason;
      const error = readable(thrown);
      if (error instanceof ServiceFault) throw error;
      const message = `the call of the model could not be prepared: ${messageOf(error)}`;
      throw new ServiceFault('not-sent', { message: redact(message, this.options.secrets.all) });
    }
  }

  /** Runs the model within a time, and watches what it sends. */
  async run<T>(
    limitMs: number,
    cancellation: AbortSignal | undefined,
    work: (signal: AbortSignal) => PromiseLike<T>,
  ): Promise<T> {
    const { signal, lift } = startDeadline(limitMs, cancellation);
    try {
      return await watchExchanges(this.seen, () => settleWith(signal, work));
    } catch (thrown) {
      throw readable(thrown);
    } finally {
      lift();
      this.ended.abort();
    }
  }

  /** For the provider. Sends each request once, with our limits, and notes whether it has left. */
  readonly fetch: AiSdkFetch = async (input, init) => {
    const { route, timeouts, mostBytes, secrets: known, guard } = this.options;
    const request = new Request(input, init);
    const { method } = request;
    const answered = guard({ method, url: request.url });
    if (answered) return answered;
    const url = new URL(request.url);
    const headers = { ...Object.fromEntries(request.headers), 'accept-encoding': 'identity' };
    const secrets = known.ofRequest(url, headers);
    const sentBody = new Uint8Array(await request.arrayBuffer());
    // A call without a request counts as unsent, and is repeated: none may follow after its end.
    if (this.ended.signal.aborted) throw new ServiceFault('not-sent', { message: 'the call has ended' });
    // Whoever stops waiting for it before it ends must not take it for unsent.
    const exchange: Exchange = { method, isSent: true };
    this.own.push(exchange);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    try {
      const answer = await callService(route(url, headers), {
        ...timeouts,
        method: readMethod(method),
        origin: url.origin,
        path: url.pathname + url.search,
        headers,
        ...(sentBody.length > 0 && { body: sentBody }),
        signal,
        secrets,
      });
      const { statusCode: status } = answer;
      exchange.status = status;
      exchange.headers = headersOf(answer.headers);
      const callEnded = this.ended.signal;
      const body: AnswerBody =
        status > 299
          ? { whole: Buffer.from(await refusalText(answer, { ...timeouts, signal, secrets })) }
          : await readAnswer(answer, { signal, secrets, mostBytes, callEnded });
      if ('whole' in body) exchange.body = body.whole.toString('utf8');
      if (mayChange(exchange) && status <= 299) this.onAnswered();
      return asResponse(answer, 'whole' in body ? body.whole : notingFault(body.chunks, exchange));
    } catch (error) {
      if (error instanceof ServiceFault) exchange.fault = error;
      // An abort may come at any time, so the request may have left.
      exchange.isSent = !(error instanceof ServiceFault && UNSENT.includes(error.kind));
      throw error;
    }
  };
}

const UNSENT: readonly ServiceFault['kind'][] = ['not-sent', 'not-allowed'];
/** What a model makes of an answer that breaks off is its own matter. What it was is read from the exchange. */
async function* notingFault(chunks: AsyncGenerator<Buffer>, exchange: Exchange): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    if (error instanceof ServiceFault) exchange.fault = error;
    throw error;
  }
}

/** Whether a model was given this `fetch`: models of the AI SDK keep it in their `config`. */
export function usesFetch(model: AiSdkVideoModel, fetch: AiSdkFetch): boolean {
  const config: unknown = Reflect.get(model, 'config');
  return Reflect.get(Object(config), 'fetch') === fetch || Reflect.get(model, 'fetch') === fetch;
}

/** The model has not come to an end after its time was over: it may still be sending. */
class NotSettled extends Error {
  override readonly name = 'NotSettled';
}

/** The result of the work, or its error; NotSettled when it goes on after the signal. */
async function settleWith<T>(signal: AbortSignal, work: (signal: AbortSignal) => PromiseLike<T>): Promise<T> {
  const done = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const giveUp = async () => {
      await sleep(SETTLE_WITHIN_MS, undefined, { signal: done.signal }).catch(() => undefined);
      reject(new NotSettled(messageOf(signal.reason)));
    };
    if (signal.aborted) void giveUp();
    else signal.addEventListener('abort', () => void giveUp(), { once: true, signal: done.signal });
  });
  const working = (async () => work(signal))();
  try {
    return await Promise.race([working, late]);
  } finally {
    done.abort();
    // A late end must not become an unhandled rejection.
    working.catch(() => undefined);
    late.catch(() => undefined);
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** No provider uses others. */
function readMethod(method: string): (typeof METHODS)[number] {
  const known = METHODS.find((candidate) => candidate === method);
  if (known === undefined) throw new ServiceFault('not-sent', { message: `it would send ${method}` });
  return known;
}

const WITHOUT_BODY = [204, 205, 304];
/** These describe the bytes as they came, which are decoded by now. */
const OF_CONNECTION = ['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'];

function asResponse(
  { statusCode, headers }: Dispatcher.ResponseData,
  body: Buffer | AsyncGenerator<Buffer>,
): Response {
  const kept = Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name.toLowerCase()));
  const answer = new Headers();
  for (const [name, value] of kept) for (const one of [value ?? []].flat()) answer.append(name, one);
  try {
    const content = WITHOUT_BODY.includes(statusCode) ? null : body;
    return new Response(content, { status: statusCode, headers: answer });
  } catch {
    // A status such as 799 is none that a Response can have. What it means is read from the exchange.
    throw new ServiceFault('answered', { status: statusCode });
  }
}
