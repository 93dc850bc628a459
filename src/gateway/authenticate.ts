import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GatewayKey, GatewayKeys } from './gateway-keys';
import { refusal } from './http-errors';
import { keyOfWatcher } from './watch-tokens';

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that a call came with, or its token was made with. Null for a call without a right one. */
    caller: GatewayKey | null;
    /** Whom its limits count: pages with tokens take nothing from the server that has the key. */
    countedAs: string;
    /** False once its key is removed, or its token has expired. */
    mayGoOn(): boolean;
  }
}

/** Everybody, on a gateway without keys, which only this machine can reach. */
export const ANYBODY: GatewayKey = { name: 'local', sha256: '', limits: {} };

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

/** Looks up the key of each call. The log has the name for every answer; `callerOf` refuses calls without one. */
export function authenticateBy(app: FastifyInstance, keys: GatewayKeys | undefined): void {
  const find = (request: FastifyRequest) => {
    const key = keys ? keys.find(keyIn(request)) : ANYBODY;
    const caller = key ?? (keys && keyOfWatcher(request, keys)) ?? null;
    return { caller, countedAs: key ? key.name : `${caller?.name} by token` };
  };
  app.decorateRequest('caller', null);
  app.decorateRequest('countedAs', '');
  app.decorateRequest('mayGoOn', function (this: FastifyRequest) {
    return find(this).caller !== null;
  });
  app.addHook('onRequest', async (request) => {
    Object.assign(request, find(request));
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
