import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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
const CORS = {
  methods: 'GET, HEAD, POST, DELETE',
  requestHeaders: 'authorization, content-type, idempotency-key, last-event-id, prefer, range, x-namespace',
  answerHeaders:
    'accept-ranges, content-disposition, content-length, content-range, etag, retry-after, x-request-id',
};

/**
 * Keeps pages of other sites out. Browsers attach no key by themselves, so with keys it is enough that CORS is off. Without
 * keys any page could call this machine: by another name for it (DNS rebinding), or by a POST whose answer it cannot read.
 */
export function guardBrowsers(app: FastifyInstance, options: GuardOptions): void {
  const ofInterface = new Set(options.corsOrigins);
  const ofCodec = new Set(options.codecOrigin === undefined ? [] : [options.codecOrigin]);
  const ownHost = options.publicUrl === undefined ? [] : [new URL(options.publicUrl).hostname];
  const hosts = new Set([...LOCAL_HOSTS, ...ownHost]);
  app.addHook('onRequest', async (request, reply) => {
    const allowed = isOfCodec(request) ? ofCodec : ofInterface;
    if (!options.hasKeys) {
      if (!hosts.has(hostnameOf(request))) throw refusal('wrong_host');
      if (isCrossSite(request, options.publicUrl, allowed)) throw refusal('cross_site');
    }
    return allowed.size > 0 ? allowOrigin(request, reply, allowed) : undefined;
  });
}

/** By the route, because the router also takes an address with escapes. A preflight has no route. */
function isOfCodec({ url, routeOptions }: FastifyRequest): boolean {
  return (routeOptions.url ?? url).startsWith(`${CODEC_PATH}/`);
}

/** Without the port, and with the brackets of an IPv6 address. */
function hostnameOf({ headers }: FastifyRequest): string {
  return (headers.host ?? '').toLowerCase().replace(/:\d*$/, '');
}

/** Browsers send Origin with every request that is neither GET nor HEAD; programs do not. */
function isCrossSite(
  { method, headers, protocol, host }: FastifyRequest,
  publicUrl: string | undefined,
  allowed: ReadonlySet<string>,
): boolean {
  const { origin } = headers;
  if (SAFE_METHODS.has(method)) return false;
  if (origin === undefined) return headers['sec-fetch-site'] === 'cross-site';
  const own = [`${protocol}://${host}`, ...(publicUrl === undefined ? [] : [new URL(publicUrl).origin])];
  return !own.includes(origin) && !allowed.has(origin);
}

async function allowOrigin(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  allowed: ReadonlySet<string>,
): Promise<FastifyReply | undefined> {
  const { origin } = headers;
  // A cache must not hand the answer for one origin to another.
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Origin' : `${vary}, Origin`);
  if (origin === undefined || !allowed.has(origin)) return undefined;
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': CORS.answerHeaders,
    'cross-origin-resource-policy': 'cross-origin',
  });
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined;
  reply.headers({
    'access-control-allow-methods': CORS.methods,
    'access-control-allow-headers': CORS.requestHeaders,
    'access-control-max-age': PREFLIGHT_SECONDS,
  });
  return reply.code(204).send();
}
