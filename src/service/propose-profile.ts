import { leavesOf, parseJson, profilePath } from './answer-paths';
import type { ServiceProfile } from './profile';
import { ANSWER_PATH } from './profile-forms';
import { type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { linkFrom, nameFrom, percentFrom, taskIdFrom, textFrom } from './read-values';
import {
  type AnswerPath,
  DEFAULT_RULES,
  isEnvelopeWord,
  type NamedState,
  type ReadField,
  readingRules,
} from './reading-rules';
import type { ServiceAnswer } from './video-service';

/** A recorded answer, with the call that it answers if that is known. */
export interface AnswerSample extends HttpAnswer {
  call?: ServiceAnswer['call'];
}

export interface ProposedProfile {
  /** The profile in use with what helps; undefined when everything is understood, or when nothing can be guessed. */
  profile?: ServiceProfile;
  /** Questions that only the user can answer, a sentence each. */
  notes: string[];
  /** Values that may be what is still missing. */
  candidates: Candidate[];
}

/** A value that may be what was not found. Only the user can say it. */
export interface Candidate {
  field: ReadField;
  path: AnswerPath;
  value: string;
}

/** A text or number in an answer, with the words of its own key and of all keys to it: `ticketNo` is "ticket no". */
interface Leaf {
  path: AnswerPath;
  value: string | number;
  key: string;
  keys: string;
  status: number;
}

const has = (list: string) => {
  const pattern = new RegExp(`\\b(${list.replaceAll(' ', '|')})\\b`);
  return (words: string) => pattern.test(words);
};

const isId = has('id uuid guid handle reference ref identifier');
const isNumber = has('no nr num number ticket job task operation');
const isTask = has(
  'task job ticket generation render rendering operation prediction video order work process run request creation',
);
const isOthersId = has(
  'user account org organization team customer tenant client app model trace span session owner project workspace region seed version error queue position file event webhook callback parent template style image frame page count total key token secret author credit plan batch server host worker node correlation',
);
const isState = has('phase stage status state step lifecycle');
const isVideo = has('video videos mp4 webm mov movie clip clips film download deliverable deliverables');
const isLink = has(
  'url urls uri href link links file files src result results output outputs asset assets media content location product path',
);
const isOtherLink = has(
  'cover covers thumb thumbnail thumbnails poster preview previews image images img picture watermark watermarked frame frames webhook callback poll polling status cancel self avatar icon logo docs help audio subtitle caption license terms input inputs request source error errors log logs next previous dashboard upload',
);
const isProgress = has('progress percent percentage pct completion');
const isOfError = has(
  'error errors err fail failed failure exception problem fault rejection violation refusal rejected',
);
const isCode = has('code type kind errno errcode');
const isMessage = has('message msg reason detail details description text title explanation cause');
const isOfCall = has('message msg version date time timestamp created updated at');

const VIDEO_FILE = /\.(mp4|webm|mov|m4v|mkv)$/i;
const OTHER_FILE = /\.(png|jpe?g|webp|gif|svg|json|txt|html?|srt|vtt|mp3|wav|m4a|pdf|zip)$/i;
const fileOf = ({ value }: Leaf) => String(value).split(/[?#]/)[0] ?? '';
const isHttp = ({ value }: Leaf) =>
  /^https?:/i.test(String(value)) && linkFrom(undefined)(value) !== undefined;
const isWord = ({ value }: Leaf) => !/\s/.test(String(value)) && !/^[a-z]+:\/\//i.test(String(value));
const stateOf = ({ value }: Leaf) => {
  const word = nameFrom(value) ?? '';
  return isEnvelopeWord(word) ? undefined : DEFAULT_RULES.stateOf(word);
};
const isFailure = ({ keys, status }: Leaf) => isOfError(keys) || status > 299;

/** What each value looks like: `can` is what it must be, `likely` are signs that it is, the clearest first. */
const LOOKS: Record<ReadField, { can: (leaf: Leaf) => boolean; likely: ((leaf: Leaf) => boolean)[] }> = {
  // The link and the error come before the state, because they show what an unknown word means.
  video: {
    can: (leaf) =>
      linkFrom(undefined)(leaf.value) !== undefined &&
      !isOtherLink(leaf.keys) &&
      !OTHER_FILE.test(fileOf(leaf)),
    likely: [
      (leaf) => VIDEO_FILE.test(fileOf(leaf)),
      ({ keys }) => isVideo(keys),
      (leaf) => isHttp(leaf) && isLink(leaf.key) && isLink(leaf.keys.slice(0, -leaf.key.length)),
    ],
  },
  taskId: {
    can: (leaf) => taskIdFrom(leaf.value) !== undefined && isWord(leaf) && !isOthersId(leaf.keys),
    likely: [
      ({ key, keys }) => isId(key) && isTask(keys),
      ({ key, keys }) => isNumber(key) && isTask(keys),
      ({ key }) => isId(key),
    ],
  },
  code: {
    can: (leaf) => nameFrom(leaf.value) !== undefined && isWord(leaf) && leaf.value !== leaf.status,
    likely: [(leaf) => isCode(leaf.key) && isFailure(leaf)],
  },
  message: {
    can: (leaf) => textFrom(leaf.value) !== undefined && !isHttp(leaf),
    likely: [
      (leaf) => isMessage(leaf.key) && isFailure(leaf),
      (leaf) => isOfError(leaf.keys) && /\s/.test(String(leaf.value)),
    ],
  },
  state: {
    can: (leaf) =>
      isWord(leaf) &&
      leaf.value !== leaf.status &&
      !isMessage(leaf.key) &&
      !isCode(leaf.key) &&
      !isOfError(leaf.keys),
    likely: [
      (leaf) => isState(leaf.key) && stateOf(leaf) !== undefined,
      ({ key, value }) => isState(key) && typeof value === 'string',
      (leaf) => isState(leaf.key) || stateOf(leaf) !== undefined,
    ],
  },
  progress: {
    can: ({ value, keys }) => percentFrom(value) !== undefined && !isOfError(keys),
    likely: [({ key }) => isProgress(key)],
  },
};

/** What may be a missing value without any sign of it. */
const POSSIBLE: Partial<Record<ReadField, (leaf: Leaf) => boolean>> = {
  taskId: ({ value, keys }) => /\d/.test(String(value)) && !isOfCall(keys),
  state: ({ value, keys }) => /^[\p{L}_-]{1,40}$/u.test(String(value)) && !isOfCall(keys),
  video: isHttp,
};
const MOST_CANDIDATES = 5;

/**
 * Guesses a profile for what the profile in use does not understand in the answers of one service. Every line of it is
 * checked: with it more is read than without it, and nothing that was understood is lost.
 */
export function proposeProfile(
  answers: readonly AnswerSample[],
  inUse: ServiceProfile = {},
): ProposedProfile {
  const samples = answers.map((answer) => ({ answer, leaves: likelyLeaves(answer) }));
  let profile = inUse;
  for (const field of Object.keys(LOOKS) as ReadField[]) profile = addPaths(field, profile, samples);
  const hasNewId = profile.read?.taskId !== inUse.read?.taskId;
  const isSure = answers.some(({ call }) => call === 'submit');
  const { states, unclear } = guessStates(answers, profile);
  if (Object.keys(states).length > 0) profile = { ...profile, states: { ...profile.states, ...states } };
  return {
    ...(profile !== inUse && { profile }),
    notes: [
      ...(hasNewId && !isSure
        ? ['The task id is read from the answer to the submit: leave taskId out if none of these is one.']
        : []),
      ...unclear.map(question),
    ],
    candidates: findCandidates(samples, profile),
  };
}

interface Sample {
  answer: AnswerSample;
  leaves: Leaf[];
}

/** The texts and numbers that a path of a profile can reach. */
function likelyLeaves({ body, status }: AnswerSample): Leaf[] {
  return leavesOf(parseJson(body)).flatMap(({ value, path: at }) => {
    const path = profilePath(at);
    if ((typeof value !== 'string' && typeof value !== 'number') || !ANSWER_PATH.test(path)) return [];
    return [{ path, value, key: wordsOf(path.split('.').at(-1)), keys: wordsOf(path), status }];
  });
}

/** `ticketNo`, `ticket_no` and `Ticket-No` are "ticket no". */
function wordsOf(keys = ''): string {
  return keys
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
}

/** Adds paths for one field until every answer has it: a service may use another path in each of its answers. */
function addPaths(field: ReadField, profile: ServiceProfile, samples: readonly Sample[]): ServiceProfile {
  const readWith = (tried: ServiceProfile) =>
    samples.map(({ answer }) => traceAnswer(answer, readingRules(tried)));
  const isLacking = (readings: readonly TracedReading[], index: number) => {
    const [sample, reading] = [samples[index], readings[index]];
    return sample !== undefined && reading !== undefined && lacks(field, sample.answer, reading);
  };
  let readings = readWith(profile);
  let best = profile;
  for (const path of likelyPaths(
    field,
    samples.filter((_, index) => isLacking(readings, index)),
    readings,
  )) {
    // The paths of a profile replace the default ones, so those that work are listed with the new one.
    const working = readings.flatMap(({ found }, index) =>
      found[field] === undefined || isLacking(readings, index) ? [] : [profilePath(found[field])],
    );
    const paths = [...new Set([...working, path])];
    const tried = { ...best, read: { ...best.read, [field]: paths.length === 1 ? path : paths } };
    const after = readWith(tried);
    const isGained = samples.some((_, index) => isLacking(readings, index) && !isLacking(after, index));
    const isKept = readings.every(({ found }, index) => {
      const now = after[index]?.found[field];
      return (
        found[field] === undefined ||
        now === found[field] ||
        (now !== undefined && isLacking(readings, index))
      );
    });
    if (isGained && isKept) [best, readings] = [tried, after];
  }
  return best;
}

/** Enough to find one, in a bounded time. */
const MOST_TRIED = 8;

/** Paths where the field may be, the likeliest first, from the answers that lack it. */
function likelyPaths(
  field: ReadField,
  samples: readonly Sample[],
  readings: readonly TracedReading[],
): AnswerPath[] {
  const used = readings.flatMap(({ found }) => Object.values(found).map(profilePath));
  const { can, likely } = LOOKS[field];
  // The id of a call, which the reader ignores next to a code that may mean a refusal.
  const isIgnored = ({ path }: Leaf) =>
    field === 'taskId' &&
    readings.some(({ found }) => found.code !== undefined) &&
    DEFAULT_RULES.paths.callIds.includes(path.split('.').at(-1) ?? '');
  const leaves = samples
    .flatMap((sample) => sample.leaves)
    .filter((leaf) => !used.includes(leaf.path) && can(leaf) && !isIgnored(leaf));
  const paths = likely.flatMap((isLikely) => leaves.filter(isLikely).map(({ path }) => path));
  return [...new Set(paths)].slice(0, MOST_TRIED);
}

const isGood = ({ status }: AnswerSample) => status >= 200 && status <= 299;

/** Whether a profile could say more about this field of the answer. */
function lacks(field: ReadField, answer: AnswerSample, { found, refusal, task }: TracedReading): boolean {
  const isMissing = found[field] === undefined;
  if (field === 'code' || field === 'message') return isMissing;
  if (!isGood(answer) || answer.call === 'cancel' || answer.call === 'link') return false;
  if (field === 'taskId') return isMissing && refusal === undefined && answer.call !== 'poll';
  // "ok" around a task that has no video yet is about the call.
  const isOfCall = field === 'state' && isEnvelopeWord(task.word) && found.video === undefined;
  return isMissing || isOfCall;
}

/** The values that an answer to this call must have, but does not. */
export function missingIn(
  answer: AnswerSample,
  { task, found, taskId, refusal }: TracedReading,
): ('taskId' | 'state' | 'video' | 'error')[] {
  const { call } = answer;
  if (call === 'cancel' || call === 'link') return [];
  if (!isGood(answer) || (call === 'submit' && refusal)) return found.code || found.message ? [] : ['error'];
  const noState = found.state === undefined && task.state === 'unknown' && call !== 'submit';
  return [
    ...(taskId === undefined && call !== 'poll' ? (['taskId'] as const) : []),
    ...(noState ? (['state'] as const) : []),
    ...(found.video === undefined && (task.state === 'succeeded' || noState) ? (['video'] as const) : []),
  ];
}

/** Lone links, words and ids in the answers in which something is missing. */
function findCandidates(samples: readonly Sample[], profile: ServiceProfile): Candidate[] {
  const rules = readingRules(profile);
  const found = new Map<string, Candidate>();
  for (const { answer, leaves } of samples) {
    const reading = traceAnswer(answer, rules);
    const used = Object.values(reading.found).map(profilePath);
    for (const field of missingIn(answer, reading)) {
      if (field === 'error') continue;
      const may = leaves.filter(
        (leaf) => !used.includes(leaf.path) && LOOKS[field].can(leaf) && POSSIBLE[field]?.(leaf),
      );
      for (const { path, value } of may.slice(0, MOST_CANDIDATES))
        found.set(`${field} ${path}`, { field, path, value: String(value) });
    }
  }
  return [...found.values()];
}

/** What the unknown state words mean, as far as the answers show it. */
function guessStates(answers: readonly AnswerSample[], profile: ServiceProfile) {
  const rules = readingRules(profile);
  const guesses = new Map<string, Set<NamedState | undefined>>();
  for (const answer of answers) {
    const { found, task } = traceAnswer(answer, rules);
    // "done: true" is not a word of the service.
    if (!isGood(answer) || task.word === '' || task.word.startsWith('done: ')) continue;
    if (rules.stateOf(task.word) !== undefined) continue;
    const isError = [found.code, found.message].some((path) => isOfError(wordsOf(path)));
    const guess = found.video !== undefined ? 'succeeded' : isError ? 'failed' : undefined;
    guesses.set(task.word, (guesses.get(task.word) ?? new Set()).add(guess));
  }
  const states: NonNullable<ServiceProfile['states']> = {};
  const unclear: string[] = [];
  for (const [word, [guess, ...others]] of guesses) {
    // A word that comes with a video in one answer and without one in another does not mean succeeded.
    if (guess === undefined || others.length > 0) unclear.push(word);
    else states[guess] = [...(states[guess] ?? profile.states?.[guess] ?? []), asWritten(word)];
  }
  return { states, unclear };
}

/** As YAML and JSON write it: numbers as numbers. */
function asWritten(word: string): string | number {
  return String(Number(word)) === word ? Number(word) : word;
}

function question(word: string): string {
  const example = `states: { running: [${JSON.stringify(asWritten(word))}] }`;
  return `What does ${JSON.stringify(word)} mean? Put it under queued, running, succeeded, failed or cancelled, such as ${example}.`;
}
