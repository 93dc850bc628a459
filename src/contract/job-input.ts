import {
  BATCH_FIELDS,
  BATCH_SOURCE_RULE,
  BATCH_STORAGE_RULE,
  type BatchInput,
  batchOptionProblem,
  isBatchStorage,
  NOT_IN_BATCHES,
} from './batch';
import type { VideoInput } from './fallback';
import {
  FALLBACK_FIELDS,
  type FieldRules,
  fieldProblems,
  isPlainObject,
  JOB_FIELDS,
  JOB_SOURCE_RULE,
} from './input-rules';
import { parseRequest } from './request';
import { choiceProblem } from './service-choice';
import { requestsSizeProblem } from './sizes';

const { taskId: TASK_ID, ...OPTION_FIELDS } = { ...JOB_FIELDS, ...FALLBACK_FIELDS };

/** The fields of a job that say how it is done, not what it is for. */
export const JOB_OPTION_FIELDS = Object.keys(OPTION_FIELDS);

/** Requests are checked by themselves, against what their service accepts. */
const REQUEST = { accepts: (value: unknown): value is unknown => value !== undefined, sentence: '' };
const ONE_JOB_FIELDS: FieldRules = { request: REQUEST, taskId: TASK_ID, ...OPTION_FIELDS };

const OPTIONS_OF_BATCHES = Object.entries(OPTION_FIELDS).filter(([name]) => !(name in NOT_IN_BATCHES));
const FIELDS_OF_BATCHES: FieldRules = { ...BATCH_FIELDS, ...Object.fromEntries(OPTIONS_OF_BATCHES) };

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
  if (!isPlainObject(given)) return refused('a job must be a JSON object');
  const { request, ...options } = fieldsOf(given);
  // Pasted ids often come with a space or a line break.
  if (typeof options.taskId === 'string') options.taskId = options.taskId.trim();
  const wrong = fieldProblems({ request, ...options }, ONE_JOB_FIELDS, 'a job');
  if (wrong.length > 0) return refused(wrong.join('; '));
  if ((request === undefined) === (options.taskId === undefined)) return refused(JOB_SOURCE_RULE);
  const problem = choiceProblem(options);
  if (problem !== undefined) return refused(problem);
  if (request === undefined) return accepted(options);
  const checked = parseRequest(request, requestFields);
  return checked.ok ? accepted({ request: checked.request, ...options }) : checked;
}

/** A valid batch, or what is wrong with it. */
export type ParsedBatchInput = { ok: true; input: BatchInput } | { ok: false; problem: string };

/**
 * Parses what a caller passes for a batch.
 *
 * @example
 * ```ts
 * const parsed = parseBatchInput({ requestsFrom: 'foxes.jsonl', window: 5 });
 * if (!parsed.ok) console.error(parsed.problem);
 * ```
 */
export function parseBatchInput(given: unknown, requestFields: readonly string[] = []): ParsedBatchInput {
  if (!isPlainObject(given)) return refused('a batch must be a JSON object');
  const { requests, ...options } = fieldsOf(given);
  const wrong = [
    batchOptionProblem(options) ?? fieldProblems({ requests, ...options }, FIELDS_OF_BATCHES, 'a batch'),
  ].flat();
  if (wrong.length > 0) return refused(wrong.join('; '));
  if ((requests === undefined) === (options.requestsFrom === undefined)) return refused(BATCH_SOURCE_RULE);
  if (!isBatchStorage(options.storage)) return refused(`storage ${BATCH_STORAGE_RULE}`);
  const problem = choiceProblem(options);
  if (problem !== undefined) return refused(problem);
  if (!Array.isArray(requests)) return accepted(options);
  const checked = [];
  for (const [index, request] of requests.entries()) {
    const one = parseRequest(request, requestFields);
    if (!one.ok) return refused(`requests[${index}]: ${one.problem}`);
    checked.push(one.request);
  }
  const tooLarge = requestsSizeProblem(checked);
  return tooLarge === undefined ? accepted({ requests: checked, ...options }) : refused(tooLarge);
}

/** Undefined counts as absent. */
function fieldsOf(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Its fields have passed their rules. */
function accepted<Input>(checked: object): { ok: true; input: Input } {
  return { ok: true, input: checked as Input };
}

function refused(problem: string): { ok: false; problem: string } {
  return { ok: false, problem };
}
