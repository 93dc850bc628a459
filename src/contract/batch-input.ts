import { z } from 'zod';
import { type BatchInput, ON_FAILURE } from './batch';
import { BATCH_STORAGE_RULE, isBatchStorage, isWindow, WINDOW_RULE } from './batch-rules';
import { FILE_KEY_RULE, isFileKey } from './input-rules';
import { JOB_OPTION_FIELDS, parseJobInput } from './job-input';
import { parseRequest } from './request';
import { requestsSizeProblem } from './sizes';

export type ParsedBatchInput = { ok: true; input: BatchInput } | { ok: false; problem: string };

const batchSchema = z.looseObject({
  requests: z
    .array(z.unknown(), { error: 'must be a list' })
    .min(1, { error: 'must have one at least' })
    .optional(),
  requestsFrom: z.custom<string>(isFileKey, { error: FILE_KEY_RULE }).optional(),
  window: z.custom<number>(isWindow, { error: WINDOW_RULE }).optional(),
  onFailure: z.enum(ON_FAILURE, { error: `must be one of ${ON_FAILURE.join(', ')}` }).optional(),
});

const FIELDS = [
  ...Object.keys(batchSchema.shape),
  ...JOB_OPTION_FIELDS.filter((name) => name !== 'idempotencyKey'),
];

/** Parses what a caller hands over at a door. What is said of each item is parsed as that of a job is. */
export function parseBatchInput(given: unknown, further: readonly string[] = []): ParsedBatchInput {
  const parsed = batchSchema.safeParse(given);
  if (!parsed.success) return refused(parsed.error.issues.map(describe).join('; '));
  const { requests, requestsFrom, window, onFailure, ...options } = parsed.data;
  if ((requests === undefined) === (requestsFrom === undefined)) {
    return refused('a batch needs either requests or requestsFrom, and not both');
  }
  if (options.idempotencyKey !== undefined)
    return refused('idempotencyKey is for one job, and each item of a batch has its own');
  const unknown = Object.keys(options).filter(
    (name) => options[name] !== undefined && !FIELDS.includes(name),
  );
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(', ');
    return refused(`${names}: not a field of a batch; the fields are ${FIELDS.join(', ')}`);
  }
  const item = parseJobInput({ ...options, taskId: 'any' });
  if (!item.ok) return item;
  const { taskId: _, ...shared } = item.input;
  if (!isBatchStorage(shared.storage)) return refused(`storage ${BATCH_STORAGE_RULE}`);
  const own = { window, onFailure };
  const batch = {
    ...shared,
    ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)),
  };
  if (requestsFrom !== undefined) return { ok: true, input: { requestsFrom, ...batch } };
  const checked = [];
  for (const [index, request] of (requests ?? []).entries()) {
    const one = parseRequest(request, further);
    if (!one.ok) return refused(`requests[${index}]: ${one.problem}`);
    checked.push(one.request);
  }
  const problem = requestsSizeProblem(checked);
  if (problem !== undefined) return refused(problem);
  return { ok: true, input: { requests: checked, ...batch } };
}

function describe(issue: z.core.$ZodIssue): string {
  const at = issue.path.join('.');
  return at === '' ? 'a batch must be a JSON object' : `${at} ${issue.message}`;
}

function refused(problem: string): { ok: false; problem: string } {
  return { ok: false, problem };
}
