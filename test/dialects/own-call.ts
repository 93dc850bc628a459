import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { VideoRequest } from '../../src/contract/request';
import type { EmulatedCall } from '../../src/testing/faults';

/** What a submit asks for, where the path of a service says it. */
export type AskedFor = 'text' | 'image';

/** A call of the real service. The first group of its path is the id of the task. */
export interface OwnRoute {
  method: string;
  path: RegExp;
  call: EmulatedCall;
  /** The service has other paths for the other operation, and other tasks there. */
  of?: AskedFor;
  /** The parameter that has the id, if the path does not. */
  idIn?: string;
  /** The answer to this poll has no link. Another call gets it. */
  withoutVideo?: true;
  /** A header without which the service refuses the call. */
  needs?: readonly [name: string, value: string];
}

/** How the real service is called: its paths, its key and its own requests, next to the interface's. */
export interface OwnInterface {
  routes: readonly OwnRoute[];
  /** The key in the headers of a call; by default that of `Authorization: Bearer`. */
  keyIn?(headers: IncomingHttpHeaders): string | undefined;
  /** A request in the words of the service, strictly: it refuses the interface's own fields. */
  read(body: unknown, of?: AskedFor): ReadOwnRequest;
}

export type ReadOwnRequest = { ok: true; request: VideoRequest } | { ok: false; problem: string };

/** Reads a body by the schema of a service, and turns it into the interface's request. */
export function readOwn<Body extends z.ZodType>(
  body: unknown,
  schema: Body,
  toRequest: (read: z.output<Body>) => { [Field in keyof VideoRequest]: VideoRequest[Field] | undefined },
): ReadOwnRequest {
  const read = schema.safeParse(body);
  if (read.success) {
    const given = Object.entries(toRequest(read.data)).filter(([, value]) => value !== undefined);
    return { ok: true, request: Object.fromEntries(given) as VideoRequest };
  }
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the body'}: ${message}`,
  );
  return { ok: false, problem: problems.join('; ') };
}

export const text = z.string().min(1);
export const link = z.url();
export const whole = z.int();
