import { parseRequest, type VideoRequest } from './request';

/** More would not help whoever has to correct the file. */
const MOST_PROBLEMS = 5;

export type ParsedRequests = { ok: true; requests: VideoRequest[] } | { ok: false; problem: string };

/** The requests of a JSONL file, one a line; or one sentence that names the lines that are wrong and why. */
export function parseRequestLines(text: string, further: readonly string[] = []): ParsedRequests {
  const requests: VideoRequest[] = [];
  const problems: string[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .entries()) {
    if (line.trim() === '') continue;
    const parsed = parseLine(line, further);
    if (parsed.ok) requests.push(parsed.request);
    else problems.push(`line ${index + 1}: ${parsed.problem}`);
  }
  if (problems.length === 0 && requests.length === 0) problems.push('there is no request in it');
  if (problems.length === 0) return { ok: true, requests };
  const more = problems.splice(MOST_PROBLEMS).length;
  return { ok: false, problem: problems.join('; ') + (more > 0 ? `; and ${more} more` : '') };
}

function parseLine(line: string, further: readonly string[]) {
  try {
    return parseRequest(JSON.parse(line), further);
  } catch {
    return { ok: false as const, problem: 'not a JSON object on one line' };
  }
}
