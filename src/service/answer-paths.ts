/**
 * Where a service may keep each thing, the most telling place first. A place is a path of own keys; `[]` after
 * a key takes every entry of a list, or the value itself when it is no list.
 */
export interface AnswerPaths {
  /** The objects that may hold the task, besides the whole answer, which is always looked at first. */
  within: readonly string[];
  taskId: readonly string[];
  /** Of these names of an id, those that may mean something else: no task is meant beside a refusal. */
  vagueIds: readonly string[];
  /** Of these, those that may name the HTTP call alone: no task is meant beside a code that nobody knows. */
  callIds: readonly string[];
  state: readonly string[];
  done: readonly string[];
  percent: readonly string[];
  videoUrl: readonly string[];
  error: readonly string[];
  code: readonly string[];
  /** A message is no error when the code `beside` it is none. */
  message: readonly { at: string; beside?: string }[];
}

const CALL_IDS = ['request_id', 'requestId', 'name'];

export const DEFAULT_PATHS: AnswerPaths = {
  within: ['data', 'task', 'output', 'result'],
  // `request_id` may name the HTTP call alone, so it is the task's only when nothing else is.
  taskId: ['task_id', 'taskId', 'id', 'generation_id', 'job_id', 'video_id', ...CALL_IDS],
  vagueIds: ['id', ...CALL_IDS],
  callIds: CALL_IDS,
  state: ['status', 'state', 'task_status', 'taskStatus'],
  done: ['done'],
  percent: ['progress', 'progress_percent', 'percentage'],
  // Covers, thumbnails, watermarked copies, last frames and polling addresses are skipped by not being named.
  videoUrl: [
    ...['video_url', 'videoUrl', 'content.video_url', 'content.url', 'video.url', 'videos[].url'],
    ...['videos[].video_url', 'task_result.videos[].url', 'assets.video', 'output.video_url'],
    ...['output.videos[].url', 'output.url', 'output[]', 'outputs[]', 'results[]', 'resultUrls[]'],
    ...['resultJson.resultUrls[]', 'creations[].url', 'response.generatedVideos[].video.uri'],
    ...['response.generateVideoResponse.generatedSamples[].video.uri', 'result_url', 'download_url', 'url'],
  ],
  error: ['error'],
  code: [
    ...['error.code', 'error.type', 'code', 'err_code', 'ErrCode', 'failureCode', 'failCode'],
    'base_resp.status_code',
  ],
  message: [
    { at: 'error.message', beside: 'error.code' },
    { at: 'error' },
    { at: 'errors[].message' },
    { at: 'message', beside: 'code' },
    { at: 'msg', beside: 'code' },
    { at: 'detail' },
    { at: 'detail[].msg' },
    { at: 'failure' },
    { at: 'failure_reason' },
    { at: 'failMsg' },
    { at: 'task_status_msg' },
    { at: 'ErrMsg', beside: 'ErrCode' },
    { at: 'base_resp.status_msg', beside: 'base_resp.status_code' },
  ],
};

// A task has one video or a few; a list of a million entries must not hold up the process for seconds.
const MOST_ENTRIES = 100;

type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object or list that a text holds; undefined for any other text, and for what is no text. */
export function parseJson(text: unknown): JsonObject | unknown[] | undefined {
  if (!mayHoldJson(text)) return undefined;
  const json = withoutDepths(text.trim());
  if (hasTooManyKeys(json)) return undefined;
  try {
    const value: unknown = JSON.parse(quoteLongIntegers(json));
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function mayHoldJson(text: unknown): text is string {
  return typeof text === 'string' && /^\s*[[{]/.test(text);
}

// An answer about a task has some dozens; JSON.parse takes more than 50 ms for a megabyte of nothing but keys.
const MOST_KEYS = 20_000;

function hasTooManyKeys(json: string): boolean {
  let keys = 0;
  for (const _ of json.matchAll(/"\s*:/g)) {
    keys += 1;
    if (keys > MOST_KEYS) return true;
  }
  return false;
}

// No service nests its answers so deep, and JSON.parse takes 100 ms for a megabyte of brackets.
const DEEPEST = 1000;
const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

/** What is nested too deep becomes null; the rest can still be read. */
function withoutDepths(json: string): string {
  let kept = '';
  let from = 0;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(json, at);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (depth++ === DEEPEST) kept += `${json.slice(from, at)}null`;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      if (--depth === DEEPEST) from = at + 1;
    }
  }
  return depth > DEEPEST ? kept : kept + json.slice(from);
}

/** Where the quote is that ends the string that begins at `open`; the end of the text when there is none. */
export function endOfString(json: string, open: number): number {
  for (let at = json.indexOf('"', open + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}

// JSON.parse would round a task id of 19 digits to the id of another task. No regular expression matches a whole
// string or number: a match of some megabytes overflows its stack.
function quoteLongIntegers(json: string): string {
  const longOne = /\d{16}/g;
  let kept = '';
  let from = 0;
  let string = { open: json.indexOf('"'), close: -1 };
  for (let match = longOne.exec(json); match; match = longOne.exec(json)) {
    const start = match.index;
    while (string.open !== -1 && string.open < start) {
      string.close = endOfString(json, string.open);
      if (string.close > start) break;
      string = { open: json.indexOf('"', string.close + 1), close: -1 };
    }
    if (string.close > start) {
      longOne.lastIndex = string.close;
      continue;
    }
    let end = longOne.lastIndex;
    while (isDigit(json.charCodeAt(end))) end++;
    longOne.lastIndex = end;
    if (!/[.eE+-]/.test(json.charAt(start - 1) + json.charAt(end))) {
      kept += `${json.slice(from, start)}"${json.slice(start, end)}"`;
      from = end;
    }
  }
  return kept + json.slice(from);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** A value, and the path of keys that leads to it from the root of the answer: `data.videos[0].url`. */
export interface Found {
  value: unknown;
  at: string;
  /** What the JSON texts of this answer hold: each is led through at many places, and parsed once. */
  texts?: Map<string, unknown>;
}

/** The objects of an answer that may speak of the task, the whole answer first. */
export function bodiesOf(root: unknown, within: readonly string[]): Found[] {
  const whole: Found = { value: root, at: '', texts: new Map() };
  const inner = within.flatMap((path) => [...valuesAt(whole, path)]);
  return [whole, ...inner.map((found) => ({ ...found, value: unwrap(found.value, found.texts) }))];
}

/** Each thing found, place by place and in every body: a telling name deep down beats a vague one above. */
export function* valuesIn(bodies: readonly Found[], paths: readonly string[]): Generator<Found> {
  for (const path of paths) {
    for (const body of bodies) yield* valuesAt(body, path);
  }
}

export function* valuesAt(body: Found, path: string): Generator<Found> {
  yield* follow(body, path.split('.'));
}

// The recursion is as deep as the path is long, whatever the answer looks like.
function* follow({ value, at, texts }: Found, [step, ...rest]: readonly string[]): Generator<Found> {
  if (step === undefined) {
    yield { value, at, texts };
    return;
  }
  const key = step.replace(/\[\]$/, '');
  const holder = unwrap(value, texts);
  if (!isObject(holder) || !Object.hasOwn(holder, key)) return;
  const here = at === '' ? key : `${at}.${key}`;
  const found = key === step ? holder[key] : unwrap(holder[key], texts);
  if (key === step || !Array.isArray(found)) {
    yield* follow({ value: found, at: here, texts }, rest);
    return;
  }
  for (const [index, entry] of found.slice(0, MOST_ENTRIES).entries()) {
    yield* follow({ value: entry, at: `${here}[${index}]`, texts }, rest);
  }
}

// Some services put JSON in a string inside their JSON.
function unwrap(value: unknown, texts: Map<string, unknown> = new Map()): unknown {
  if (!mayHoldJson(value)) return value;
  if (!texts.has(value)) texts.set(value, parseJson(value) ?? value);
  return texts.get(value);
}
