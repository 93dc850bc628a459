import { leavesOf, parseJson, profilePath } from './answer-paths';
import type { ServiceProfile } from './profile';
import { ANSWER_PATH } from './profile-forms';
import { type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { linkFrom, percentFrom, taskIdFrom } from './read-values';
import {
  type AnswerPath,
  DEFAULT_RULES,
  isEnvelopeWord,
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
}

/** A text or number in an answer, at a path that a profile can have. */
interface Leaf {
  path: AnswerPath;
  value: string | number;
  text: string;
  /** Whether its own key has one of the words in this row: `ticketNo` has ticket and no. */
  is: (row: keyof typeof WORDS) => boolean;
  /** Whether any key on the way to it has. */
  isIn: (row: keyof typeof WORDS) => boolean;
  isFailure: boolean;
}

const WORDS = {
  id: 'id uuid guid handle reference ref identifier',
  number: 'no nr num number ticket job task operation',
  task: 'task job ticket generation render operation prediction video order work process run request creation',
  othersId:
    'user account org organization team customer tenant client app model trace span session owner project workspace region seed version error queue position file event webhook callback parent template style image frame page count total key token secret author credit plan batch server host worker node correlation',
  state: 'phase stage status state step lifecycle',
  video: 'video videos mp4 webm mov movie clip clips film download deliverable deliverables',
  link: 'url urls uri href link links file files src result results output outputs asset assets media content location product path',
  otherLink:
    'cover covers thumb thumbnail thumbnails poster preview previews image images img picture watermark watermarked frame frames webhook callback poll polling status cancel self avatar icon logo docs help audio subtitle caption license terms input inputs request source error errors log logs next previous dashboard upload',
  progress: 'progress percent percentage pct completion',
  error: 'error errors err fail failed failure exception problem fault rejection violation refusal rejected',
  code: 'code type kind errno errcode',
  message: 'message msg reason detail details description text title explanation cause',
} as const;

const VIDEO_FILE = /\.(mp4|webm|mov|m4v|mkv)([?#]|$)/i;
const OTHER_FILE = /\.(png|jpe?g|webp|gif|svg|json|txt|html?|srt|vtt|mp3|wav|m4a|pdf|zip)([?#]|$)/i;
const isLink = ({ value }: Leaf) => linkFrom(undefined)(value) !== undefined;
const isKnownState = ({ text }: Leaf) => DEFAULT_RULES.stateOf(text) !== undefined && !isEnvelopeWord(text);

/** What each value looks like: what it can be, and the signs that it is, the clearest first. */
const LOOKS: Record<ReadField, { can: (leaf: Leaf) => boolean; likely: ((leaf: Leaf) => boolean)[] }> = {
  // The link and the error come before the state, because they show what an unknown word means.
  video: {
    can: (leaf) => isLink(leaf) && !leaf.isIn('otherLink') && !OTHER_FILE.test(leaf.text),
    likely: [
      ({ text }) => VIDEO_FILE.test(text),
      ({ isIn }) => isIn('video'),
      ({ text, is, path }) => is('link') && /^http/i.test(text) && path.includes('.'),
    ],
  },
  taskId: {
    can: (leaf) =>
      taskIdFrom(leaf.value) !== undefined && !/\s|^[a-z]+:\/\//i.test(leaf.text) && !leaf.isIn('othersId'),
    likely: [({ is, isIn }) => (is('id') || is('number')) && isIn('task'), ({ is }) => is('id')],
  },
  code: {
    can: ({ text, isFailure }) => isFailure && !/\s/.test(text),
    likely: [({ is }) => is('code')],
  },
  message: {
    can: (leaf) => leaf.isFailure && typeof leaf.value === 'string' && !isLink(leaf),
    likely: [({ is }) => is('message'), ({ text, isIn }) => isIn('error') && /\s/.test(text)],
  },
  state: {
    can: ({ text, is, isIn }) =>
      /^[\p{L}\d_-]{1,40}$/u.test(text) && !is('message') && !is('code') && !isIn('error'),
    likely: [
      (leaf) => leaf.is('state') && isKnownState(leaf),
      (leaf) => leaf.is('state') || isKnownState(leaf),
    ],
  },
  progress: {
    can: ({ value, isIn }) => percentFrom(value) !== undefined && !isIn('error'),
    likely: [({ is }) => is('progress')],
  },
};

/** Enough to find one, in a bounded time. */
const MOST_TRIED = 8;

/**
 * Guesses a profile for what the profile in use does not understand in the answers of one service. Every line of it is
 * checked: with it more is read than without it, and nothing that was understood is lost.
 */
export function proposeProfile(
  answers: readonly AnswerSample[],
  inUse: ServiceProfile = {},
): ProposedProfile {
  let profile = inUse;
  for (const field of Object.keys(LOOKS) as ReadField[]) {
    for (const path of likelyPaths(field, readAll(answers, profile))) {
      profile = withPath(field, path, answers, profile);
    }
  }
  const isSure = answers.some(({ call }) => call === 'submit') || profile.read?.taskId === inUse.read?.taskId;
  const samples = readAll(answers, profile);
  // A word that only comes with a video needs no meaning.
  const unclear = samples.flatMap(({ answer, reading: { task } }) =>
    isGood(answer) && task.state === 'unknown' && task.word !== '' ? [task.word] : [],
  );
  const questions = [...new Set(unclear)].map((word) => {
    const example = `states: { running: [${JSON.stringify(asWritten(word))}] }`;
    return `What does ${JSON.stringify(word)} mean? Put it under queued, running, succeeded, failed or cancelled, such as ${example}.`;
  });
  const ofId = 'The task id is read from the answer to the submit: leave taskId out if none of these is one.';
  const notes = [...(isSure ? [] : [ofId]), ...questionOfVideo(samples), ...questions];
  return { ...(profile !== inUse && { profile }), notes };
}

/** For a link that does not say what it leads to. */
function questionOfVideo(samples: readonly ReadSample[]): string[] {
  if (samples.some(({ reading }) => reading.found.video !== undefined)) return [];
  const leaves = samples.flatMap(({ answer }) => (isGood(answer) ? readableLeaves(answer) : []));
  const link = leaves.find((leaf) => LOOKS.video.can(leaf) && /^http/i.test(leaf.text));
  return link
    ? [`No link to a video was found. Is it ${link.path}? Then add it as read: { video: ${link.path} }.`]
    : [];
}

/** An answer as it is read with a profile. */
interface ReadSample {
  answer: AnswerSample;
  reading: TracedReading;
}

function readAll(answers: readonly AnswerSample[], profile: ServiceProfile): ReadSample[] {
  const rules = readingRules(profile);
  return answers.map((answer) => ({ answer, reading: traceAnswer(answer, rules) }));
}

/** The texts and numbers that a path of a profile can reach. */
function readableLeaves({ body, status }: AnswerSample): Leaf[] {
  return leavesOf(parseJson(body)).flatMap(({ value, path: at }) => {
    const path = profilePath(at);
    if ((typeof value !== 'string' && typeof value !== 'number') || !ANSWER_PATH.test(path)) return [];
    // The HTTP status in the body says nothing.
    if (value === status || String(value).trim() === '') return [];
    const has = (keys = '') => {
      const words = keys
        .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
        .toLowerCase()
        .split(/[^a-z0-9]+/);
      return (row: keyof typeof WORDS) => WORDS[row].split(' ').some((word) => words.includes(word));
    };
    const isIn = has(path);
    const isFailure = isIn('error') || status > 299;
    return [{ path, value, text: String(value), is: has(path.split('.').at(-1)), isIn, isFailure }];
  });
}

/** Paths where the field may be, the likeliest first, from the answers that lack it. */
function likelyPaths(field: ReadField, samples: readonly ReadSample[]): AnswerPath[] {
  const { can, likely } = LOOKS[field];
  const leaves = samples.flatMap(({ answer, reading }) => {
    if (!lacks(field, answer, reading)) return [];
    const used = Object.values(reading.found).map(profilePath);
    // The id of a call, which the reader ignores next to a code that may mean a refusal.
    const ignored = field === 'taskId' && reading.found.code ? DEFAULT_RULES.paths.callIds : [];
    return readableLeaves(answer).filter(
      (leaf) => can(leaf) && !used.includes(leaf.path) && !ignored.some((id) => leaf.path.endsWith(id)),
    );
  });
  const paths = likely.flatMap((isLikely) => leaves.filter(isLikely).map(({ path }) => path));
  return [...new Set(paths)].slice(0, MOST_TRIED);
}

/** The profile with this path if more is read with it, and every other answer as before; else the profile as it is. */
function withPath(
  field: ReadField,
  path: AnswerPath,
  answers: readonly AnswerSample[],
  profile: ServiceProfile,
): ServiceProfile {
  const before = readAll(answers, profile);
  // The paths of a profile replace the default ones, so those that work are listed with the new one.
  const working = before.flatMap(({ answer, reading }) => {
    const at = reading.found[field];
    return at === undefined || lacks(field, answer, reading) ? [] : [profilePath(at)];
  });
  const paths = [...new Set([...working, path])];
  const tried = { ...profile, read: { ...profile.read, [field]: paths.length === 1 ? path : paths } };
  const changes = readAll(answers, tried).map(({ answer, reading }, index) => {
    const was = before[index]?.reading ?? reading;
    const [from, to] = [was.found[field], reading.found[field]];
    const lacked = lacks(field, answer, was);
    const isKept = from === undefined || from === to || (lacked && to !== undefined);
    return { isGained: lacked && !lacks(field, answer, reading), isKept };
  });
  const isBetter = changes.some(({ isGained }) => isGained) && changes.every(({ isKept }) => isKept);
  return isBetter ? tried : profile;
}

const isGood = ({ status }: AnswerSample) => status >= 200 && status <= 299;

/** Whether a profile could say more about this field of the answer. */
function lacks(field: ReadField, answer: AnswerSample, { found, refusal, task }: TracedReading): boolean {
  const isMissing = found[field] === undefined;
  if (field === 'code' || field === 'message') return isMissing;
  if (!isGood(answer) || answer.call === 'cancel' || answer.call === 'link') return false;
  if (field === 'taskId') return isMissing && refusal === undefined && answer.call !== 'poll';
  // "ok" around a task that has no video yet is about the call.
  return isMissing || (field === 'state' && isEnvelopeWord(task.word) && found.video === undefined);
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
  const noVideo = found.video === undefined && (task.state === 'succeeded' || noState);
  const isMissing = { taskId: taskId === undefined && call !== 'poll', state: noState, video: noVideo };
  return (['taskId', 'state', 'video'] as const).filter((field) => isMissing[field]);
}

/** As YAML and JSON write it: numbers as numbers. */
function asWritten(word: string): string | number {
  return String(Number(word)) === word ? Number(word) : word;
}
