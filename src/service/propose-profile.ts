import { parseJson } from './answer-paths';
import {
  ERROR_WORDS,
  hasWord,
  type Leaf,
  likelyLeavesOf,
  profilePath,
  SCORES,
  wordsOf,
} from './likely-paths';
import { parseProfile, type ServiceProfile } from './profile';
import { type Field, type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { linkFrom, taskIdFrom } from './read-values';
import { type AnswerPath, DEFAULT_RULES, isEnvelopeWord, type NamedState } from './reading-rules';
import { readingRules } from './rules-of-profile';
import type { ServiceAnswer } from './video-service';

/** A recorded answer, with the call that it answers if that is known. */
export interface AnswerSample extends HttpAnswer {
  call?: ServiceAnswer['call'];
}

export interface ProposedProfile {
  /** Only what helps: empty when everything is understood, or when nothing can be guessed. */
  profile: ServiceProfile;
  /** Questions that only the user can answer, a sentence each. */
  notes: string[];
}

interface Sample {
  answer: AnswerSample;
  leaves: Leaf[];
}

interface ReadSample extends Sample {
  reading: TracedReading;
}

/** The name of each field in a profile. */
const PROFILE_FIELDS = {
  videoUrl: 'video',
  taskId: 'taskId',
  code: 'code',
  message: 'message',
  state: 'state',
  percent: 'progress',
} as const satisfies Record<Field, keyof NonNullable<ServiceProfile['read']>>;

// The link and the error come before the state, because they show what an unknown word means.
const ORDER = ['videoUrl', 'taskId', 'code', 'message', 'state', 'percent'] as const satisfies Field[];

/**
 * Guesses a profile for what the profile in use does not understand in the answers of one service. Every line of it is
 * checked: with it more is read than without it, and nothing that was understood is lost.
 */
export function proposeProfile(
  answers: readonly AnswerSample[],
  inUse: ServiceProfile = {},
): ProposedProfile {
  const samples = answers.map((answer) => ({ answer, leaves: likelyLeavesOf(parseJson(answer.body)) }));
  let profile: ServiceProfile = {};
  for (const field of ORDER) {
    profile = addPaths(field, profile, samples, inUse);
  }
  const { states, unclear } = guessStates(samples, mergeProfiles(inUse, profile));
  if (Object.keys(states).length > 0) profile = { ...profile, states };
  return { profile, notes: [...idNotes(profile, samples), ...unclear.map(question)] };
}

/** The profile in use with the additions of a proposal. */
export function mergeProfiles(inUse: ServiceProfile, more: ServiceProfile): ServiceProfile {
  const states = { ...inUse.states };
  for (const [state, words] of Object.entries(more.states ?? {}) as [NamedState, string[]][]) {
    states[state] = [...(states[state] ?? []), ...words];
  }
  const read = { ...inUse.read, ...more.read };
  return {
    ...inUse,
    ...more,
    ...(Object.keys(read).length > 0 && { read }),
    ...(Object.keys(states).length > 0 && { states }),
  };
}

/** Adds paths for one field until every answer has it: a service may use another path in each of its answers. */
function addPaths(
  field: Field,
  profile: ServiceProfile,
  samples: readonly Sample[],
  inUse: ServiceProfile,
): ServiceProfile {
  const readWith = (proposal: ServiceProfile): ReadSample[] => {
    const rules = readingRules(mergeProfiles(inUse, proposal));
    return samples.map((sample) => ({ ...sample, reading: traceAnswer(sample.answer, rules) }));
  };
  let best = profile;
  let read = readWith(profile);
  // The paths of a profile replace the default ones, so those that work are listed with the new one.
  const working = read.filter((sample) => !lacks(field, sample)).map(({ reading }) => reading.found[field]);
  let paths = [...new Set(working.filter((path) => path !== undefined).map(profilePath))];
  for (const path of candidates(field, read)) {
    if (paths.length >= MAX_PATHS || !read.some((sample) => lacks(field, sample))) break;
    const more = [...paths, path];
    const fields = { ...best.read, [PROFILE_FIELDS[field]]: more.length === 1 ? path : more };
    const parsed = parseProfile({ ...best, read: fields });
    if (!parsed.ok) continue;
    const after = readWith(parsed.profile);
    if (!helps(field, path, read, after)) continue;
    best = parsed.profile;
    read = after;
    paths = more;
  }
  return best;
}

const MAX_PATHS = 5;
const MAX_CANDIDATES = 8;

/** Whether the new path fills the field in an answer that lacked it, and every other answer is read as before. */
function helps(
  field: Field,
  newPath: AnswerPath,
  before: readonly ReadSample[],
  after: readonly ReadSample[],
): boolean {
  let gained = false;
  for (const [index, was] of before.entries()) {
    const path = after[index]?.reading.found[field];
    if (path === was.reading.found[field]) continue;
    const isNew = path !== undefined && profilePath(path) === newPath;
    if (!isNew || (was.reading.found[field] !== undefined && !lacks(field, was))) return false;
    gained ||= lacks(field, was);
  }
  return gained;
}

/** Whether the answer should have this field but does not. */
function lacks(field: Field, { answer: { call, status }, reading }: ReadSample): boolean {
  const isGood = status >= 200 && status <= 299;
  const isMissing = reading.found[field] === undefined;
  switch (field) {
    case 'taskId':
      return (
        isMissing && isGood && reading.refusal === undefined && (call === undefined || call === 'submit')
      );
    case 'state':
      // "ok" around a task that has no video yet is about the call.
      return (
        isGood &&
        isOfTask(call) &&
        (isMissing || (isEnvelopeWord(reading.task.word) && reading.found.videoUrl === undefined))
      );
    case 'videoUrl':
    case 'percent':
      return isMissing && isGood && isOfTask(call);
    case 'code':
    case 'message':
      return isMissing;
  }
}

const isOfTask = (call: AnswerSample['call']) => call === undefined || call === 'submit' || call === 'poll';

/** Paths where the field may be, the likeliest first, from the answers that lack it. */
function candidates(field: Field, samples: readonly ReadSample[]): AnswerPath[] {
  const scores = new Map<AnswerPath, number>();
  for (const { answer, leaves, reading } of samples.filter((sample) => lacks(field, sample))) {
    const used = Object.values(reading.found).map(profilePath);
    for (const leaf of leaves) {
      const isUsed = used.includes(leaf.path) || (field === 'taskId' && isIdOfCall(leaf, reading));
      const score = isUsed ? 0 : SCORES[field](leaf, answer);
      if (score > 0) scores.set(leaf.path, Math.max(score, scores.get(leaf.path) ?? 0));
    }
  }
  // The sort is stable, and leaves come from the top of an answer down.
  const ranked = [...scores].sort(([, a], [, b]) => b - a).map(([path]) => path);
  return ranked.slice(0, MAX_CANDIDATES);
}

/** An id that the reader ignored because of the code next to it, which may mean a refusal. */
function isIdOfCall({ path }: Leaf, { found }: TracedReading): boolean {
  const name = path.split('.').at(-1) ?? '';
  return found.code !== undefined && DEFAULT_RULES.paths.callIds.includes(name);
}

/** What the unknown state words mean, as far as the answers show it. */
function guessStates(samples: readonly Sample[], profile: ServiceProfile) {
  const rules = readingRules(profile);
  const guesses = new Map<string, Set<NamedState | undefined>>();
  for (const { answer } of samples) {
    const { found, task } = traceAnswer(answer, rules);
    const isGood = answer.status >= 200 && answer.status <= 299;
    // "done: true" is not a word of the service.
    if (!isGood || task.word === '' || task.word.startsWith('done: ')) continue;
    if (rules.stateOf(task.word) !== undefined) continue;
    const isError = [found.code, found.message].some(
      (path) => path !== undefined && hasWord(path.split('.').map(wordsOf), ERROR_WORDS),
    );
    const guess = found.videoUrl !== undefined ? 'succeeded' : isError ? 'failed' : undefined;
    guesses.set(task.word, (guesses.get(task.word) ?? new Set()).add(guess));
  }
  const states: NonNullable<ServiceProfile['states']> = {};
  const unclear: string[] = [];
  for (const [word, [guess, ...others]] of guesses) {
    // A word that comes with a video in one answer and without one in another does not mean succeeded.
    if (guess === undefined || others.length > 0) unclear.push(word);
    else states[guess] = [...(states[guess] ?? []), asWritten(word)];
  }
  return { states, unclear };
}

/** As YAML and JSON write it: numbers as numbers. */
function asWritten(word: string): string | number {
  const number = Number(word);
  return Number.isSafeInteger(number) && String(number) === word ? number : word;
}

function question(word: string): string {
  const example = `states: { running: [${JSON.stringify(asWritten(word))}] }`;
  return `What does ${JSON.stringify(word)} mean? Put it under queued, running, succeeded, failed or cancelled, such as ${example}.`;
}

function idNotes({ read }: ServiceProfile, samples: readonly Sample[]): string[] {
  const isSure = samples.some(({ answer }) => answer.call === 'submit');
  if (read?.taskId === undefined || isSure) return [];
  return ['The task id is read from the answer to the submit: leave taskId out if none of these is one.'];
}

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
    for (const { path, value } of likelyLeavesOf(parseJson(answer.body))) {
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
const OF_CALL = new Set('message msg version date time timestamp created updated at'.split(' '));
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
