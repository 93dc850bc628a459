import { parseRequest, type VideoRequest } from './request';

/** Enough for one sentence. */
const MOST_PROBLEMS_NAMED = 5;

/** The problem of one line, counted as editors do; without `line`, that of the whole file. */
export interface LineProblem {
  line?: number;
  problem: string;
}

/** The requests of a JSONL file, or what is wrong with each line. */
export type ParsedRequests =
  | { ok: true; requests: VideoRequest[] }
  | { ok: false; problem: string; problems: LineProblem[] };

/**
 * Parses a JSONL file with one request per line, or names the problems of its lines, as a list and as one sentence.
 *
 * @example
 * ```ts
 * const parsed = parseRequestLines(await readFile('foxes.jsonl', 'utf8'));
 * if (!parsed.ok) console.error(parsed.problem);
 * ```
 */
export function parseRequestLines(text: string, requestFields: readonly string[] = []): ParsedRequests {
  const requests: VideoRequest[] = [];
  const problems: LineProblem[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const parsed = parseLine(line, requestFields);
    if (parsed.ok) requests.push(parsed.request);
    else problems.push({ line: index + 1, problem: parsed.problem });
  }
  if (problems.length === 0 && requests.length === 0) problems.push({ problem: 'there is no request in it' });
  if (problems.length === 0) return { ok: true, requests };
  return { ok: false, problem: describe(problems), problems };
}

function describe(problems: readonly LineProblem[]): string {
  const named = problems
    .slice(0, MOST_PROBLEMS_NAMED)
    .map(({ line, problem }) => (line === undefined ? problem : `line ${line}: ${problem}`));
  const more = problems.length - named.length;
  return named.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function parseLine(line: string, requestFields: readonly string[]) {
  try {
    return parseRequest(JSON.parse(line), requestFields);
  } catch {
    return { ok: false as const, problem: 'not a JSON object on one line' };
  }
}
