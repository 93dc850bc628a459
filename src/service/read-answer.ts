import { isTaskId } from '../contract/input-rules';
import type { TaskState } from '../contract/job';
import {
  type AnswerPaths,
  bodiesOf,
  DEFAULT_PATHS,
  type Found,
  parseJson,
  valuesAt,
  valuesIn,
} from './answer-paths';
import { findRefusal, isErrorObject, meansNoError, type Refusal } from './read-refusal';
import {
  booleanFrom,
  first,
  idFrom,
  LONGEST,
  linkFrom,
  nameFrom,
  percentFrom,
  type Read,
  taskIdFrom,
  textFrom,
} from './read-values';
import { type RetryHeaders, retryAfterMs } from './retry-after';
import { isEnvelopeWord, isTaskWord, type NamedState, stateOfWord } from './state-words';

export interface HttpAnswer {
  status: number;
  headers?: RetryHeaders;
  /** By the clock of whoever asked: what a `Retry-After` date is measured against when the answer has none itself. */
  receivedAtMs?: number;
  body: string;
  /** What links that name no host are relative to. */
  baseUrl?: string;
}

/** `succeeded` alone has a video; the service's own word is kept beside ours, '' when the answer has none. */
export type VideoState =
  | { state: 'queued' | 'running'; word: string; percent?: number }
  | { state: 'succeeded'; word: string; videoUrl?: string }
  | { state: 'failed'; word: string }
  | { state: 'cancelled'; word: string }
  | { state: 'unknown'; word: string };

/** The service's own error words, never ''. A message may also stand beside good news: "Task accepted". */
export interface ServiceMessage {
  code?: string;
  message?: string;
}

export interface AnswerReading {
  /** The body was a JSON object or array. */
  json: boolean;
  taskId?: string;
  task: VideoState;
  said: ServiceMessage;
}

/** So many of the names of an id, from the first, mean a task and nothing else. */
const CLEAR_ID_NAMES = 2;

/** How one service's answers are read. */
export interface ReadingRules {
  places: AnswerPaths;
  stateOf: (word: string) => NamedState | undefined;
}

const DEFAULT_RULES: ReadingRules = { places: DEFAULT_PATHS, stateOf: stateOfWord };

/** What is read from an answer, each from a place of its own. */
export type Field = 'taskId' | 'state' | 'percent' | 'videoUrl' | 'code' | 'message';

/** A reading with its reasons: where each thing was found, and what speaks against it. */
export interface TracedReading extends AnswerReading {
  found: Partial<Record<Field, string>>;
  doubts: string[];
  /** What stands where a task id is expected, and is too long or has control characters in it. */
  unusableId?: string;
  /** What says no in an answer with status 2xx, unless it tells the state of a task. */
  refusal?: Refusal;
  /** How long the service asks to be left alone. */
  retryAfterMs?: number;
}

/** What one HTTP answer says of a task. Pure, and total: every answer has a reading, the worst is `unknown`. */
export function traceAnswer(answer: HttpAnswer, rules = DEFAULT_RULES): TracedReading {
  const { places } = rules;
  const root = parseJson(answer.body);
  const bodies = bodiesOf(root, places.within);
  const read: Partial<Record<Field, Read<unknown>>> = {};
  const keep = <T>(field: Field, found: Read<T> | undefined): T | undefined => {
    if (found !== undefined) read[field] = found;
    return found?.value;
  };

  const word = keep('state', readWord(bodies, rules)) ?? '';
  const done = first(valuesIn(bodies, places.done), booleanFrom);
  if (word === '' && done) read.state = done;
  const link = linkFrom(answer.baseUrl);
  const videoUrl = keep('videoUrl', first(valuesIn(bodies, places.videoUrl), link));
  const percent = keep('percent', first(valuesIn(bodies, places.percent), percentFrom));
  const error = first(valuesIn(bodies, places.error), (value) => isErrorObject(value, rules) || undefined);
  const code = keep('code', first(valuesIn(bodies, places.code), errorFrom(nameFrom, LONGEST.code, rules)));
  const message = keep(
    'message',
    first(messagesIn(bodies, rules), errorFrom(textFrom, LONGEST.message, rules)),
  );
  const isGood = answer.status >= 200 && answer.status <= 299;
  const isOfTask = !isGood || isTaskWord(word, rules.stateOf) || done !== undefined;
  const refusal = isOfTask ? undefined : findRefusal(bodies, rules);
  const idNames = places.taskId.filter((name) => {
    if (refusal !== undefined) return !places.vagueIds.includes(name);
    return isOfTask || code === undefined || !places.callIds.includes(name);
  });
  // One that cannot be used hides the others: what stands elsewhere, such as the id of the call, is not the task's.
  const named = first(valuesIn(bodies, idNames), idFrom);
  const isUsable = isTaskId(named?.value);
  const taskId = keep('taskId', isUsable ? named : undefined);
  const signs = {
    status: answer.status,
    word,
    done: done?.value,
    videoUrl,
    percent,
    hasError: error !== undefined,
  };
  const task = taskOf(signs, rules);
  return {
    json: root !== undefined,
    taskId,
    ...(named !== undefined && !isUsable && { unusableId: named.value }),
    task,
    said: { ...(code !== undefined && { code }), ...(message !== undefined && { message }) },
    found: Object.fromEntries(Object.entries(read).map(([field, { at }]) => [field, at])),
    ...(refusal && { refusal }),
    retryAfterMs: retryAfterMs(answer.headers ?? {}, answer.receivedAtMs ?? 0),
    doubts: [
      ...otherIds(bodies, places, read.taskId),
      ...(task.state === 'succeeded' && error
        ? [`${read.state?.at ?? 'the answer'} says ${word || 'done'}, and there is an error at ${error.at}`]
        : []),
    ],
  };
}

/** Two names that mean a task as clearly as each other, and two different ids. */
function otherIds(
  bodies: readonly Found[],
  places: AnswerPaths,
  chosen: Read<unknown> | undefined,
): string[] {
  if (chosen === undefined) return [];
  // A name that may mean something else, such as the id of the call, is no rival.
  const clear = places.taskId.slice(0, CLEAR_ID_NAMES);
  const name = chosen.at.split('.').at(-1) ?? '';
  if (!clear.includes(name)) return [];
  for (const { value, at } of valuesIn(bodies, clear)) {
    const other = taskIdFrom(value);
    if (other !== undefined && other !== chosen.value) {
      return [`${chosen.at} is ${String(chosen.value)} and ${at} is ${other}`];
    }
  }
  return [];
}

function taskOf({ videoUrl, percent, ...signs }: Signs, rules: ReadingRules): VideoState {
  const state = decide({ videoUrl, ...signs }, rules);
  const { word: named, done } = signs;
  const word = named === '' && done !== undefined ? `done: ${done}` : named;
  switch (state) {
    case 'queued':
    case 'running':
      return { state, word, ...(percent !== undefined && { percent }) };
    case 'succeeded':
      return { state, word, ...(videoUrl !== undefined && { videoUrl }) };
    case 'failed':
    case 'cancelled':
    case 'unknown':
      return { state, word };
  }
}

interface Signs {
  status: number;
  word: string;
  done: boolean | undefined;
  videoUrl: string | undefined;
  percent?: number | undefined;
  hasError: boolean;
}

function decide({ status, word, done, videoUrl, hasError }: Signs, { stateOf }: ReadingRules): TaskState {
  // {"status":"error"} in an HTTP 500 speaks of the call; read as the task's end it would give up a paid video.
  if (status < 200 || status > 299) return 'unknown';
  const named = stateOf(word);
  if (named !== undefined) return named;
  if (done !== undefined) return done ? (hasError ? 'failed' : 'succeeded') : 'running';
  // Before the URL: what stands in a 202 is where to ask again.
  if (status === 202) return 'running';
  if (status === 200 && word === '' && hasError) return 'failed';
  return videoUrl === undefined ? 'unknown' : 'succeeded';
}

// A word we know counts most, a number least: numbers mean nothing without configuration, and `status: 200`
// often wraps the word. An envelope's "success" gives way to any other word, for that one is the task's.
function readWord(bodies: readonly Found[], { places, stateOf }: ReadingRules): Read<string> | undefined {
  const rank = (word: string) => {
    if (stateOf(word) !== undefined) return isEnvelopeWord(word) ? 2 : 0;
    return /^-?[\d.]+$/.test(word) ? 3 : 1;
  };
  let best: Read<string> | undefined;
  for (const { value, at } of valuesIn(bodies, places.state)) {
    const word = nameFrom(value)?.slice(0, LONGEST.word);
    if (word !== undefined && (best === undefined || rank(word) < rank(best.value)))
      best = { value: word, at };
  }
  return best;
}

function* messagesIn(bodies: readonly Found[], { places, stateOf }: ReadingRules): Generator<Found> {
  for (const { at, beside } of places.message) {
    for (const body of bodies) {
      const code = beside === undefined ? undefined : first(valuesAt(body, beside), nameFrom)?.value;
      if (code === undefined || !meansNoError(code, stateOf)) yield* valuesAt(body, at);
    }
  }
}

function errorFrom(read: (value: unknown) => string | undefined, longest: number, { stateOf }: ReadingRules) {
  return (value: unknown): string | undefined => {
    const start = read(value)?.slice(0, longest);
    return start === undefined || meansNoError(start, stateOf) ? undefined : start;
  };
}
