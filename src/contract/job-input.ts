import { z } from 'zod';
import { durationMs } from './duration';
import type { JobInput } from './job';
import { parseRequest } from './request';

const duration = z.union([z.number(), z.string()]).refine((value) => durationMs(value) !== undefined, {
  error: 'must be milliseconds or a length of time such as "90s", "30m" or "2h"',
});

const jobInputSchema = z.strictObject({
  request: z.unknown().optional(),
  taskId: z.string().trim().min(1, 'must not be empty').optional(),
  deadline: duration.optional(),
  storage: z.string().min(1, 'must not be empty').optional(),
  polling: z.strictObject({ min: duration.optional(), max: duration.optional() }).optional(),
});

export type ParsedJobInput = { ok: true; input: JobInput } | { ok: false; problem: string };

/** Parses what a caller hands over at a door (client, CLI, gateway); a workflow's own input is past it. */
export function parseJobInput(given: unknown): ParsedJobInput {
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
  const checked = parseRequest(request);
  return checked.ok ? { ok: true, input: { request: checked.request, ...options } } : checked;
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `${issue.keys.join(', ')}: not a field of a job; the fields are ${Object.keys(jobInputSchema.shape).join(', ')}`;
  }
  const at = issue.path.join('.');
  return at === '' ? 'a job must be a JSON object' : `${at} ${issue.message}`;
}
