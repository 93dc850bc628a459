import { parseRequest, type VideoRequest } from './request';

/** More would not help whoever has to correct the file. */
const MOST_PROBLEMS = 5;

/** What is wrong with a line of a file, as editors count lines; without a line it is wrong with all of the file. */
export interface LineProblem {
  line?: number;
  problem: string;
}

export type ParsedRequests =
  | { ok: true; requests: VideoRequest[] }
  | { ok: false; problem: string; problems: LineProblem[] };

/** The requests of a JSONL file, one a line; or what is wrong with which lines, also as one sentence. */
export function parseRequestLines(text: string, further: readonly string[] = []): ParsedRequests {
  const requests: VideoRequest[] = [];
  const problems: LineProblem[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const parsed = parseLine(line, further);
    if (parsed.ok) requests.push(parsed.request);
    else problems.push({ line: index + 1, problem: parsed.problem });
  }
  if (problems.length === 0 && requests.length === 0) problems.push({ problem: 'there is no request in it' });
  if (problems.length === 0) return { ok: true, requests };
  return { ok: false, problem: sentenceOf(problems), problems };
}

function sentenceOf(problems: readonly LineProblem[]): string {
  const told = problems
    .slice(0, MOST_PROBLEMS)
    .map(({ line, problem }) => (line === undefined ? problem : `line ${line}: ${problem}`));
  const more = problems.length - told.length;
  return told.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function parseLine(line: string, further: readonly string[]) {
  try {
    return parseRequest(JSON.parse(line), further);
  } catch {
    return { ok: false as const, problem: 'not a JSON object on one line' };
  }
}
