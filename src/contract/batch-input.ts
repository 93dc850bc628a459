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
import { fieldSchemas, JOB_OPTION_FIELDS, parseJobInput } from './job-input';
import { parseRequest } from './request';
import { requestsSizeProblem } from './sizes';

/** A valid batch, or what is wrong with it. */
export type ParsedBatchInput = { ok: true; input: BatchInput } | { ok: false; problem: string };

const batchSchema = z.looseObject(fieldSchemas(BATCH_FIELDS));

const FIELD_NAMES = [
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
  if (!parsed.success) return refused(parsed.error.issues.map(describe).join('; '));
  const { requests, requestsFrom, window, onFailure, ...others } = parsed.data;
  if ((requests === undefined) === (requestsFrom === undefined)) return refused(BATCH_SOURCE_RULE);
  const options = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
  const notInBatches = batchOptionProblem(options);
  if (notInBatches !== undefined) return refused(notInBatches);
  const unknown = Object.keys(options).filter((name) => !FIELD_NAMES.includes(name));
  if (unknown.length > 0) {
    return refused(
      `${describeNames(unknown)}: not a field of a batch; the fields are ${FIELD_NAMES.join(', ')}`,
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

function describe(issue: z.core.$ZodIssue): string {
  const path = issue.path.join('.');
  return path === '' ? 'a batch must be a JSON object' : `${path} ${issue.message}`;
}

function refused(problem: string): { ok: false; problem: string } {
  return { ok: false, problem };
}
