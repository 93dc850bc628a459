import { type Leaf, leavesOf, placeOf, wordsOf } from './answer-leaves';
import { DEFAULT_PATHS, parseJson } from './answer-paths';
import { ERROR_WORDS, hasWord, SCORES } from './likely-paths';
import { parseProfile, readingRules, type ServiceProfile } from './profile';
import { type Field, type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { isEnvelopeWord, type NamedState } from './state-words';
import type { ServiceAnswer } from './video-service';

/** An answer that was kept, with what was asked when that is known. */
export interface AnswerToRead extends HttpAnswer {
  call?: ServiceAnswer['call'];
}

export interface ProposedProfile {
  /** Only what helps: empty when everything is understood, or when nothing can be guessed. */
  profile: ServiceProfile;
  /** What only somebody who knows the service can say, a sentence each. */
  notes: string[];
}

interface Studied {
  answer: AnswerToRead;
  leaves: Leaf[];
}

interface Seen extends Studied {
  reading: TracedReading;
}

const READ_NAMES = {
  videoUrl: 'video',
  taskId: 'taskId',
  code: 'code',
  message: 'message',
  state: 'state',
  percent: 'progress',
} as const satisfies Record<Field, keyof NonNullable<ServiceProfile['read']>>;

// The link and the error come before the state: they tell what an unknown word means.
const ORDER = ['videoUrl', 'taskId', 'code', 'message', 'state', 'percent'] as const satisfies Field[];

/**
 * A profile that reads what is not understood in these answers of one service, beyond the profile in use. A guess, but
 * a checked one: with each line more is read than without it, and nothing that was understood is lost.
 */
export function proposeProfile(
  answers: readonly AnswerToRead[],
  inUse: ServiceProfile = {},
): ProposedProfile {
  const studied = answers.map((answer) => ({ answer, leaves: leavesOf(parseJson(answer.body)) }));
  let profile: ServiceProfile = {};
  for (const field of ORDER) {
    profile = addPlaces(field, profile, studied, inUse);
  }
  const { states, unclear } = meanings(studied, together(inUse, profile));
  if (Object.keys(states).length > 0) profile = { ...profile, states };
  return { profile, notes: [...idNotes(profile, studied), ...unclear.map(question)] };
}

/** What a profile says, with what a proposal adds to it. */
export function together(inUse: ServiceProfile, more: ServiceProfile): ServiceProfile {
  const states = { ...inUse.states };
  for (const [state, words] of Object.entries(more.states ?? {}) as [NamedState, string[]][]) {
    states[state] = [...(states[state] ?? []), ...words];
  }
  return { ...inUse, ...more, read: { ...inUse.read, ...more.read }, states };
}

/** The profile with places for one field, as many as it takes: a service may have one for each of its answers. */
function addPlaces(
  field: Field,
  profile: ServiceProfile,
  studied: readonly Studied[],
  inUse: ServiceProfile,
): ServiceProfile {
  const readBy = (proposal: ServiceProfile): Seen[] => {
    const rules = readingRules(together(inUse, proposal));
    return studied.map((one) => ({ ...one, reading: traceAnswer(one.answer, rules) }));
  };
  let best = profile;
  let seen = readBy(profile);
  // AnswerPaths of a profile replace the usual ones, so those that serve are named beside the new one.
  const serving = seen.filter((one) => !wants(field, one)).map(({ reading }) => reading.found[field]);
  let places = [...new Set(serving.filter((at) => at !== undefined).map(placeOf))];
  for (const place of candidates(field, seen)) {
    if (places.length >= MOST_PLACES || !seen.some((one) => wants(field, one))) break;
    const more = [...places, place];
    const read = { ...best.read, [READ_NAMES[field]]: more.length === 1 ? place : more };
    const parsed = parseProfile({ ...best, read });
    if (!parsed.ok) continue;
    const after = readBy(parsed.profile);
    if (!helps(field, place, seen, after)) continue;
    best = parsed.profile;
    seen = after;
    places = more;
  }
  return best;
}

const MOST_PLACES = 5;
const MOST_CANDIDATES = 8;

/** One answer that wanted the field has it, from the new place; what was read before is read as before. */
function helps(field: Field, place: string, before: readonly Seen[], after: readonly Seen[]): boolean {
  let gained = false;
  for (const [index, was] of before.entries()) {
    const at = after[index]?.reading.found[field];
    if (at === was.reading.found[field]) continue;
    const isNew = at !== undefined && placeOf(at) === place;
    if (!isNew || (was.reading.found[field] !== undefined && !wants(field, was))) return false;
    gained ||= wants(field, was);
  }
  return gained;
}

/** True when the answer should tell this, and does not. */
function wants(field: Field, { answer: { call, status }, reading }: Seen): boolean {
  const isGood = status >= 200 && status <= 299;
  const isMissing = reading.found[field] === undefined;
  switch (field) {
    case 'taskId':
      return (
        isMissing && isGood && reading.refusal === undefined && (call === undefined || call === 'submit')
      );
    case 'state':
      // "ok" around a task that has no video yet speaks of the call.
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

const isOfTask = (call: AnswerToRead['call']) => call === undefined || call === 'submit' || call === 'poll';

/** AnswerPaths where the field may be, the likeliest first, from the answers that want it. */
function candidates(field: Field, seen: readonly Seen[]): string[] {
  const scores = new Map<string, number>();
  for (const { answer, leaves, reading } of seen.filter((one) => wants(field, one))) {
    const used = Object.values(reading.found).map(placeOf);
    for (const leaf of leaves) {
      const isUsed = used.includes(leaf.place) || (field === 'taskId' && isOfCall(leaf, reading));
      const score = isUsed ? 0 : SCORES[field](leaf, answer);
      if (score > 0) scores.set(leaf.place, Math.max(score, scores.get(leaf.place) ?? 0));
    }
  }
  // The sort is stable, and leaves come from the top of an answer down.
  const ranked = [...scores].sort(([, a], [, b]) => b - a).map(([place]) => place);
  return ranked.slice(0, MOST_CANDIDATES);
}

/** The reader has seen it, and a code beside it that may be a refusal. */
function isOfCall({ place }: Leaf, { found }: TracedReading): boolean {
  const name = place.split('.').at(-1) ?? '';
  return found.code !== undefined && DEFAULT_PATHS.callIds.includes(name);
}

/** What the words mean that nobody knows, as far as the answers around them tell. */
function meanings(studied: readonly Studied[], profile: ServiceProfile) {
  const rules = readingRules(profile);
  const told = new Map<string, Set<NamedState | undefined>>();
  for (const { answer } of studied) {
    const { found, task } = traceAnswer(answer, rules);
    const isGood = answer.status >= 200 && answer.status <= 299;
    if (!isGood || found.state === undefined || found.state === 'done' || task.word === '') continue;
    if (rules.stateOf(task.word) !== undefined) continue;
    const isError = [found.code, found.message].some(
      (at) => at !== undefined && hasWord(at.split('.').map(wordsOf), ERROR_WORDS),
    );
    const meaning = found.videoUrl !== undefined ? 'succeeded' : isError ? 'failed' : undefined;
    told.set(task.word, (told.get(task.word) ?? new Set()).add(meaning));
  }
  const states: NonNullable<ServiceProfile['states']> = {};
  const unclear: string[] = [];
  for (const [word, [meaning, ...others]] of told) {
    // A word that stands beside a video here and beside none there does not say that there is one.
    if (meaning === undefined || others.length > 0) unclear.push(word);
    else states[meaning] = [...(states[meaning] ?? []), asWritten(word)];
  }
  return { states, unclear };
}

/** Numbers are written as numbers. */
function asWritten(word: string): string | number {
  const number = Number(word);
  return Number.isSafeInteger(number) && String(number) === word ? number : word;
}

function question(word: string): string {
  const example = `states: { running: [${JSON.stringify(asWritten(word))}] }`;
  return `What does ${JSON.stringify(word)} mean? Put it under queued, running, succeeded, failed or cancelled, such as ${example}.`;
}

function idNotes({ read }: ServiceProfile, studied: readonly Studied[]): string[] {
  const isSure = studied.some(({ answer }) => answer.call === 'submit');
  if (read?.taskId === undefined || isSure) return [];
  return ['The task id is read from the answer to the submit: leave taskId out if none of these is one.'];
}
