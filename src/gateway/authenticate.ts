import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GatewayKey, GatewayKeys } from './gateway-keys';
import { refusal } from './http-errors';
import { keyOfWatcher } from './watch-tokens';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that a call came with, or its token was made with. Null for a call without a right one. */
    caller: GatewayKey | null;
  }
}

/** Everybody, on a gateway without keys, which only this machine can reach. */
export const ANYBODY: GatewayKey = { name: 'local', sha256: '', limits: {} };

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

/** Looks up the key of each call. The log has the name for every answer; `callerOf` refuses calls without one. */
export function authenticateBy(app: FastifyInstance, keys: GatewayKeys | undefined): void {
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request) => {
    request.caller = keys ? (keys.find(keyIn(request)) ?? keyOfWatcher(request, keys) ?? null) : ANYBODY;
  });
}

/** Throws a 401 that does not say what is wrong with the key. */
export function callerOf({ caller }: FastifyRequest): GatewayKey {
  if (caller === null) throw refusal('bad_key');
  return caller;
}

/** The key in the header of a call, or an empty text. */
export function keyIn({ headers }: FastifyRequest): string {
  return BEARER.exec(headers.authorization ?? '')?.[1] ?? '';
}
