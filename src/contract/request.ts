import { z } from 'zod';
import { editDistance } from './edit-distance';
import { requestSizeProblem } from './sizes';

export const RESOLUTIONS = ['480p', '720p', '1080p'] as const;
export const ASPECT_RATIOS = ['16:9', '9:16', '4:3', '3:4', '21:9', '1:1'] as const;
export const MAX_DURATION_SECONDS = 10;

/** More than this is not a request with mistakes in it, and a failure has to fit into Temporal's message. */
const MOST_PROBLEMS = 20;

/**
 * Section 2.1 of the service's interface, word for word: the caller, the Temporal UI and the service see the same
 * object. A rule the interface does not state (shortest duration, longest prompt) is left to the service.
 */
export const requestSchema = z.strictObject({
  prompt: z.string().refine((prompt) => prompt.trim() !== '', 'must not be empty'),
  image_url: z.url().optional(),
  resolution: z.enum(RESOLUTIONS).optional(),
  aspect_ratio: z.enum(ASPECT_RATIOS).optional(),
  duration: z.int().max(MAX_DURATION_SECONDS).optional(),
  seed: z.int().optional(),
});

export type VideoRequest = z.infer<typeof requestSchema>;

export type ParsedRequest = { ok: true; request: VideoRequest } | { ok: false; problem: string };

/**
 * The request, or one sentence that names every field that is wrong and what it should be. `further` fields, which a
 * service has beyond the interface, pass as they are.
 */
export function parseRequest(input: unknown, further: readonly string[] = []): ParsedRequest {
  const { own, beyond } = isRecord(input) ? divide(input, further) : { own: input, beyond: {} };
  const parsed = requestSchema.safeParse(own);
  if (parsed.success) {
    const request = { ...parsed.data, ...beyond };
    const problem = requestSizeProblem(request);
    return problem === undefined ? { ok: true, request } : { ok: false, problem };
  }
  const problems = parsed.error.issues.flatMap((issue) => describeIssue(issue, input));
  const more = problems.splice(MOST_PROBLEMS).length;
  return { ok: false, problem: problems.join('; ') + (more > 0 ? `; and ${more} more` : '') };
}

function divide(input: Record<string, unknown>, further: readonly string[]) {
  const isBeyond = (name: string) => further.includes(name) && !Object.hasOwn(requestSchema.shape, name);
  const entries = Object.entries(input);
  return {
    own: Array.isArray(input) ? input : Object.fromEntries(entries.filter(([name]) => !isBeyond(name))),
    beyond: Object.fromEntries(entries.filter(([name]) => isBeyond(name))),
  };
}

function describeIssue(issue: z.core.$ZodIssue, input: unknown): string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map(describeUnknownField);
  const field = issue.path[0];
  if (field === undefined) return ['the request must be a JSON object with a prompt'];
  const given = isRecord(input) ? input[String(field)] : undefined;
  return given === undefined
    ? [`${String(field)} is missing`]
    : [`${String(field)} ${describeRule(issue)} (was ${show(given)})`];
}

function describeRule(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' ? 'must be a whole number' : `must be a ${issue.expected}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'too_small':
      return `must be at least ${issue.minimum}`;
    case 'invalid_format':
      return 'must be a URL';
    default:
      return issue.message;
  }
}

function describeUnknownField(name: string): string {
  const meant = fieldProbablyMeant(name);
  const fields = Object.keys(requestSchema.shape).join(', ');
  return `${show(name)} is not a field of the request; ${meant ? `did you mean ${meant}?` : `the fields are ${fields}`}`;
}

/** `aspectRatio`, `Aspect-Ratio`, `ratio` and `aspect_raito` all mean `aspect_ratio`. */
export function fieldProbablyMeant(name: string): string | undefined {
  const given = letters(name);
  if (given === '') return undefined;
  const fields = Object.keys(requestSchema.shape);
  return (
    fields.find((field) => letters(field) === given) ??
    fields.find(
      (field) => given.length > 2 && (letters(field).includes(given) || given.includes(letters(field))),
    ) ??
    fields.find((field) => editDistance(letters(field), given) <= 2)
  );
}

function letters(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

/** Never throws, whatever a caller in JavaScript gives. */
function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isRecord(value)) return 'an object';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
