import type { FastifyRequest } from 'fastify';
import type { KeyRing } from './gateway-keys';
import { badKey, Refusal } from './http-errors';

/** Everybody, on a gateway without keys, which only this machine can reach. */
export const ANYBODY = 'local';

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;
const LONGEST_IDEMPOTENCY_KEY_CHARS = 255;

/** The name of the key that a call came with. Throws a 401 that does not say what is wrong with it. */
export type CallerOf = (request: FastifyRequest) => string;

/** Looks each call up once: a look reads the state of the file of keys and compares with all of them. */
export function readCallers(keys: KeyRing | undefined): CallerOf {
  if (keys === undefined) return () => ANYBODY;
  const known = new WeakMap<FastifyRequest, string>();
  return (request) => {
    const name = known.get(request) ?? nameIn(request.headers.authorization, keys);
    if (name === undefined) throw badKey();
    known.set(request, name);
    return name;
  };
}

/** The key in a header. */
export function keyIn(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1];
}

function nameIn(authorization: string | undefined, keys: KeyRing): string | undefined {
  const key = keyIn(authorization);
  return key === undefined ? undefined : keys.nameOf(key);
}

export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = String(header);
  if (key.length > 0 && key.length <= LONGEST_IDEMPOTENCY_KEY_CHARS) return key;
  throw new Refusal({
    status: 400,
    code: 'bad_idempotency_key',
    message: `Idempotency-Key must have 1 to ${LONGEST_IDEMPOTENCY_KEY_CHARS} characters.`,
    param: 'Idempotency-Key',
  });
}

const LONGEST_WAIT_SECONDS = 60;

/** `Prefer: wait=30`, in milliseconds; 0 without it. A longer wait is cut, as RFC 7240 allows. */
export function readWaitMs(header: string | string[] | undefined): number {
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,9})/i.exec(String(header ?? '')) ?? [];
  return Math.min(Number(seconds ?? 0), LONGEST_WAIT_SECONDS) * 1_000;
}
