import { z } from 'zod';
import {
  BATCH_FIELDS,
  BATCH_SOURCE_RULE,
  BATCH_STORAGE_RULE,
  type BatchInput,
  batchOptionProblem,
  isBatchStorage,
  NOT_IN_BATCHES,
} from './batch';
import { describeNames } from './describe-value';
import { durationMs } from './duration';
import type { VideoInput } from './fallback';
import {
  FALLBACK_FIELDS,
  type FieldGroup,
  type FieldRule,
  type FieldRules,
  JOB_FIELDS,
  JOB_SOURCE_RULE,
} from './input-rules';
import { parseRequest } from './request';
import { choiceProblem } from './service-choice';
import { requestsSizeProblem } from './sizes';

type FieldSchemas<Rules> = {
  [Name in keyof Rules]: Rules[Name] extends FieldRule<infer Value>
    ? z.ZodOptional<z.ZodCustom<Value, Value>>
    : Rules[Name] extends FieldGroup
      ? z.ZodOptional<z.ZodObject<FieldSchemas<Rules[Name]['fields']>, z.core.$strict>>
      : never;
};

/** The schemas of optional fields, made from the rules that workflows check too. */
function fieldSchemas<Rules extends FieldRules>(rules: Rules): FieldSchemas<Rules> {
  const schemas = Object.entries(rules).map(([name, rule]) => [name, fieldSchema(rule).optional()]);
  return Object.fromEntries(schemas) as FieldSchemas<Rules>;
}

function fieldSchema(rule: FieldRule<unknown> | FieldGroup): z.ZodType {
  return 'fields' in rule
    ? z.strictObject(fieldSchemas(rule.fields))
    : z.custom(rule.accepts, { error: rule.sentence });
}

/** Pasted ids often come with a space or a line break. */
const trimmed = (value: unknown) => (typeof value === 'string' ? value.trim() : value);

const fields = fieldSchemas({ ...JOB_FIELDS, ...FALLBACK_FIELDS });

const jobInputSchema = z.strictObject({
  request: z.unknown().optional(),
  ...fields,
  taskId: z.preprocess(trimmed, fields.taskId),
  polling: fields.polling
    .unwrap()
    .refine(({ min, max }) => (durationMs(min) ?? 0) <= (durationMs(max) ?? Number.POSITIVE_INFINITY), {
      error: 'must have a min that is not longer than its max',
    })
    .optional(),
});

/** The fields of a job that say how it is done, not what it is for. */
export const JOB_OPTION_FIELDS = Object.keys(fields).filter((name) => name !== 'taskId');

const FIELD_NAMES: Record<string, string[]> = {
  '': Object.keys(jobInputSchema.shape),
  polling: Object.keys(JOB_FIELDS.polling.fields),
  cap: Object.keys(JOB_FIELDS.cap.fields),
  queues: Object.keys(JOB_FIELDS.queues.fields),
};

/** A valid job, or what is wrong with it. */
export type ParsedJobInput = { ok: true; input: VideoInput } | { ok: false; problem: string };

/**
 * Parses what a caller passes to the client, the CLI, the gateway or Nexus. `requestFields` are the fields that the
 * service accepts beyond the interface.
 *
 * @example
 * ```ts
 * const parsed = parseJobInput({ request: { prompt: 'A red fox in the snow' }, deadline: '2h' });
 * if (!parsed.ok) console.error(parsed.problem);
 * ```
 */
export function parseJobInput(given: unknown, requestFields: readonly string[] = []): ParsedJobInput {
  const parsed = jobInputSchema.safeParse(given);
  if (!parsed.success) return { ok: false, problem: parsed.error.issues.map(describe).join('; ') };
  const { request, taskId, ...options } = parsed.data;
  if ((request === undefined) === (taskId === undefined)) return { ok: false, problem: JOB_SOURCE_RULE };
  const problem = choiceProblem({ taskId, ...options });
  if (problem !== undefined) return { ok: false, problem };
  const { services, fallbackAfter, ...one } = options;
  if (taskId !== undefined) return { ok: true, input: { taskId, ...one } };
  const checked = parseRequest(request, requestFields);
  if (!checked.ok) return checked;
  const input = { request: checked.request, ...one };
  if (services === undefined) return { ok: true, input };
  const { service: _, submitWithin: __, ...shared } = input;
  return { ok: true, input: { ...shared, services, fallbackAfter } };
}

function describe(issue: z.core.$ZodIssue): string {
  const path = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    return `${describeNames(issue.keys)}: not a field of ${path || 'a job'}; the fields are ${FIELD_NAMES[path]?.join(', ')}`;
  }
  if (path === '') return 'a job must be a JSON object';
  const rule = issue.code === 'invalid_type' ? `must be of type ${issue.expected}` : issue.message;
  return `${path} ${rule}`;
}

/** A valid batch, or what is wrong with it. */
export type ParsedBatchInput = { ok: true; input: BatchInput } | { ok: false; problem: string };

const batchSchema = z.looseObject(fieldSchemas(BATCH_FIELDS));

const BATCH_FIELD_NAMES = [
  ...Object.keys(BATCH_FIELDS),
  ...JOB_OPTION_FIELDS.filter((name) => !Object.hasOwn(NOT_IN_BATCHES, name)),
];

/**
 * Parses what a caller passes for a batch. The options that all items share are parsed as those of a job.
 *
 * @example
 * ```ts
 * const parsed = parseBatchInput({ requestsFrom: 'foxes.jsonl', window: 5 });
 * if (!parsed.ok) console.error(parsed.problem);
 * ```
 */
export function parseBatchInput(given: unknown, requestFields: readonly string[] = []): ParsedBatchInput {
  const parsed = batchSchema.safeParse(given);
  if (!parsed.success) return refused(parsed.error.issues.map(describeInBatch).join('; '));
  const { requests, requestsFrom, window, onFailure, ...others } = parsed.data;
  if ((requests === undefined) === (requestsFrom === undefined)) return refused(BATCH_SOURCE_RULE);
  const options = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
  const notInBatches = batchOptionProblem(options);
  if (notInBatches !== undefined) return refused(notInBatches);
  const unknown = Object.keys(options).filter((name) => !BATCH_FIELD_NAMES.includes(name));
  if (unknown.length > 0) {
    return refused(
      `${describeNames(unknown)}: not a field of a batch; the fields are ${BATCH_FIELD_NAMES.join(', ')}`,
    );
  }
  const item = parseJobInput({ ...options, request: { prompt: 'any' } });
  if (!item.ok) return item;
  const { request: _, taskId: __, ...shared } = item.input;
  if (!isBatchStorage(shared.storage)) return refused(`storage ${BATCH_STORAGE_RULE}`);
  const batch = { ...shared, window, onFailure };
  if (requestsFrom !== undefined) return { ok: true, input: { requestsFrom, ...batch } };
  const checked = [];
  for (const [index, request] of (requests ?? []).entries()) {
    const one = parseRequest(request, requestFields);
    if (!one.ok) return refused(`requests[${index}]: ${one.problem}`);
    checked.push(one.request);
  }
  const problem = requestsSizeProblem(checked);
  if (problem !== undefined) return refused(problem);
  return { ok: true, input: { requests: checked, ...batch } };
}

function describeInBatch(issue: z.core.$ZodIssue): string {
  const path = issue.path.join('.');
  return path === '' ? 'a batch must be a JSON object' : `${path} ${issue.message}`;
}

function refused(problem: string): { ok: false; problem: string } {
  return { ok: false, problem };
}
