/**
 * Where a service may keep each thing, the most telling place first. A place is a path of own keys; `[]` after
 * a key takes every entry of a list, or the value itself when it is no list.
 */
export interface Places {
  /** The objects that may hold the task, besides the whole answer, which is always looked at first. */
  within: readonly string[];
  taskId: readonly string[];
  state: readonly string[];
  done: readonly string[];
  percent: readonly string[];
  videoUrl: readonly string[];
  error: readonly string[];
  code: readonly string[];
  /** A message is no error when the code `beside` it is none. */
  message: readonly { at: string; beside?: string }[];
}

export const DEFAULT_PLACES: Places = {
  within: ['data', 'task', 'output', 'result'],
  // `request_id` may name the HTTP call alone, so it is the task's only when nothing else is.
  taskId: [
    ...['task_id', 'taskId', 'id', 'generation_id', 'job_id', 'video_id'],
    ...['request_id', 'requestId', 'name'],
  ],
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
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(quoteLongIntegers(text.trim()));
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// JSON.parse would round a task id of 19 digits to the id of another task. Strings are walked through rather
// than matched whole, because a match of some megabytes overflows the stack of the regular expression.
function quoteLongIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  let inString = false;
  return json.replace(/\\.|"|-?\d[\d.eE+-]*/g, (token) => {
    if (token === '"') inString = !inString;
    return !inString && /^\d{16,}$/.test(token) ? `"${token}"` : token;
  });
}

/** A value, and the path of keys that leads to it from the root of the answer: `data.videos[0].url`. */
export interface Found {
  value: unknown;
  at: string;
}

/** The objects of an answer that may speak of the task, the whole answer first. */
export function bodiesOf(root: unknown, within: readonly string[]): Found[] {
  const inner = within.flatMap((path) => [...valuesAt({ value: root, at: '' }, path)]);
  return [{ value: root, at: '' }, ...inner.map(({ value, at }) => ({ value: unwrap(value), at }))];
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
function* follow({ value, at }: Found, [step, ...rest]: readonly string[]): Generator<Found> {
  if (step === undefined) {
    yield { value, at };
    return;
  }
  const key = step.replace(/\[\]$/, '');
  const holder = unwrap(value);
  if (!isObject(holder) || !Object.hasOwn(holder, key)) return;
  const here = at === '' ? key : `${at}.${key}`;
  const found = key === step ? holder[key] : unwrap(holder[key]);
  if (key === step || !Array.isArray(found)) {
    yield* follow({ value: found, at: here }, rest);
    return;
  }
  for (const [index, entry] of found.slice(0, MOST_ENTRIES).entries()) {
    yield* follow({ value: entry, at: `${here}[${index}]` }, rest);
  }
}

// Some services put JSON in a string inside their JSON.
function unwrap(value: unknown): unknown {
  return parseJson(value) ?? value;
}
