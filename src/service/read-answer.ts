import { isRecord } from '../contract/clean-text';
import { isTaskId } from '../contract/input-rules';
import type { TaskState } from '../contract/job';
import { isAmount, type Money, money } from '../contract/money';
import { bodiesOf, type FoundValue, parseJson, valuesIn } from './answer-paths';
import {
  firstIn,
  idFrom,
  linkFrom,
  MAX_LENGTH,
  nameFrom,
  percentFrom,
  type Read,
  type RetryHeaders,
  readRetryAfter,
  taskIdFrom,
  textFrom,
} from './read-values';
import {
  DEFAULT_RULES,
  isEnvelopeWord,
  isFailedCallWord,
  type ReadField,
  type ReadingRules,
} from './reading-rules';
import { type AnswerWords, findRefusedContent, type ReadRefusal } from './refused-content';
import type { ServiceMessage, TaskReading, VideoState } from './video-service';

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

/** What one answer of the service says. */
export interface TracedReading extends TaskReading {
  /** Whether the body is a JSON object or list. */
  json: boolean;
  serviceMessage: ServiceMessage;
  /** Set if the content policy of the service refused the request, or the task failed because of it. */
  refusedContent?: ReadRefusal | undefined;
  /** The path at which each value was found. */
  found: Partial<Record<ReadField | 'charged', string>>;
  doubts: string[];
  /** A task id that cannot be used: too long, or with control characters. */
  unusableId?: string | undefined;
  /** What refuses the request in an answer with status 2xx, unless the answer describes a task. */
  refusal?: Refusal | undefined;
}

/** Reads one HTTP answer. Never throws: an answer that says nothing is read as `unknown`. */
export function traceAnswer(answer: HttpAnswer, rules = DEFAULT_RULES): TracedReading {
  const { paths, stateOf } = rules;
  const root = parseJson(answer.body);
  const bodies = bodiesOf(root, paths.within);
  const found: TracedReading['found'] = {};
  const note = <T>(field: keyof typeof found, read: Read<T> | undefined): T | undefined => {
    if (read !== undefined) found[field] = read.path;
    return read?.value;
  };

  const done = firstIn(bodies, ['done'], (value) => (typeof value === 'boolean' ? value : undefined));
  const word = note('state', readWord(bodies, rules)) ?? '';
  if (word === '') note('state', done);
  const videoUrl = note('video', firstIn(bodies, paths.video, linkFrom(answer.baseUrl)));
  const percent = note('progress', firstIn(bodies, paths.progress, percentFrom));
  const error = firstIn(bodies, ['error'], (value) => isErrorObject(value) || undefined);
  const code = note('code', firstIn(bodies, paths.code, errorFrom(nameFrom, MAX_LENGTH.code)));
  const message = note('message', firstIn(bodies, paths.message, errorFrom(textFrom, MAX_LENGTH.message)));
  const isGood = answer.status >= 200 && answer.status <= 299;
  const isTaskWord = stateOf(word) !== undefined && !isEnvelopeWord(word) && !isFailedCallWord(word);
  const isOfTask = !isGood || isTaskWord || done !== undefined;
  const refusal = isOfTask ? undefined : findRefusal(bodies);
  const idPaths = paths.taskId.filter((path) => {
    if (refusal !== undefined) return !paths.vagueIds.includes(path);
    return isOfTask || code === undefined || !paths.callIds.includes(path);
  });
  // An unusable id ends the search: an id at a later path, such as that of the call, is not the task's.
  const id = firstIn(bodies, idPaths, idFrom);
  const isUsable = isTaskId(id?.value);
  const taskId = note('taskId', isUsable ? id : undefined);
  const clearIds = paths.taskId.slice(0, CLEAR_ID_PATHS);
  const isClear = clearIds.includes(found.taskId?.split('.').at(-1) ?? '');
  const other = firstIn(bodies, clearIds, (value) =>
    taskIdFrom(value) === taskId ? undefined : taskIdFrom(value),
  );
  const namesTask = valuesIn(bodies, paths.taskId).some(({ value }) => {
    const named = idFrom(value);
    return named !== undefined && (answer.taskId ?? named) === named;
  });
  const signs = { status: answer.status, word, done: done?.value, videoUrl, hasError: error !== undefined };
  const state = decideState({ ...signs, namesTask }, rules);
  const { request } = answer;
  const refusedContent = MAY_BE_REFUSED.includes(state)
    ? findRefusedContent(bodies, { word, code, message, request }, rules)
    : undefined;
  const isRefusedTask = isGood && state === 'unknown' && word === '' && error && refusedContent?.isCertain;
  const task = videoStateOf(
    isRefusedTask ? 'failed' : state,
    word === '' && done !== undefined ? `done: ${done.value}` : word,
    percent,
    videoUrl,
  );
  const charged = note('charged', ENDED.includes(task.state) ? readCharged(bodies, rules) : undefined);
  return {
    json: root !== undefined,
    taskId,
    unusableId: isUsable ? undefined : id?.value,
    task,
    serviceMessage: { code, message },
    charged,
    found,
    refusal,
    refusedContent,
    retryAfterMs: readRetryAfter(answer.headers ?? {}, answer.receivedAtMs ?? 0),
    doubts: [
      ...(isClear && other ? [`${found.taskId} is ${taskId} and ${other.path} is ${other.value}`] : []),
      ...(task.state === 'succeeded' && error
        ? [`${found.state ?? 'the answer'} says ${word || 'done'}, and there is an error at ${error.path}`]
        : []),
    ],
  };
}

/** How many of the first task id paths mean a task and nothing else. */
const CLEAR_ID_PATHS = 2;

/** Most polls find a task in progress, of which nothing is refused. */
const MAY_BE_REFUSED: readonly TaskState[] = ['succeeded', 'failed', 'unknown'];

/** Before the end of a task, services say what they hold or expect, and correct it later. */
const ENDED: readonly TaskState[] = ['succeeded', 'failed', 'cancelled'];

function videoStateOf(state: TaskState, word: string, percent?: number, videoUrl?: string): VideoState {
  if (state === 'queued' || state === 'running') return { state, word, percent };
  return state === 'succeeded' ? { state, word, videoUrl } : { state, word };
}

interface Signs {
  status: number;
  word: string;
  done: boolean | undefined;
  videoUrl: string | undefined;
  hasError: boolean;
  /** Whether the answer is about the polled task, or about any if that is not known. */
  namesTask: boolean;
}

/** Taken for the task's end, an error about the call would give up a paid video: what may be either is `unknown`. */
function decideState(
  { status, word, done, videoUrl, hasError, namesTask }: Signs,
  { stateOf, isOwnWord }: ReadingRules,
): TaskState {
  if (status < 200 || status > 299) return 'unknown';
  const named = stateOf(word);
  const mayBeOfCall = isFailedCallWord(word) || /^timed?[-_\s]?out$/i.test(word);
  if (named === 'failed' && mayBeOfCall && !namesTask && !isOwnWord(word)) return 'unknown';
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
  const words = valuesIn(bodies, paths.state).flatMap(({ value, path }) => {
    const word = nameFrom(value)?.slice(0, MAX_LENGTH.word);
    return word === undefined ? [] : [{ value: word, path }];
  });
  return words.sort((a, b) => rank(a.value) - rank(b.value))[0];
}

function errorFrom(read: (value: unknown) => string | undefined, maxLength: number) {
  return (value: unknown): string | undefined => {
    const start = read(value)?.slice(0, maxLength);
    return start === undefined || meansSuccess(start) ? undefined : start;
  };
}

/** What the service says that an ended task cost. Whatever is not a plain amount is ignored: the video matters more. */
function readCharged(bodies: readonly FoundValue[], { paths }: ReadingRules): Read<Money> | undefined {
  for (const { path, currency, divideBy = 1 } of paths.charged) {
    const cost = firstIn(bodies, [path], (value) => {
      const amount = typeof value === 'number' ? value / divideBy : value;
      return isAmount(amount) ? money(amount, currency) : undefined;
    });
    if (cost) return cost;
  }
  return undefined;
}

/** Where an answer with status 2xx says that the request was refused, and the HTTP status that it names, if any. */
export interface Refusal {
  path: string;
  status?: number;
}

const STATUS_PATHS = ['code', 'status', 'statusCode', 'status_code', 'error.code', 'error.status'];

/** The signs of a refusal in an answer with HTTP 200, and what they are. */
const REFUSALS: readonly [paths: readonly string[], means: (value: unknown) => boolean][] = [
  [['error', 'errors'], isError],
  [['success', 'ok'], (value) => value === false],
  [['status'], (value) => isFailedCallWord(textFrom(value) ?? '')],
  [['name'], (value) => /(Error|Exception)$/.test(textFrom(value) ?? '')],
];

/**
 * Some services answer everything with HTTP 200 and refuse in the body. An unknown error code alone is not a refusal: it
 * may mean anything.
 */
function findRefusal(bodies: readonly FoundValue[]): Refusal | undefined {
  const status = firstIn(bodies, STATUS_PATHS, (value) => /^[45]\d\d$/.exec(nameFrom(value) ?? '')?.[0]);
  if (status) return { path: status.path, status: Number(status.value) };
  for (const [paths, means] of REFUSALS) {
    const sign = firstIn(bodies, paths, (value) => means(value) || undefined);
    if (sign) return { path: sign.path };
  }
  return undefined;
}

/** Services written in Go answer a finished task with {"error":{"code":0,"message":""}}, which is not an error. */
function isErrorObject(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const isOk = (part: unknown) => meansSuccess(nameFrom(part) ?? '0');
  if (nameFrom(value.code) !== undefined && isOk(value.code)) return false;
  return Object.values(value).some((part) =>
    typeof part === 'object' && part !== null ? Object.keys(part).length > 0 : !isOk(part),
  );
}

function isError(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value === true || isErrorObject(value) || !meansSuccess(textFrom(value) ?? '0');
}

/** As a code: what the words of a profile mean is said of tasks. */
function meansSuccess(code: string): boolean {
  return /^(0+|20\d)$/.test(code) || DEFAULT_RULES.stateOf(code) === 'succeeded';
}
