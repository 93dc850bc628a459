import { isObject, parseJson } from './places';
import { parseProfile, readingRules, type ServiceProfile } from './profile';
import { type Field, type HttpAnswer, type TracedReading, traceAnswer } from './read-answer';
import { linkFrom, nameFrom, percentFrom, taskIdFrom, textFrom } from './read-values';
import { isEnvelopeWord, type NamedState, stateOfWord } from './state-words';
import type { ServiceAnswer } from './video-service';

/** An answer that was kept, with what was asked when that is known. */
export interface KeptAnswer extends HttpAnswer {
  call?: ServiceAnswer['call'];
}

export interface ProposedProfile {
  /** Only what helps: empty when everything is understood, or when nothing can be guessed. */
  profile: ServiceProfile;
  /** What only somebody who knows the service can say, a sentence each. */
  notes: string[];
}

/** A scalar of an answer, and the place of a profile that leads to it. */
interface Leaf {
  place: string;
  /** The words of each key: `ticketNo` is ticket, no. */
  keys: string[][];
  value: string | number;
}

interface Studied {
  answer: KeptAnswer;
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
export function proposeProfile(answers: readonly KeptAnswer[], inUse: ServiceProfile = {}): ProposedProfile {
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
  // Places of a profile replace the usual ones, so those that serve are named beside the new one.
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
      return isMissing && isGood && (call === undefined || call === 'submit');
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

const isOfTask = (call: KeptAnswer['call']) => call === undefined || call === 'submit' || call === 'check';

/** Places where the field may be, the likeliest first, from the answers that want it. */
function candidates(field: Field, seen: readonly Seen[]): string[] {
  const scores = new Map<string, number>();
  for (const { answer, leaves, reading } of seen.filter((one) => wants(field, one))) {
    const used = Object.values(reading.found).map(placeOf);
    for (const leaf of leaves) {
      const score = used.includes(leaf.place) ? 0 : SCORES[field](leaf, answer);
      if (score > 0) scores.set(leaf.place, Math.max(score, scores.get(leaf.place) ?? 0));
    }
  }
  // The sort is stable, and leaves come from the top of an answer down.
  const ranked = [...scores].sort(([, a], [, b]) => b - a).map(([place]) => place);
  return ranked.slice(0, MOST_CANDIDATES);
}

const words = (list: string) => new Set(list.split(' '));

const ID = words('id uuid guid no nr num number handle reference ref ticket job task operation identifier');
const CLEAR_ID = words('id uuid guid handle reference ref identifier');
const TASK = words(
  'task job ticket generation render rendering operation prediction video order work process run request creation',
);
const OTHERS_ID = words(
  'user account org organization organisation team customer tenant client app model trace span session owner project ' +
    'workspace region seed version error queue position file event webhook callback parent template style image frame ' +
    'page count total key token secret author creator credit plan batch server host worker node correlation',
);
const STATE = words('phase stage status state step lifecycle situation condition');
const VIDEO = words('video videos mp4 webm mov movie clip film download deliverable deliverables');
const LINK = words(
  'url urls uri href link links file files src result results output outputs asset assets media content location ' +
    'artifact artifacts product path data body',
);
const NO_VIDEO = words(
  'cover covers thumb thumbs thumbnail thumbnails poster posters preview previews image images img picture watermark ' +
    'watermarked frame frames webhook webhooks callback callbacks poll polling status cancel self avatar icon logo doc docs ' +
    'documentation help audio sound subtitle subtitles caption captions license terms input inputs request source ' +
    'sources params parameters error errors log logs next prev previous first last dashboard upload',
);
const PROGRESS = words('progress percent percentage pct completion');
const ERROR = words(
  'error errors err fail failed failure failures exception problem fault rejection violation refusal reject rejected',
);
const CODE = words('code type kind errno errcode');
const MESSAGE = words('message msg reason detail details description text title explanation cause why');

const VIDEO_FILE = /\.(mp4|webm|mov|m4v|mkv)$/i;
const OTHER_FILE = /\.(png|jpe?g|webp|gif|svg|avif|json|txt|html?|srt|vtt|mp3|wav|m4a|pdf|zip)$/i;

const any = (keys: readonly string[][], set: ReadonlySet<string>) =>
  keys.some((key) => key.some((word) => set.has(word)));
const last = ({ keys }: Leaf) => keys.slice(-1);
/** How many keys of the path have such a word. */
const count = (keys: readonly string[][], set: ReadonlySet<string>) =>
  keys.filter((key) => any([key], set)).length;

/** How likely a leaf is what is looked for; 0 for not at all. */
const SCORES: Record<Field, (leaf: Leaf, answer: HttpAnswer) => number> = {
  taskId(leaf) {
    const { keys, value, place } = leaf;
    const text = taskIdFrom(value);
    if (text === undefined || /\s/.test(text) || /^[a-z]+:\/\//i.test(text)) return 0;
    if (text.length > 200 || any(keys, OTHERS_ID) || !any(last(leaf), ID)) return 0;
    const isOfTask = any(keys, TASK);
    // "no" and "number" count things too.
    if (!isOfTask && !any(last(leaf), CLEAR_ID)) return 0;
    const depth = keys.length - 1 + (place.includes('[]') ? 2 : 0);
    return 10 + (isOfTask ? 4 : 0) + (any(last(leaf), CLEAR_ID) ? 2 : 0) - Math.min(depth, 9);
  },
  state(leaf, { status }) {
    const { keys, value, place } = leaf;
    const word = nameFrom(value);
    if (word === undefined || word.length > 40 || value === status || linkFrom(undefined)(value)) return 0;
    const isKnown = stateOfWord(word) !== undefined && !isEnvelopeWord(word);
    const isNamed = any(last(leaf), STATE);
    if (!isNamed && !isKnown) return 0;
    if (any(last(leaf), MESSAGE) || any(last(leaf), CODE) || any(keys, ERROR)) return 0;
    const depth = keys.length - 1 + (place.includes('[]') ? 2 : 0);
    return (
      10 + (isNamed ? 5 : 0) + (isKnown ? 4 : 0) - (typeof value === 'number' ? 1 : 0) - Math.min(depth, 9)
    );
  },
  videoUrl({ keys, value }) {
    const link = linkFrom(undefined)(value);
    if (link === undefined || any(keys, NO_VIDEO)) return 0;
    const path = link.split(/[?#]/)[0] ?? '';
    if (OTHER_FILE.test(path)) return 0;
    const signs = (VIDEO_FILE.test(path) ? 4 : 0) + 3 * count(keys, VIDEO);
    // A path without a host may be anything of the service's own.
    if (link.startsWith('/') && signs === 0) return 0;
    const score = signs + count(keys, LINK);
    return score >= 2 ? score : 0;
  },
  percent(leaf) {
    if (percentFrom(leaf.value) === undefined || any(leaf.keys, ERROR)) return 0;
    return any(last(leaf), PROGRESS) ? 10 - Math.min(leaf.keys.length, 9) : 0;
  },
  code(leaf, { status }) {
    const text = nameFrom(leaf.value);
    if (text === undefined || text.length > 100 || /\s/.test(text) || leaf.value === status) return 0;
    const isCode = any(last(leaf), CODE);
    if (!isCode || !(any(leaf.keys, ERROR) || status > 299)) return 0;
    return 10 + (any(last(leaf), words('code errcode errno')) ? 3 : 0) - Math.min(leaf.keys.length, 9);
  },
  message(leaf, { status }) {
    const text = typeof leaf.value === 'string' ? textFrom(leaf.value) : undefined;
    if (text === undefined || linkFrom(undefined)(text)) return 0;
    const isError = any(leaf.keys, ERROR);
    const isMessage = any(last(leaf), MESSAGE);
    if (!(isError && (isMessage || /\s/.test(text))) && !(status > 299 && isMessage)) return 0;
    return 10 + (isMessage ? 3 : 0) + (/\s/.test(text) ? 2 : 0) - Math.min(leaf.keys.length, 9);
  },
};

// An answer of a service has a few dozen; of anything larger, the top will do.
const MOST_NODES = 5000;
const DEEPEST = 12;
const MOST_ENTRIES = 20;

/** Every scalar that a place can lead to, from the top down. */
function leavesOf(root: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const waiting: { value: unknown; place: string; keys: string[][] }[] = [
    { value: root, place: '', keys: [] },
  ];
  for (let next = 0; next < waiting.length; next++) {
    const { value, place, keys } = waiting[next] ?? { value: null, place: '', keys: [] };
    const held = parseJson(value) ?? value;
    if (typeof held === 'string' || typeof held === 'number') {
      if (place !== '') leaves.push({ place, keys, value: held });
    } else if (Array.isArray(held)) {
      // No place leads into a list without a name.
      if (place === '' || place.endsWith('[]')) continue;
      for (const entry of held.slice(0, MOST_ENTRIES)) {
        if (waiting.length < MOST_NODES) waiting.push({ value: entry, place: `${place}[]`, keys });
      }
    } else if (isObject(held) && keys.length < DEEPEST) {
      for (const [key, inner] of Object.entries(held)) {
        if (waiting.length >= MOST_NODES) break;
        const path = place === '' ? key : `${place}.${key}`;
        // What a place cannot name: parseProfile would refuse it.
        if (!/^[^.\s[\]]+$/.test(key)) continue;
        waiting.push({ value: inner, place: path, keys: [...keys, wordsOf(key)] });
      }
    }
  }
  return leaves;
}

/** `ticketNo`, `ticket_no` and `Ticket-No` are ticket, no. */
function wordsOf(key: string): string[] {
  const parts = key.slice(0, 100).replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return parts
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
}

/** The place of a profile that leads to where something was found: `videos[1].url` is `videos[].url`. */
function placeOf(at: string): string {
  return at.replace(/\[\d+\]/g, '[]');
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
      (at) => at !== undefined && any(at.split('.').map(wordsOf), ERROR),
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
