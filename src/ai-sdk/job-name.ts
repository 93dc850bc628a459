import { createHash, randomUUID } from 'node:crypto';
import type { JobInput } from '../contract/job';
import { DEFAULT_SCOPE, type JobScope } from './job-scope';
import type { ModelJobOptions } from './model-options';
import type { ModelCall } from './video-model-v4';

/** Every start by `ai` has a key of this form, a new one each time: it would make the same call another job. */
const KEY_OF_AI = /^aisdk_vid_/;

/**
 * The workflow id of a call. The same call has the same one, in any process: it joins its job instead of paying again. A
 * name of the caller's comes first, then an Idempotency-Key of the caller's.
 */
export function jobNameOf(
  call: Pick<ModelCall, 'headers'>,
  { name, fresh }: Pick<ModelJobOptions, 'name' | 'fresh'>,
  input: JobInput,
  { prefix }: JobScope = DEFAULT_SCOPE,
): string {
  const idOf = (parts: readonly unknown[]) => prefix + digestOf(parts);
  if (name !== undefined) return name;
  const key = idempotencyKeyIn(call.headers);
  if (key !== undefined && !KEY_OF_AI.test(key)) return idOf(['key', key]);
  if (fresh) return idOf(['fresh', key ?? freshIdOf(call)]);
  return idOf(['call', input]);
}

function idempotencyKeyIn(headers: ModelCall['headers'] = {}): string | undefined {
  // An empty one would be that of every caller who forgot it.
  return Object.entries(headers).find(([name]) => name.toLowerCase() === 'idempotency-key')?.[1] || undefined;
}

const freshIds = new WeakMap<object, string>();

/** `ai` repeats a failed call with the same object: the start that it repeats may have reached Temporal. */
function freshIdOf(call: object): string {
  const id = freshIds.get(call) ?? randomUUID();
  freshIds.set(call, id);
  return id;
}

/** Another form of it would have every call pay again that is repeated after an update of this package. */
function digestOf(parts: readonly unknown[]): string {
  return createHash('sha256').update(sorted(parts)).digest('hex').slice(0, 32);
}

/** JSON with the names in order: how a program writes its options down makes no difference. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
