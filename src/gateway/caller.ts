import type { FastifyRequest } from 'fastify';
import type { GatewayKey, KeyRing } from './gateway-keys';
import { refusal } from './http-errors';

/** Whose key a call came with, and what that key may do. */
export type GatewayCaller = Pick<GatewayKey, 'name' | 'limits'>;

/** Everybody, on a gateway without keys, which only this machine can reach. */
export const ANYBODY: GatewayCaller = { name: 'local', limits: {} };

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

/** Throws a 401 that does not say what is wrong with the key. */
export type CallerOf = (request: FastifyRequest) => GatewayCaller;

/** Looks each call up once: that reads the state of the file of keys and compares with all of them. */
export function readCallers(keys: KeyRing | undefined): CallerOf {
  if (keys === undefined) return () => ANYBODY;
  const known = new WeakMap<FastifyRequest, GatewayCaller>();
  return (request) => {
    const key = keyIn(request);
    const caller = known.get(request) ?? (key === undefined ? undefined : keys.find(key));
    if (caller === undefined) throw refusal('bad_key');
    known.set(request, caller);
    return caller;
  };
}

/** Null for a call without a right key. */
export function nameOf(request: FastifyRequest, callerOf: CallerOf): string | null {
  try {
    return callerOf(request).name;
  } catch {
    return null;
  }
}

/** The key in the header of a call. */
export function keyIn({ headers }: FastifyRequest): string | undefined {
  return BEARER.exec(headers.authorization ?? '')?.[1];
}
