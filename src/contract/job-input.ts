import { type BatchInput, batchProblems } from './batch';
import { isRecord } from './clean-text';
import { jobProblems } from './input-rules';
import type { VideoInput } from './job';
import { parseRequest } from './request';
import { requestsSizeProblem } from './sizes';

/** A valid input, or what is wrong with it. */
type Parsed<Input> = { ok: true; input: Input } | { ok: false; problem: string };

/**
 * Parses what a caller passes to the client, the CLI, the gateway or Nexus. `requestFields` are the fields that the service
 * accepts beyond the interface.
 */
export function parseJobInput(given: unknown, requestFields: readonly string[] = []): Parsed<VideoInput> {
  if (!isRecord(given)) return refused('a job must be a JSON object');
  const { request, ...options } = fieldsOf(given);
  // Pasted ids often come with a space or a line break.
  if (typeof options.taskId === 'string') options.taskId = options.taskId.trim();
  const wrong = jobProblems({ request, ...options }, 'a job');
  if (wrong.length > 0) return refused(wrong.join('; '));
  if (request === undefined) return accepted(options);
  const checked = parseRequest(request, requestFields);
  return checked.ok ? accepted({ request: checked.request, ...options }) : checked;
}

/** Parses what a caller passes for a batch. */
export function parseBatchInput(given: unknown, requestFields: readonly string[] = []): Parsed<BatchInput> {
  if (!isRecord(given)) return refused('a batch must be a JSON object');
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

/** Null counts as absent: some SDKs send it for an unset field. */
function fieldsOf(given: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
}

/** Its fields have passed their rules. */
const accepted = <Input>(checked: object): Parsed<Input> => ({ ok: true, input: checked as Input });

const refused = (problem: string) => ({ ok: false, problem }) as const;
