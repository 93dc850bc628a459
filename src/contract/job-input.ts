import { z } from 'zod';
import { type DurationText, durationMs } from './duration';
import {
  FLAG_RULE,
  IDEMPOTENCY_KEY_RULE,
  isFlag,
  isIdempotencyKey,
  isQueueName,
  isStorageKey,
  isTaskId,
  LOST_SUBMIT_RULE,
  QUEUE_RULE,
  STORAGE_RULE,
  TASK_ID_RULE,
} from './input-rules';
import type { JobInput } from './job';
import { LOST_SUBMIT_POLICIES } from './lost-submit';
import { parseRequest } from './request';

const duration = z.custom<DurationText>((value) => durationMs(value) !== undefined, {
  error: 'must be milliseconds or a length of time such as "90s", "30m" or "2h"',
});

/** An id that was pasted often has a space or a line break around it. */
const withoutSpaces = (value: unknown) => (typeof value === 'string' ? value.trim() : value);

const pollingSchema = z
  .strictObject({ min: duration.optional(), max: duration.optional() })
  .refine(({ min, max }) => (durationMs(min) ?? 0) <= (durationMs(max) ?? Number.POSITIVE_INFINITY), {
    error: 'must have a min that is not longer than its max',
  });

const queuesSchema = z.strictObject({
  submit: z.custom<string>(isQueueName, { error: QUEUE_RULE }).optional(),
  download: z.custom<string>(isQueueName, { error: QUEUE_RULE }).optional(),
});

const jobInputSchema = z.strictObject({
  request: z.unknown().optional(),
  taskId: z.preprocess(withoutSpaces, z.custom<string>(isTaskId, { error: TASK_ID_RULE }).optional()),
  deadline: duration.optional(),
  storage: z.custom<string>(isStorageKey, { error: STORAGE_RULE }).optional(),
  polling: pollingSchema.optional(),
  onLostSubmit: z.enum(LOST_SUBMIT_POLICIES, { error: LOST_SUBMIT_RULE }).optional(),
  holdFor: duration.optional(),
  idempotencyKey: z.custom<string>(isIdempotencyKey, { error: IDEMPOTENCY_KEY_RULE }).optional(),
  keepBad: z.custom<boolean>(isFlag, { error: FLAG_RULE }).optional(),
  queues: queuesSchema.optional(),
});

/** The fields of a job that say how it is done, not what it is for. */
export const JOB_OPTION_FIELDS = Object.keys(jobInputSchema.omit({ request: true, taskId: true }).shape);

const GROUPS: Record<string, z.ZodObject> = {
  '': jobInputSchema,
  polling: pollingSchema,
  queues: queuesSchema,
};

export type ParsedJobInput = { ok: true; input: JobInput } | { ok: false; problem: string };

/**
 * Parses what a caller hands over at a door (client, CLI, gateway); a workflow's own input is past it. `further` are the
 * fields that requests to the service may have beyond the interface.
 */
export function parseJobInput(given: unknown, further: readonly string[] = []): ParsedJobInput {
  const parsed = jobInputSchema.safeParse(given);
  if (!parsed.success) return { ok: false, problem: parsed.error.issues.map(describe).join('; ') };
  const { request, taskId, ...options } = parsed.data;
  if ((request === undefined) === (taskId === undefined)) {
    return {
      ok: false,
      problem: 'a job needs either a request or the taskId of a task to adopt, and not both',
    };
  }
  if (taskId !== undefined) return { ok: true, input: { taskId, ...options } };
  const checked = parseRequest(request, further);
  return checked.ok ? { ok: true, input: { request: checked.request, ...options } } : checked;
}

function describe(issue: z.core.$ZodIssue): string {
  const at = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const fields = Object.keys(GROUPS[at]?.shape ?? {});
    const names = issue.keys.map((key) => JSON.stringify(key)).join(', ');
    return `${names}: not a field of ${at || 'a job'}; the fields are ${fields.join(', ')}`;
  }
  if (at === '') return 'a job must be a JSON object';
  const rule = issue.code === 'invalid_type' ? `must be of type ${issue.expected}` : issue.message;
  return `${at} ${rule}`;
}
