import type { TaskState } from '../contract/task-state';
import { bodiesOf, DEFAULT_PLACES, isObject, type Places, parseJson, valuesAt, valuesIn } from './places';
import { isEnvelopeWord, stateOfWord } from './state-words';

export interface HttpAnswer {
  status: number;
  body: string;
}

/** `succeeded` alone has a video; the service's own word is kept beside ours, '' when the answer has none. */
export type VideoState =
  | { state: 'queued' | 'running'; word: string; percent?: number }
  | { state: 'succeeded'; word: string; videoUrl?: string }
  | { state: 'failed'; word: string }
  | { state: 'cancelled'; word: string }
  | { state: 'unknown'; word: string };

/** The service's own error words, never ''. A message may also stand beside good news: "Task accepted". */
export interface Said {
  code?: string;
  message?: string;
}

export interface AnswerReading {
  /** The body was a JSON object or array. */
  json: boolean;
  taskId?: string;
  task: VideoState;
  said: Said;
}

// What is read ends in a workflow's history and in messages, so an answer must not be able to fill them.
// Names and words are cut; an id or a URL that was cut would be another one, so a longer one is not taken.
const LONGEST = { word: 100, code: 100, message: 1000, taskId: 1000, videoUrl: 16_000 };

/** What one HTTP answer says of a task. Pure, and total: every answer has a reading, the worst is `unknown`. */
export function readAnswer(answer: HttpAnswer, places: Places = DEFAULT_PLACES): AnswerReading {
  const root = parseJson(answer.body);
  const bodies = bodiesOf(root, places.within);
  const taskId = first(valuesIn(bodies, places.taskId), taskIdFrom);
  return {
    json: root !== undefined,
    ...(taskId !== undefined && { taskId }),
    task: readTask(answer.status, bodies, places),
    said: readSaid(bodies, places),
  };
}

function readTask(status: number, bodies: readonly unknown[], places: Places): VideoState {
  const named = readWord(bodies, places);
  const done = first(valuesIn(bodies, places.done), (value) =>
    typeof value === 'boolean' ? value : undefined,
  );
  const videoUrl = first(valuesIn(bodies, places.videoUrl), videoUrlFrom);
  const percent = first(valuesIn(bodies, places.percent), percentFrom);
  const hasError = first(valuesIn(bodies, places.error), (value) => isError(value) || undefined) === true;
  const state = decide({ status, word: named, done, hasVideo: videoUrl !== undefined, hasError });
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
  hasVideo: boolean;
  hasError: boolean;
}

function decide({ status, word, done, hasVideo, hasError }: Signs): TaskState {
  // {"status":"error"} in an HTTP 500 speaks of the call; read as the task's end it would give up a paid video.
  if (status < 200 || status > 299) return 'unknown';
  const named = stateOfWord(word);
  if (named !== undefined) return named;
  if (done !== undefined) return done ? (hasError ? 'failed' : 'succeeded') : 'running';
  // Before the URL: what stands in a 202 is where to ask again.
  if (status === 202) return 'running';
  if (status === 200 && word === '' && hasError) return 'failed';
  return hasVideo ? 'succeeded' : 'unknown';
}

// A word we know counts most, a number least: numbers mean nothing without configuration, and `status: 200`
// often wraps the word. An envelope's "success" gives way to any other word, for that one is the task's.
function readWord(bodies: readonly unknown[], places: Places): string {
  const rank = (word: string) =>
    /^-?[\d.]+$/.test(word) ? 3 : isEnvelopeWord(word) ? 2 : stateOfWord(word) === undefined ? 1 : 0;
  let best = '';
  for (const value of valuesIn(bodies, places.state)) {
    const word = nameFrom(value)?.slice(0, LONGEST.word);
    if (word !== undefined && (best === '' || rank(word) < rank(best))) best = word;
  }
  return best;
}

function readSaid(bodies: readonly unknown[], places: Places): Said {
  const code = first(valuesIn(bodies, places.code), (value) => errorFrom(nameFrom(value), LONGEST.code));
  const message = first(messagesIn(bodies, places), (value) => errorFrom(textFrom(value), LONGEST.message));
  return { ...(code !== undefined && { code }), ...(message !== undefined && { message }) };
}

function* messagesIn(bodies: readonly unknown[], places: Places): Generator<unknown> {
  for (const { at, beside } of places.message) {
    for (const body of bodies) {
      const code = beside === undefined ? undefined : first(valuesAt(body, beside), nameFrom);
      if (code === undefined || !meansNoError(code)) yield* valuesAt(body, at);
    }
  }
}

// Services written in Go answer a finished task with {"error":{"code":0,"message":""}}: that is no error.
function isError(value: unknown): boolean {
  if (!isObject(value)) return false;
  const code = first(valuesAt(value, 'code'), nameFrom);
  if (code !== undefined && meansNoError(code)) return false;
  return Object.values(value).some((part) =>
    typeof part === 'object' && part !== null
      ? Object.keys(part).length > 0
      : errorFrom(nameFrom(part), LONGEST.message) !== undefined,
  );
}

function meansNoError(code: string): boolean {
  return /^(0+|200)$/.test(code) || stateOfWord(code) === 'succeeded';
}

function errorFrom(text: string | undefined, longest: number): string | undefined {
  const start = text?.slice(0, longest);
  return start === undefined || meansNoError(start) ? undefined : start;
}

function first<T>(values: Iterable<unknown>, accept: (value: unknown) => T | undefined): T | undefined {
  for (const value of values) {
    const accepted = accept(value);
    if (accepted !== undefined) return accepted;
  }
  return undefined;
}

function textFrom(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

function nameFrom(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : textFrom(value);
}

// 0 is what a service without an id yet writes where the id will be.
function taskIdFrom(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
  const text = textFrom(value);
  return text !== undefined && text.length <= LONGEST.taskId ? text : undefined;
}

function videoUrlFrom(value: unknown): string | undefined {
  const text = textFrom(value);
  if (text === undefined || text.length > LONGEST.videoUrl) return undefined;
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined;
}

// Runway counts from 0 to 1, the others to 100. A fraction below 1 is Runway's; 1 itself is read as 1 %, for
// counts to 100 pass through it, while Runway at 1 says SUCCEEDED, where no percentage is kept.
function percentFrom(value: unknown): number | undefined {
  const [, digits, sign] =
    /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(nameFrom(value)?.slice(0, LONGEST.word) ?? '') ?? [];
  if (digits === undefined) return undefined;
  const count = Number(digits);
  const percent = Math.round(count < 1 && sign === '' ? count * 100 : count);
  return percent <= 100 ? percent : undefined;
}
