import type { FastifyInstance } from 'fastify';
import { CODEC_PATH } from './codec';
import { refusal } from './http-errors';

export interface GuardOptions {
  hasKeys: boolean;
  /** How callers reach the gateway, if it is configured. */
  publicUrl: string | undefined;
  /** Pages of these origins may call the gateway. */
  corsOrigins: readonly string[];
  /** The Temporal UI, whose page may have payloads decrypted and call nothing else. */
  codecOrigin?: string | undefined;
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const PREFLIGHT_SECONDS = 600;

/** What a page may send and read, beyond what browsers always allow. */
const REQUEST_HEADERS =
  'authorization, content-type, idempotency-key, last-event-id, prefer, range, x-namespace';
const ANSWER_HEADERS =
  'accept-ranges, content-disposition, content-length, content-range, etag, retry-after, x-request-id';

/**
 * Keeps pages of other sites out. Browsers attach no key by themselves, so with keys it is enough that CORS is off. Without
 * keys any page could call this machine: by another name for it (DNS rebinding), or by a POST whose answer it cannot read.
 */
export function guardBrowsers(app: FastifyInstance, options: GuardOptions): void {
  const { hasKeys, corsOrigins, codecOrigin } = options;
  const own = options.publicUrl === undefined ? undefined : new URL(options.publicUrl);
  const hosts = [...LOCAL_HOSTS, own?.hostname];
  app.addHook('onRequest', async (request, reply) => {
    const { method, headers, protocol, host } = request;
    const { origin } = headers;
    // By the route, because the router also takes an address with escapes. A preflight has no route.
    const isOfCodec = (request.routeOptions.url ?? request.url).startsWith(`${CODEC_PATH}/`);
    const isAllowed = origin !== undefined && (isOfCodec ? [codecOrigin] : corsOrigins).includes(origin);
    if (!hasKeys) {
      // Without the port, and with the brackets of an IPv6 address.
      const name = (headers.host ?? '').toLowerCase().replace(/:\d*$/, '');
      if (!hosts.includes(name)) throw refusal('wrong_host');
      // Browsers send Origin with every request that is neither GET nor HEAD; programs do not.
      const isOwn =
        origin === undefined
          ? headers['sec-fetch-site'] !== 'cross-site'
          : [`${protocol}://${host}`, own?.origin].includes(origin);
      if (!SAFE_METHODS.has(method) && !isOwn && !isAllowed) throw refusal('cross_site');
    }
    if (!isAllowed) return undefined;
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': ANSWER_HEADERS,
      'cross-origin-resource-policy': 'cross-origin',
    });
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined;
    reply.headers({
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': PREFLIGHT_SECONDS,
    });
    return reply.code(204).send();
  });
}
