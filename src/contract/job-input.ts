import { type BatchInput, batchProblems } from './batch';
import type { VideoInput } from './fallback';
import { FALLBACK_FIELDS, isPlainObject, JOB_FIELDS, jobProblems } from './input-rules';
import { parseRequest } from './request';
import { requestsSizeProblem } from './sizes';

/** The fields of a job that say how it is done, not what it is for. */
export const JOB_OPTION_FIELDS = Object.keys({ ...JOB_FIELDS, ...FALLBACK_FIELDS }).filter(
  (name) => name !== 'taskId',
);

/** A valid job, or what is wrong with it. */
export type ParsedJobInput = { ok: true; input: VideoInput } | { ok: false; problem: string };

/**
 * Parses what a caller passes to the client, the CLI, the gateway or Nexus. `requestFields` are the fields that the service
 * accepts beyond the interface.
 */
export function parseJobInput(given: unknown, requestFields: readonly string[] = []): ParsedJobInput {
  if (!isPlainObject(given)) return refused('a job must be a JSON object');
  const { request, ...options } = fieldsOf(given);
  // Pasted ids often come with a space or a line break.
  if (typeof options.taskId === 'string') options.taskId = options.taskId.trim();
  const wrong = jobProblems({ request, ...options }, 'a job');
  if (wrong.length > 0) return refused(wrong.join('; '));
  if (request === undefined) return accepted(options);
  const checked = parseRequest(request, requestFields);
  return checked.ok ? accepted({ request: checked.request, ...options }) : checked;
}

/** A valid batch, or what is wrong with it. */
export type ParsedBatchInput = { ok: true; input: BatchInput } | { ok: false; problem: string };

/** Parses what a caller passes for a batch. */
export function parseBatchInput(given: unknown, requestFields: readonly string[] = []): ParsedBatchInput {
  if (!isPlainObject(given)) return refused('a batch must be a JSON object');
  const { requests, ...options } = fieldsOf(given);
  const wrong = batchProblems({ requests, ...options }, 'a batch');
  if (wrong.length > 0) return refused(wrong.join('; '));
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
