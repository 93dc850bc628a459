import { isObject, parseJson } from './answer-paths';
import type { Field, HttpAnswer } from './read-answer';
import { linkFrom, nameFrom, percentFrom, taskIdFrom, textFrom } from './read-values';
import { type AnswerPath, isEnvelopeWord, stateOfWord } from './reading-rules';

/** A text or number in an answer, and the path that a profile can use for it. */
export interface Leaf {
  path: AnswerPath;
  /** The words of each key: `ticketNo` is ticket, no. */
  keys: string[][];
  value: string | number;
}

// An answer has a few dozen nodes; of a larger one the top is enough.
const MAX_NODES = 5000;
const MAX_DEPTH = 12;
const MAX_LIST_ENTRIES = 20;

/** Every leaf that a path can reach, from the top down. */
export function likelyLeavesOf(root: unknown): Leaf[] {
  const leaves: Leaf[] = [];
  const queue: { value: unknown; path: AnswerPath; keys: string[][] }[] = [
    { value: root, path: '', keys: [] },
  ];
  // What is added meanwhile is visited too.
  for (const { value, path, keys } of queue) {
    const held = parseJson(value) ?? value;
    if (typeof held === 'string' || typeof held === 'number') {
      if (path !== '') leaves.push({ path, keys, value: held });
    } else if (Array.isArray(held)) {
      // A path cannot reach into a list that has no key of its own.
      if (path === '' || path.endsWith('[]')) continue;
      for (const entry of held.slice(0, MAX_LIST_ENTRIES)) {
        if (queue.length < MAX_NODES) queue.push({ value: entry, path: `${path}[]`, keys });
      }
    } else if (isObject(held) && keys.length < MAX_DEPTH) {
      for (const [key, inner] of Object.entries(held)) {
        if (queue.length >= MAX_NODES) break;
        // parseProfile rejects a path with any other key.
        if (!/^[^.\s[\]]+$/.test(key)) continue;
        const innerPath = path === '' ? key : `${path}.${key}`;
        queue.push({ value: inner, path: innerPath, keys: [...keys, wordsOf(key)] });
      }
    }
  }
  return leaves;
}

/** `ticketNo`, `ticket_no` and `Ticket-No` are ticket, no. */
export function wordsOf(key: string): string[] {
  const parts = key.slice(0, 100).replace(/([a-z0-9])([A-Z])/g, '$1_$2');
  return parts
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter(Boolean);
}

/** The path for a profile from the path of a found value: `videos[1].url` becomes `videos[].url`. */
export function profilePath(path: string): AnswerPath {
  return path.replace(/\[\d+\]/g, '[]');
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
export const ERROR_WORDS = words(
  'error errors err fail failed failure failures exception problem fault rejection violation refusal reject rejected',
);
const CODE = words('code type kind errno errcode');
const MESSAGE = words('message msg reason detail details description text title explanation cause why');

const FILE_NAME = /\.(mp4|webm|mov|m4v|mkv)$/i;
const OTHER_FILE = /\.(png|jpe?g|webp|gif|svg|avif|json|txt|html?|srt|vtt|mp3|wav|m4a|pdf|zip)$/i;

export const hasWord = (keys: readonly string[][], set: ReadonlySet<string>) =>
  keys.some((key) => key.some((word) => set.has(word)));
const last = ({ keys }: Leaf) => keys.slice(-1);
/** How many keys have such a word. */
const count = (keys: readonly string[][], set: ReadonlySet<string>) =>
  keys.filter((key) => hasWord([key], set)).length;

/** How likely a leaf is the value of a field; 0 for not at all. */
export const SCORES: Record<Field, (leaf: Leaf, answer: HttpAnswer) => number> = {
  taskId(leaf) {
    const { keys, value, path } = leaf;
    const text = taskIdFrom(value);
    if (text === undefined || /\s/.test(text) || /^[a-z]+:\/\//i.test(text)) return 0;
    if (text.length > 200 || hasWord(keys, OTHERS_ID) || !hasWord(last(leaf), ID)) return 0;
    const isOfTask = hasWord(keys, TASK);
    // "no" and "number" count things too.
    if (!isOfTask && !hasWord(last(leaf), CLEAR_ID)) return 0;
    const depth = keys.length - 1 + (path.includes('[]') ? 2 : 0);
    return 10 + (isOfTask ? 4 : 0) + (hasWord(last(leaf), CLEAR_ID) ? 2 : 0) - Math.min(depth, 9);
  },
  state(leaf, { status }) {
    const { keys, value, path } = leaf;
    const word = nameFrom(value);
    if (word === undefined || word.length > 40 || value === status || linkFrom(undefined)(value)) return 0;
    const isKnown = stateOfWord(word) !== undefined && !isEnvelopeWord(word);
    const isNamed = hasWord(last(leaf), STATE);
    if (!isNamed && !isKnown) return 0;
    if (hasWord(last(leaf), MESSAGE) || hasWord(last(leaf), CODE) || hasWord(keys, ERROR_WORDS)) return 0;
    const depth = keys.length - 1 + (path.includes('[]') ? 2 : 0);
    return (
      10 + (isNamed ? 5 : 0) + (isKnown ? 4 : 0) - (typeof value === 'number' ? 1 : 0) - Math.min(depth, 9)
    );
  },
  videoUrl({ keys, value }) {
    const link = linkFrom(undefined)(value);
    if (link === undefined || hasWord(keys, NO_VIDEO)) return 0;
    const path = link.split(/[?#]/)[0] ?? '';
    if (OTHER_FILE.test(path)) return 0;
    const signs = (FILE_NAME.test(path) ? 4 : 0) + 3 * count(keys, VIDEO);
    // A link without a host may lead to any page of the service.
    if (link.startsWith('/') && signs === 0) return 0;
    const score = signs + count(keys, LINK);
    return score >= 2 ? score : 0;
  },
  percent(leaf) {
    if (percentFrom(leaf.value) === undefined || hasWord(leaf.keys, ERROR_WORDS)) return 0;
    return hasWord(last(leaf), PROGRESS) ? 10 - Math.min(leaf.keys.length, 9) : 0;
  },
  code(leaf, { status }) {
    const text = nameFrom(leaf.value);
    if (text === undefined || text.length > 100 || /\s/.test(text) || leaf.value === status) return 0;
    const isCode = hasWord(last(leaf), CODE);
    if (!isCode || !(hasWord(leaf.keys, ERROR_WORDS) || status > 299)) return 0;
    return 10 + (hasWord(last(leaf), words('code errcode errno')) ? 3 : 0) - Math.min(leaf.keys.length, 9);
  },
  message(leaf, { status }) {
    const text = textFrom(leaf.value);
    if (text === undefined || linkFrom(undefined)(text)) return 0;
    const isError = hasWord(leaf.keys, ERROR_WORDS);
    const isMessage = hasWord(last(leaf), MESSAGE);
    if (!(isError && (isMessage || /\s/.test(text))) && !(status > 299 && isMessage)) return 0;
    return 10 + (isMessage ? 3 : 0) + (/\s/.test(text) ? 2 : 0) - Math.min(leaf.keys.length, 9);
  },
};
