import { redact } from '../contract/redact';
import {
  bodyBytes,
  callService,
  MAX_ANSWER_BYTES,
  type ServiceCall,
  startDeadline,
} from '../service/call-service';
import { ServiceFault } from '../service/service-fault';
import type { ServiceTimeouts } from '../service/video-service';
import type { KnownSecrets, ModelConnections } from './model-connections';
import type { AiSdkFetch, AiSdkVideoModel } from './video-model-types';

/** For what comes before the request, such as fetching a key or an image. Well below what a submit and a poll may take. */
const PREPARED_WITHIN_MS = 20_000;

/** One HTTP request of a model, as far as it came. */
export interface Exchange {
  method: string;
  url: string;
  /** Its first byte may have left. */
  isSent: boolean;
  status?: number;
  headers?: Record<string, string>;
  /** Unset for an answer that is large, because it has a video in it. */
  body?: string;
  /** Why there is no usable answer. */
  fault?: ServiceFault;
}

/** Whether a request may change something at the service, such as make a task. */
export const mayChange = ({ method }: Pick<Exchange, 'method'>): boolean =>
  method !== 'GET' && method !== 'HEAD';

/** An answer to a poll may have the video in it, as base64. It is in memory several times while the model reads it. */
const LARGEST_ANSWER_BYTES = { submit: MAX_ANSWER_BYTES, poll: 32 * 1024 * 1024 };

/** One call of a model, with what it sent and what came back. */
export class ModelCall {
  readonly exchanges: Exchange[] = [];
  private readonly ended = new AbortController();

  constructor(
    private readonly kind: 'submit' | 'poll',
    private readonly service: {
      connections: ModelConnections;
      timeouts: ServiceTimeouts;
      secrets: KnownSecrets;
    },
    private readonly cancellation?: AbortSignal,
  ) {}

  /** True when the model has our `fetch` and did not call it: then it has sent nothing, whatever its error says. */
  hasSentNothing(model: AiSdkVideoModel): boolean {
    const config: unknown = Reflect.get(model, 'config');
    return Reflect.get(Object(config), 'fetch') === this.fetch && this.exchanges.length === 0;
  }

  /** Runs what comes before the model is asked. Whatever goes wrong here has sent nothing, so no submit is lost. */
  async prepare<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { cancellation, service } = this;
    const withinMs = Math.min(service.timeouts[this.kind], PREPARED_WITHIN_MS);
    const { signal, lift } = startDeadline(withinMs, cancellation);
    try {
      return await unlessAborted(work(signal), signal);
    } catch (error) {
      // A function that continues must send nothing: this call counts as unsent, and is repeated.
      this.ended.abort();
      if (cancellation?.aborted) throw cancellation.reason;
      if (error instanceof ServiceFault) throw error;
      const message = signal.aborted
        ? `the call of the model could not be prepared within ${withinMs} ms`
        : messageOf(error);
      throw new ServiceFault('not-sent', { message: redact(message, service.secrets.all) });
    } finally {
      lift();
    }
  }

  /** Asks the model, within the time of the call. */
  async run<T>(work: (signal: AbortSignal) => PromiseLike<T>): Promise<T> {
    const { signal, lift } = startDeadline(this.service.timeouts[this.kind], this.cancellation);
    try {
      return await unlessAborted((async () => work(signal))(), signal);
    } finally {
      lift();
      this.ended.abort();
    }
  }

  /** For the provider. Sends each request once, with our limits, and notes whether it has left. */
  readonly fetch: AiSdkFetch = async (input, init) => {
    const { connections, secrets: known } = this.service;
    const route = this.kind === 'submit' ? connections.forSubmit : connections.forPoll;
    const request = new Request(input, init);
    const url = new URL(request.url);
    const headers = { ...Object.fromEntries(request.headers), 'accept-encoding': 'identity' };
    const secrets = known.ofRequest(url, headers);
    const sentBody = new Uint8Array(await request.arrayBuffer());
    // A call without a request counts as unsent, and is repeated: none may follow after its end.
    if (this.ended.signal.aborted) throw new ServiceFault('not-sent', { message: 'the call has ended' });
    // Sent until it is known better: the caller may stop waiting for it at any time.
    const exchange: Exchange = { method: request.method, url: request.url, isSent: true };
    this.refuseRepeat(exchange);
    this.exchanges.push(exchange);
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    try {
      const answer = await callService(route(url, headers), {
        // No provider uses others.
        method: request.method as ServiceCall['method'],
        origin: url.origin,
        path: url.pathname + url.search,
        headers,
        ...(sentBody.length > 0 && { body: sentBody }),
        signal,
        secrets,
      });
      const { statusCode: status } = answer;
      const received = new Headers();
      for (const [name, value = []] of Object.entries(answer.headers))
        for (const one of [value].flat()) received.append(name, one);
      exchange.status = status;
      exchange.headers = Object.fromEntries(received);
      const body = await bodyBytes(answer, { signal, secrets }, LARGEST_ANSWER_BYTES[this.kind]);
      if (body.length <= MAX_ANSWER_BYTES) exchange.body = body.toString('utf8');
      return new Response(body.length > 0 ? body : null, { status, headers: received });
    } catch (error) {
      if (error instanceof ServiceFault) exchange.fault = error;
      // An abort may come at any time, so the request may have left.
      exchange.isSent = !(error instanceof ServiceFault && UNSENT.includes(error.kind));
      throw error;
    }
  };

  /** A second POST is ours to decide: it may pay for a second task. A model may still upload an image first. */
  private refuseRepeat(exchange: Exchange): void {
    const isSame = ({ method, url }: Exchange) => method === exchange.method && url === exchange.url;
    if (mayChange(exchange) && this.exchanges.some(isSame))
      throw new Error('the model would send its request again');
  }
}

const UNSENT: readonly ServiceFault['kind'][] = ['not-sent', 'not-allowed'];

/** Ends the waiting with the signal. What was waited for continues. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const done = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const end = () => reject(signal.reason);
    signal.addEventListener('abort', end, { once: true, signal: done.signal });
    if (signal.aborted) end();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    done.abort();
  }
}

/** An error in its own words. */
export function messageOf(error: unknown): string {
  const message: unknown = Reflect.get(Object(error), 'message');
  return typeof message === 'string' && message !== '' ? message : String(error);
}
