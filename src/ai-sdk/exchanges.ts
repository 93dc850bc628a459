import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { RetryHeaders } from '../service/read-values';
import type { ServiceFault } from '../service/service-fault';

/** One HTTP request of a model, as far as it was seen. */
export interface Exchange {
  method: string;
  /** Its first byte may have left. */
  isSent: boolean;
  status?: number;
  headers?: RetryHeaders;
  /** Only of a request through our own `fetch`, and only if it is small. */
  body?: string;
  /** Why there is no usable answer. */
  fault?: ServiceFault;
}

/** Whether a request may change something at the service, such as make a task. */
export const mayChange = ({ method }: Exchange): boolean => method !== 'GET' && method !== 'HEAD';

const seenBy = new AsyncLocalStorage<Exchange[]>();
const exchangeOf = new WeakMap<object, Exchange>();
let isWatching = false;

/**
 * Notes the requests that are made while `work` runs, whoever makes them with undici or Node's own `fetch`, which report each
 * step to diagnostics channels. Without it, an error alone would have to say whether a request has left.
 */
export function watchExchanges<T>(seen: Exchange[], work: () => Promise<T>): Promise<T> {
  if (!isWatching) watchUndici();
  isWatching = true;
  return seenBy.run(seen, work);
}

function watchUndici(): void {
  const onRequest = (channel: string, note: (exchange: Exchange, message: object) => void) =>
    subscribe(channel, (message) => {
      const exchange = exchangeOf.get(Object(Reflect.get(Object(message), 'request')));
      if (exchange) note(exchange, Object(message));
    });
  subscribe('undici:request:create', (message) => {
    const seen = seenBy.getStore();
    const request: unknown = Reflect.get(Object(message), 'request');
    if (seen === undefined || typeof request !== 'object' || request === null) return;
    const exchange: Exchange = { method: String(Reflect.get(request, 'method')), isSent: false };
    seen.push(exchange);
    exchangeOf.set(request, exchange);
  });
  onRequest('undici:client:sendHeaders', (exchange) => {
    exchange.isSent = true;
  });
  onRequest('undici:request:headers', (exchange, message) => {
    const { statusCode, headers }: Record<string, unknown> = Object(Reflect.get(message, 'response'));
    if (typeof statusCode !== 'number') return;
    exchange.status = statusCode;
    exchange.headers = headersIn(headers);
  });
}

/** undici reports names and values in turn, as the bytes that came. */
function headersIn(raw: unknown): RetryHeaders {
  const texts = Array.isArray(raw) ? raw.map(String) : [];
  const pairs = texts.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), texts[index + 1] ?? '']] : [],
  );
  return Object.fromEntries(pairs);
}
