import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { sha256 } from '../contract/digest';
import { isTaskId } from '../contract/input-rules';
import { POLL_NOW_SIGNAL, SEARCH_ATTRIBUTES, WORKFLOW_TYPE } from '../contract/names';
import { idsInJobs, isSame, isWebhookSecret, verifySignature } from '../service';
import { type LogError, refusal } from './http-errors';
import { described } from './openapi';
import { withDeadline } from './temporal-deadline';

/** A service names a task in far less. */
const LARGEST_HOOK_BYTES = 64 * 1024;
/** More hints than this about one task cause no further poll. */
const HINT_EVERY_MS = 1_000;
/** A gateway that ends waits this long for its last hints. */
const HINT_WITHIN_MS = 2_000;
/** Task ids that were hinted at within that time. A gateway that gets more drops the rest: polling finds them. */
const MOST_REMEMBERED = 1_000;
/** Nothing that would need escaping in a visibility query. Task ids with other characters are polled without hints. */
const SEARCHABLE = /^[\w.:/+=@~-]{1,255}$/;

const [TASK_ID] = SEARCH_ATTRIBUTES;

export interface HookTools {
  client: Client;
  /** Undefined for a gateway that takes no webhooks. */
  hookSecret: (() => string) | undefined;
  logError: LogError;
}

const open = { security: [], body: z.unknown(), response: { 200: z.object({ received: z.literal(true) }) } };
const CHANGED = 'The video service says that a task has changed';
const bySecret = described('Webhooks', 'receiveHook', CHANGED, {
  ...open,
  params: z.object({ secret: z.string() }),
});
const SIGNED = 'The same, signed by Standard Webhooks headers';
const bySignature = described('Webhooks', 'receiveSignedHook', SIGNED, open);

/**
 * The addresses that the video service calls when a task has changed: with the secret in the path, or signed. A call is a hint
 * to poll now, and nothing in it is believed. What is wrong gets the answer of an address that does not exist.
 */
export async function serveHooks(app: FastifyInstance, tools: HookTools): Promise<void> {
  const mayHint = hintLimit();
  /** Says the same, and as soon, whether there is such a task or not. */
  const receive = (sent: unknown, request: FastifyRequest) => {
    const taskId = taskIdIn(sent);
    if (taskId === undefined) throw refusal('no_task_id');
    if (SEARCHABLE.test(taskId) && mayHint(taskId)) {
      // A hint that is lost costs only time: polling finds what it was about.
      pollTaskNow(tools.client, taskId).catch((error: unknown) => tools.logError(request, error));
    }
    return { received: true as const };
  };
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const asText = { parseAs: 'string', bodyLimit: LARGEST_HOOK_BYTES } as const;
    // A signature is of the text as it came.
    scope.addContentTypeParser('*', asText, (_request, body, done) => done(null, body));
    // Before the body is read.
    const onRequest = async (request: FastifyRequest) => {
      const { secret: given }: { secret?: string } = Object(request.params);
      // Digests have one length, so the time says nothing about the secret.
      if (!isSame(sha256(String(given)), sha256(readSecret(tools)))) throw refusal('no_such_path');
    };
    scope.post('/v1/hooks/:secret', { ...bySecret, onRequest }, async (request) => {
      const sent = orRefuse('no_task_id', () => JSON.parse(String(request.body)));
      return receive(sent, request);
    });
    scope.post('/v1/hooks', bySignature, async (request) => {
      const { headers, body } = request;
      const secret = readSecret(tools);
      if (!isWebhookSecret(secret)) throw refusal('no_such_path');
      const sent = orRefuse('no_such_path', () => verifySignature(headers, String(body ?? ''), secret));
      return receive(sent, request);
    });
  });
}

function orRefuse<T>(code: 'no_task_id' | 'no_such_path', work: () => T): T {
  try {
    return work();
  } catch {
    throw refusal(code);
  }
}

/** One hint a second for each task. */
function hintLimit(): (taskId: string) => boolean {
  const hintedAtMs = new Map<string, number>();
  return (taskId) => {
    const nowMs = performance.now();
    // The oldest come first.
    for (const [hinted, atMs] of hintedAtMs) {
      if (nowMs - atMs < HINT_EVERY_MS) break;
      hintedAtMs.delete(hinted);
    }
    if (hintedAtMs.has(taskId) || hintedAtMs.size >= MOST_REMEMBERED) return false;
    hintedAtMs.set(taskId, nowMs);
    return true;
  };
}

/** Has the running jobs of a task poll it now, if there are any. */
function pollTaskNow(client: Client, taskId: string): Promise<void> {
  const { workflow } = client;
  const ids = idsInJobs(taskId).map((id) => `'${id}'`);
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND CloseTime IS NULL AND ${TASK_ID} IN (${ids.join(', ')})`;
  const signalAll = async () => {
    for await (const { workflowId } of workflow.list({ query, pageSize: 10 })) {
      // It may have ended since.
      await workflow
        .getHandle(workflowId)
        .signal(POLL_NOW_SIGNAL)
        .catch((error: unknown) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
    }
  };
  return withDeadline(client, signalAll, HINT_WITHIN_MS);
}

/** In a body with `data`, the outer id is that of the event. */
function taskIdIn(sent: unknown): string | undefined {
  const { task_id: taskId, id, data }: Record<string, unknown> = Object(sent);
  const { id: idInData, task_id: taskIdInData }: Record<string, unknown> = Object(data);
  return [taskId, taskIdInData, idInData, id].find(isTaskId);
}

/** Without a secret there is nothing here. */
function readSecret({ hookSecret }: HookTools): string {
  const secret = hookSecret?.();
  if (secret === undefined) throw refusal('no_such_path');
  return secret;
}
