import type { RefusedContent } from '../contract/failure-details';
import { isTaskId } from '../contract/input-rules';
import type { TaskState } from '../contract/job';
import { AMOUNT_RULE, isAmount, type Money, money } from '../contract/money';
import { describeValue } from '../contract/redact-links';
import { bodiesOf, type FoundValue, parseJson, valuesAt, valuesIn } from './answer-paths';
import { findRefusal, isErrorObject, meansSuccess, type Refusal } from './read-refusal';
import {
  booleanFrom,
  first,
  idFrom,
  linkFrom,
  MAX_LENGTH,
  nameFrom,
  percentFrom,
  type Read,
  type RetryHeaders,
  retryAfterMs,
  taskIdFrom,
  textFrom,
} from './read-values';
import {
  type AnswerPaths,
  type ChargedPath,
  DEFAULT_RULES,
  isEnvelopeWord,
  isTaskWord,
  mayBeOfCall,
  type ReadingRules,
} from './reading-rules';
import { type AnswerWords, findRefusedContent, type ReadRefusal } from './refused-content';

export interface HttpAnswer {
  status: number;
  headers?: RetryHeaders;
  /** When the answer came, by this machine's clock. A `Retry-After` date is measured against it if there is no `Date`. */
  receivedAtMs?: number;
  body: string;
  /** What links without a host are relative to. */
  baseUrl?: string;
  /** What was sent, in the answer to a submit. */
  request?: AnswerWords['request'];
  /** The task that was polled, by the service's own id. */
  taskId?: string;
}

/**
 * The state of a task; only `succeeded` has a video, behind a link or as its bytes. `word` is the service's own word for it, ''
 * if there is none.
 */
export type VideoState =
  | { state: 'queued' | 'running'; word: string; percent?: number }
  | { state: 'succeeded'; word: string; videoUrl?: string; videoBytes?: Uint8Array }
  | { state: 'failed'; word: string }
  | { state: 'cancelled'; word: string }
  | { state: 'unknown'; word: string };

/** The service's own code and message, never ''. Usually an error, but it may also be "Task accepted". */
export interface ServiceMessage {
  code?: string;
  message?: string;
}

/** What one answer of the service says. */
export interface AnswerReading {
  /** Whether the body is a JSON object or list. */
  json: boolean;
  taskId?: string;
  task: VideoState;
  serviceMessage: ServiceMessage;
  /** Set if the content policy of the service refused the request, or the task failed because of it. */
  refusedContent?: RefusedContent;
  /** What the task cost, once it has ended and if the service says it. */
  charged?: Money;
}

/** The values that are read from an answer. */
export type Field = 'taskId' | 'state' | 'percent' | 'videoUrl' | 'code' | 'message';

/** A reading with its reasons. */
export interface TracedReading extends AnswerReading {
  refusedContent?: ReadRefusal;
  /** The path at which each value was found. */
  found: Partial<Record<Field, string>>;
  /** The path at which the cost was found. */
  chargedAt?: string;
  /** What contradicts the reading, a sentence each. */
  doubts: string[];
  /** A task id that cannot be used: too long, or with control characters. */
  unusableId?: string;
  /** What refuses the request in an answer with status 2xx, unless the answer describes a task. */
  refusal?: Refusal;
  /** How long the service asks us to wait. */
  retryAfterMs?: number;
}

/** Reads one HTTP answer. Never throws: an answer that says nothing is read as `unknown`. */
export function traceAnswer(answer: HttpAnswer, rules = DEFAULT_RULES): TracedReading {
  const { paths } = rules;
  const root = parseJson(answer.body);
  const bodies = bodiesOf(root, paths.within);
  const read: Partial<Record<Field, Read<unknown>>> = {};
  const note = <T>(field: Field, found: Read<T> | undefined): T | undefined => {
    if (found !== undefined) read[field] = found;
    return found?.value;
  };

  const word = note('state', readWord(bodies, rules)) ?? '';
  const done = first(valuesIn(bodies, paths.done), booleanFrom);
  if (word === '' && done) read.state = done;
  const videoUrl = note('videoUrl', first(valuesIn(bodies, paths.videoUrl), linkFrom(answer.baseUrl)));
  const percent = note('percent', first(valuesIn(bodies, paths.percent), percentFrom));
  const error = first(valuesIn(bodies, paths.error), (value) => isErrorObject(value, rules) || undefined);
  const code = note('code', first(valuesIn(bodies, paths.code), errorFrom(nameFrom, MAX_LENGTH.code, rules)));
  const message = note(
    'message',
    first(messagesIn(bodies, rules), errorFrom(textFrom, MAX_LENGTH.message, rules)),
  );
  const isGood = answer.status >= 200 && answer.status <= 299;
  const isOfTask = !isGood || isTaskWord(word, rules.stateOf) || done !== undefined;
  const refusal = isOfTask ? undefined : findRefusal(bodies, rules);
  const idPaths = paths.taskId.filter((path) => {
    if (refusal !== undefined) return !paths.vagueIds.includes(path);
    return isOfTask || code === undefined || !paths.callIds.includes(path);
  });
  // An unusable id ends the search: an id at a later path, such as that of the call, is not the task's.
  const id = first(valuesIn(bodies, idPaths), idFrom);
  const isUsable = isTaskId(id?.value);
  const taskId = note('taskId', isUsable ? id : undefined);
  const signs = {
    status: answer.status,
    word,
    done: done?.value,
    videoUrl,
    percent,
    hasError: error !== undefined,
    namesTask: namesTask(bodies, paths, answer.taskId),
  };
  const state = decideState(signs, rules);
  const { request } = answer;
  const refusedContent = IS_IN_PROGRESS[state]
    ? undefined
    : findRefusedContent(bodies, { word, code, message, request }, rules);
  const isRefusedTask = isGood && state === 'unknown' && word === '' && error && refusedContent?.isCertain;
  const task = videoStateOf(isRefusedTask ? 'failed' : state, signs);
  const { charged, doubts: chargeDoubts } = readCharged(bodies, task.state, paths.charged);
  return {
    json: root !== undefined,
    taskId,
    ...(id !== undefined && !isUsable && { unusableId: id.value }),
    task,
    serviceMessage: { ...(code !== undefined && { code }), ...(message !== undefined && { message }) },
    ...(charged && { charged: charged.value, chargedAt: charged.path }),
    found: Object.fromEntries(Object.entries(read).map(([field, { path }]) => [field, path])),
    ...(refusal && { refusal }),
    ...(refusedContent && { refusedContent }),
    retryAfterMs: retryAfterMs(answer.headers ?? {}, answer.receivedAtMs ?? 0),
    doubts: [
      ...describeOtherId(bodies, paths, read.taskId),
      ...(task.state === 'succeeded' && error
        ? [
            `${read.state?.path ?? 'the answer'} says ${word || 'done'}, and there is an error at ${error.path}`,
          ]
        : []),
      ...chargeDoubts,
    ],
  };
}

/** Most polls find a task in progress, of which nothing is refused. */
const IS_IN_PROGRESS: Partial<Record<TaskState, true>> = { queued: true, running: true, cancelled: true };

/** How many of the first task id paths mean a task and nothing else. */
const CLEAR_ID_PATHS = 2;

/** A doubt when two paths that clearly mean a task have different ids. */
function describeOtherId(
  bodies: readonly FoundValue[],
  paths: AnswerPaths,
  chosen: Read<unknown> | undefined,
): string[] {
  if (chosen === undefined) return [];
  const clear = paths.taskId.slice(0, CLEAR_ID_PATHS);
  const name = chosen.path.split('.').at(-1) ?? '';
  if (!clear.includes(name)) return [];
  for (const { value, path } of valuesIn(bodies, clear)) {
    const other = taskIdFrom(value);
    if (other !== undefined && other !== chosen.value) {
      return [`${chosen.path} is ${String(chosen.value)} and ${path} is ${other}`];
    }
  }
  return [];
}

interface Signs {
  status: number;
  word: string;
  done: boolean | undefined;
  videoUrl: string | undefined;
  percent?: number | undefined;
  hasError: boolean;
  namesTask: boolean;
}

/** Whether an answer is about the polled task, or about any if that is not known. */
function namesTask(
  bodies: readonly FoundValue[],
  { taskId: idPaths }: AnswerPaths,
  polled?: string,
): boolean {
  const isTask = (value: unknown) =>
    (polled === undefined ? idFrom(value) !== undefined : idFrom(value) === polled) || undefined;
  return first(valuesIn(bodies, idPaths), isTask) !== undefined;
}

function videoStateOf(state: TaskState, signs: Signs): VideoState {
  const { done, percent, videoUrl } = signs;
  const word = signs.word === '' && done !== undefined ? `done: ${done}` : signs.word;
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

/** Taken for the task's end, an error about the call would give up a paid video: what may be either is `unknown`. */
function decideState(
  { status, word, done, videoUrl, hasError, namesTask }: Signs,
  { stateOf, isOwnWord }: ReadingRules,
): TaskState {
  if (status < 200 || status > 299) return 'unknown';
  const named = stateOf(word);
  if (named === 'failed' && mayBeOfCall(word) && !namesTask && !isOwnWord?.(word)) return 'unknown';
  if (named !== undefined) return named;
  if (done !== undefined) return done ? (hasError ? 'failed' : 'succeeded') : 'running';
  // Before the link: in a 202 it is the address to poll.
  if (status === 202) return 'running';
  return videoUrl === undefined || (word === '' && hasError && status === 200) ? 'unknown' : 'succeeded';
}

// A known word comes first and a number last: numbers mean nothing without a profile, and `status: 200` often wraps the
// word. An envelope's "success" comes after any other word, because the other one is the task's.
function readWord(bodies: readonly FoundValue[], { paths, stateOf }: ReadingRules): Read<string> | undefined {
  const rank = (word: string) => {
    if (stateOf(word) !== undefined) return isEnvelopeWord(word) ? 2 : 0;
    return /^-?[\d.]+$/.test(word) ? 3 : 1;
  };
  let best: Read<string> | undefined;
  for (const { value, path } of valuesIn(bodies, paths.state)) {
    const word = nameFrom(value)?.slice(0, MAX_LENGTH.word);
    if (word !== undefined && (best === undefined || rank(word) < rank(best.value)))
      best = { value: word, path };
  }
  return best;
}

function* messagesIn(bodies: readonly FoundValue[], { paths, stateOf }: ReadingRules): Generator<FoundValue> {
  for (const { path, codePath } of paths.message) {
    for (const body of bodies) {
      const code = codePath === undefined ? undefined : first(valuesAt(body, codePath), nameFrom)?.value;
      if (code === undefined || !meansSuccess(code, stateOf)) yield* valuesAt(body, path);
    }
  }
}

function errorFrom(
  read: (value: unknown) => string | undefined,
  maxLength: number,
  { stateOf }: ReadingRules,
) {
  return (value: unknown): string | undefined => {
    const start = read(value)?.slice(0, maxLength);
    return start === undefined || meansSuccess(start, stateOf) ? undefined : start;
  };
}

interface ReadCharge {
  charged?: Read<Money>;
  /** Why a value that should say the cost was ignored, a sentence each. */
  doubts: string[];
}

/** Before the end of a task, services say what they hold or expect, and correct it later. */
const ENDED: readonly TaskState[] = ['succeeded', 'failed', 'cancelled'];

/** A list of costs is not one. */
const MOST_DOUBTS = 3;

/** What the service says that an ended task cost. Whatever is not a plain amount is ignored: the video matters more. */
function readCharged(
  bodies: readonly FoundValue[],
  state: TaskState,
  paths: readonly ChargedPath[],
): ReadCharge {
  const doubts: string[] = [];
  if (!ENDED.includes(state)) return { doubts };
  for (const { path: wanted, currency, divideBy = 1 } of paths) {
    for (const { value, path } of valuesIn(bodies, [wanted])) {
      const amount = typeof value === 'number' ? value / divideBy : value;
      if (isAmount(amount)) return { charged: { value: money(amount, currency), path }, doubts };
      // Services send null for what they do not know.
      if (value != null && doubts.length < MOST_DOUBTS)
        doubts.push(`${path} is ${describeValue(value)}, and a cost ${AMOUNT_RULE}`);
    }
  }
  return { doubts };
}
