import { z } from 'zod';
import { cleanText, isRecord, jsonIn } from './clean-text';
import { describeNames, describeValue } from './redact-links';
import { requestSizeProblem } from './sizes';

/** The values of `resolution`. */
export const RESOLUTIONS = ['480p', '720p', '1080p'] as const;
/** The values of `aspect_ratio`. */
export const ASPECT_RATIOS = ['16:9', '9:16', '4:3', '3:4', '21:9', '1:1'] as const;
/** The largest `duration`, in seconds. */
export const MAX_DURATION_SECONDS = 10;

const LONGEST_FIELD_CHARS = 100;

/**
 * The request of the service's interface (section 2.1), field by field: the caller, the Temporal UI and the service see the
 * same object. Rules that the interface does not state (shortest duration, longest prompt) are left to the service.
 */
export const requestSchema = z.strictObject({
  prompt: z.string('must be a string').refine((prompt) => prompt.trim() !== '', 'must not be empty'),
  image_url: z.url('must be a URL').optional(),
  resolution: z.enum(RESOLUTIONS, `must be one of ${RESOLUTIONS.join(', ')}`).optional(),
  aspect_ratio: z.enum(ASPECT_RATIOS, `must be one of ${ASPECT_RATIOS.join(', ')}`).optional(),
  duration: z
    .number('must be a whole number')
    .refine(Number.isInteger, 'must be a whole number')
    .max(MAX_DURATION_SECONDS, `must be at most ${MAX_DURATION_SECONDS}`)
    .optional(),
  // JSON cannot represent larger integers exactly, so another seed would arrive.
  seed: z.int(`must be a whole number of at most ${Number.MAX_SAFE_INTEGER}`).optional(),
});

/** What the video service is asked for: a prompt, and fields such as resolution and duration. */
export type VideoRequest = z.infer<typeof requestSchema>;

/** A valid request, or what is wrong with it. */
export type ParsedRequest =
  | { ok: true; request: VideoRequest }
  | { ok: false; problem: string /** The first field that is wrong, if it is one. */; field?: string };

/**
 * Parses a request, or names every wrong field and its rule in one sentence. `requestFields` are those that the service accepts
 * beyond the interface; they pass unchecked.
 */
export function parseRequest(input: unknown, requestFields: readonly string[] = []): ParsedRequest {
  const { known, extra } = isRecord(input) ? divide(input, requestFields) : { known: input, extra: {} };
  const parsed = requestSchema.safeParse(known);
  if (parsed.success) {
    const request = { ...parsed.data, ...extra };
    const problem = requestSizeProblem(request);
    return problem === undefined ? { ok: true, request } : { ok: false, problem };
  }
  const { issues } = parsed.error;
  const field = issues.map(fieldOf).find((name) => name !== undefined);
  return { ok: false, problem: issues.map((issue) => describeIssue(issue, input)).join('; '), field };
}

function divide(input: Record<string, unknown>, requestFields: readonly string[]) {
  const isExtra = (name: string) => requestFields.includes(name) && !Object.hasOwn(requestSchema.shape, name);
  const entries = Object.entries(input);
  return {
    known: Object.fromEntries(entries.filter(([name]) => !isExtra(name))),
    extra: Object.fromEntries(entries.filter(([name]) => isExtra(name))),
  };
}

function fieldOf(issue: z.core.$ZodIssue): string | undefined {
  const name = issue.code === 'unrecognized_keys' ? issue.keys[0] : issue.path[0];
  return name === undefined ? undefined : cleanText(String(name), LONGEST_FIELD_CHARS);
}

function describeIssue(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === 'unrecognized_keys')
    return `${describeNames(issue.keys)}: not a field of the request; the fields are ${Object.keys(requestSchema.shape).join(', ')}`;
  const field = issue.path[0];
  if (field === undefined) return 'the request must be a JSON object with a prompt';
  const given = isRecord(input) ? input[String(field)] : undefined;
  return given === undefined
    ? `${String(field)} is missing`
    : `${String(field)} ${issue.message} (was ${describeValue(given)})`;
}

/** Who corrects these finds the rest the next time. */
const MOST_PROBLEMS_NAMED = 10;

/** The requests of a JSONL file, or what is wrong with its first wrong lines. */
type ParsedRequests = { ok: true; requests: VideoRequest[] } | { ok: false; problems: string[] };

const NOT_JSON = { ok: false, problem: 'not a JSON object on one line' } as const;

/**
 * Parses a JSONL file with one request per line, or names its wrong lines in a format that editors can open, such as
 * `foxes.jsonl:4: prompt is missing`.
 */
export function parseRequestLines(
  text: string,
  file: string,
  requestFields: readonly string[] = [],
): ParsedRequests {
  const requests: VideoRequest[] = [];
  const problems: string[] = [];
  const lines = text.replace(/^\uFEFF/, '').split('\n');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const value = jsonIn(line);
    const parsed = value === undefined ? NOT_JSON : parseRequest(value, requestFields);
    if (parsed.ok) requests.push(parsed.request);
    // Counted as editors do.
    else problems.push(`${file}:${index + 1}: ${parsed.problem}`);
  }
  if (problems.length === 0 && requests.length === 0) problems.push(`${file}: there is no request in it`);
  if (problems.length === 0) return { ok: true, requests };
  const more = problems.length - MOST_PROBLEMS_NAMED;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return { ok: false, problems: [...problems.slice(0, MOST_PROBLEMS_NAMED), ...rest] };
}
