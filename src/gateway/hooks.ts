import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isTaskId } from '../contract/input-rules';
import { isWebhookSecret, verifySignature } from '../service';
import { errorBody, noSuchPath, Refusal } from './http-errors';
import type { PollHints } from './poll-hints';
import type { LogError } from './send-error';

/** A service names a task in far less. */
const LARGEST_HOOK_BYTES = 64 * 1024;

export interface HookTools {
  /** Undefined for a gateway that takes no webhooks. */
  hookSecret: (() => string) | undefined;
  hints: PollHints;
  logError: LogError;
}

const received = z.object({ received: z.literal(true) });
const RESPONSES = {
  200: received,
  400: errorBody,
  404: errorBody,
  408: errorBody,
  413: errorBody,
  431: errorBody,
  500: errorBody,
};
const tags = ['Webhooks'];
const secretParams = z.object({ secret: z.string() });

/**
 * The addresses that the video service calls when a task has changed: with the secret in the path, or signed. A call is a hint
 * to poll now, and nothing in it is believed.
 */
export async function serveHooks(app: FastifyInstance, tools: HookTools): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // A signature is of the text as it came.
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: LARGEST_HOOK_BYTES },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      '/v1/hooks/:secret',
      {
        schema: {
          tags,
          operationId: 'receiveHook',
          summary: 'The video service says that a task has changed',
          security: [],
          params: secretParams,
          body: z.unknown(),
          response: RESPONSES,
        },
        // Before the body is read.
        onRequest: async (request) => {
          const { secret } = secretParams.parse(request.params);
          if (!isSecret(secret, readSecret(request, tools))) throw noSuchPath();
        },
      },
      async (request) => receive(parse(request.body), request, tools),
    );
    scope.post(
      '/v1/hooks',
      {
        schema: {
          tags,
          operationId: 'receiveSignedHook',
          summary: 'The same, signed by Standard Webhooks headers',
          security: [],
          body: z.unknown(),
          response: RESPONSES,
        },
      },
      async (request) => {
        const { headers, body } = request;
        const secret = readSecret(request, tools);
        if (!isWebhookSecret(secret)) throw noSuchPath();
        return receive(
          verified(() => verifySignature(headers, String(body ?? ''), secret)),
          request,
          tools,
        );
      },
    );
  });
}

/** Says the same, and as soon, whether there is such a task or not. */
function receive(
  sent: unknown,
  request: FastifyRequest,
  { hints, logError }: HookTools,
): z.infer<typeof received> {
  const taskId = taskIdIn(sent);
  if (taskId === undefined) {
    throw new Refusal({
      status: 400,
      code: 'no_task_id',
      message: 'The body must be a JSON object that names a task as task_id, id or data.id.',
    });
  }
  // A hint that is lost costs only time: polling finds what it was about.
  hints.hint(taskId).catch((error: unknown) => logError(request, error));
  return { received: true };
}

/** In a body with `data`, the outer id is that of the event. */
export function taskIdIn(sent: unknown): string | undefined {
  const { task_id: taskId, id, data }: Record<string, unknown> = Object(sent);
  const { id: idInData, task_id: taskIdInData }: Record<string, unknown> = Object(data);
  return [taskId, taskIdInData, idInData, id].find(isTaskId);
}

function parse(body: unknown): unknown {
  try {
    return JSON.parse(String(body));
  } catch {
    return undefined;
  }
}

/** A wrong signature gets the answer of an address that does not exist. */
function verified<T>(verify: () => T): T {
  try {
    return verify();
  } catch {
    throw noSuchPath();
  }
}

/** A file that cannot be read right now opens nothing. */
function readSecret(request: FastifyRequest, { hookSecret, logError }: HookTools): string | undefined {
  try {
    return hookSecret?.();
  } catch (error) {
    logError(request, error);
    return undefined;
  }
}

/** Digests have one length, so the time says nothing about the secret. */
function isSecret(given: string, secret: string | undefined): boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digestOf(given), digestOf(secret ?? '')) && secret !== undefined;
}
