import { parseJson } from './answer-paths';
import { hasWord, leavesOf, profilePath, wordsOf } from './likely-paths';
import { readingRules, type ServiceProfile } from './profile';
import type { AnswerSample } from './propose-profile';
import { type TracedReading, traceAnswer } from './read-answer';
import { linkFrom, taskIdFrom } from './read-values';
import type { AnswerPath } from './reading-rules';

/** A value that may be what was not found. Only the user can say it. */
export interface Candidate {
  field: 'taskId' | 'state' | 'video';
  path: AnswerPath;
  value: string;
}

const MOST_OF_A_FIELD = 5;
/** Longer texts are not words for a state. */
const LONGEST_WORD = 40;
const LONGEST_ID = 200;

/** Values that are left over in answers in which something is missing: lone links, words and ids. */
export function findCandidates(
  answers: readonly AnswerSample[],
  profile: ServiceProfile,
  missingIn: (answer: AnswerSample, reading: TracedReading) => readonly Candidate['field'][],
): Candidate[] {
  const rules = readingRules(profile);
  const found = new Map<string, Candidate>();
  for (const answer of answers) {
    const reading = traceAnswer(answer, rules);
    const missing = missingIn(answer, reading);
    const used = Object.values(reading.found).map(profilePath);
    for (const { path, value } of leavesOf(parseJson(answer.body))) {
      if (used.includes(path)) continue;
      const field = missing.find((one) => FITS[one](value, path));
      if (field !== undefined) found.set(`${field} ${path}`, { field, path, value: String(value) });
    }
  }
  const fields = ['taskId', 'state', 'video'] as const;
  return fields.flatMap((field) =>
    [...found.values()].filter((candidate) => candidate.field === field).slice(0, MOST_OF_A_FIELD),
  );
}

const isLink = (value: unknown) =>
  linkFrom(undefined)(value) !== undefined && /^https?:/i.test(String(value));
const OF_CALL = new Set([
  'message',
  'msg',
  'version',
  'date',
  'time',
  'timestamp',
  'created',
  'updated',
  'at',
]);
const hasBlank = (value: unknown) => /\s/.test(String(value));

/** Wide on purpose: what is certain was proposed already. */
const FITS: Record<Candidate['field'], (value: string | number, path: AnswerPath) => boolean> = {
  video: isLink,
  state: (value, path) =>
    typeof value === 'string' &&
    /^[\p{L}_-]+$/u.test(value) &&
    value.length <= LONGEST_WORD &&
    !hasWord([wordsOf(path)], OF_CALL),
  taskId: (value, path) =>
    taskIdFrom(value) !== undefined &&
    /\d/.test(String(value)) &&
    String(value).length <= LONGEST_ID &&
    !isLink(value) &&
    !hasBlank(value) &&
    !hasWord([wordsOf(path)], OF_CALL),
};
