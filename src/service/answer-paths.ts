import type { AnswerPath } from './reading-rules';

/** A value and the path to it from the root of the answer: `data.videos[0].url`. */
export interface FoundValue {
  value: unknown;
  path: string;
  /** What was parsed from JSON texts inside this answer. Many paths lead through the same text; it is parsed once. */
  parsed?: Map<string, unknown>;
}

/** The objects of an answer that may describe the task, the whole answer first. */
export function bodiesOf(root: unknown, within: readonly AnswerPath[]): FoundValue[] {
  const whole: FoundValue = { value: root, path: '', parsed: new Map() };
  const inner = within.flatMap((path) => [...valuesAt(whole, path)]);
  return [whole, ...inner.map((found) => ({ ...found, value: unwrap(found.value, found.parsed) }))];
}

/** Path by path, each in every body: a specific name deep in the answer comes before a vague one at its top. */
export function* valuesIn(
  bodies: readonly FoundValue[],
  paths: readonly AnswerPath[],
): Generator<FoundValue> {
  for (const path of paths) {
    const steps = stepsOf(path);
    for (const body of bodies) if (startsIn(body, steps)) yield* follow(body, steps);
  }
}

export function* valuesAt(body: FoundValue, path: AnswerPath): Generator<FoundValue> {
  const steps = stepsOf(path);
  if (startsIn(body, steps)) yield* follow(body, steps);
}

/** Paths come from rules and profiles: some hundreds at most, which are split once. */
const splitPaths = new Map<AnswerPath, readonly string[]>();
const MOST_SPLIT_PATHS = 1_000;

function stepsOf(path: AnswerPath): readonly string[] {
  const known = splitPaths.get(path);
  if (known) return known;
  const steps = path.split('.');
  if (splitPaths.size >= MOST_SPLIT_PATHS) splitPaths.clear();
  splitPaths.set(path, steps);
  return steps;
}

/** Most paths lead nowhere in most answers: this finds out without a generator. */
function startsIn({ value, parsed }: FoundValue, [first = '']: readonly string[]): boolean {
  const holder = unwrap(value, parsed);
  return isObject(holder) && Object.hasOwn(holder, first.endsWith('[]') ? first.slice(0, -2) : first);
}

// A task has one video or a few; a list of a million entries must not block the process for seconds.
const MAX_LIST_ENTRIES = 100;

// The recursion is as deep as the path is long, whatever the answer contains.
function* follow(
  { value, path, parsed }: FoundValue,
  [step, ...rest]: readonly string[],
): Generator<FoundValue> {
  if (step === undefined) {
    yield { value, path, parsed };
    return;
  }
  const key = step.replace(/\[\]$/, '');
  const holder = unwrap(value, parsed);
  if (!isObject(holder) || !Object.hasOwn(holder, key)) return;
  const here = path === '' ? key : `${path}.${key}`;
  const found = key === step ? holder[key] : unwrap(holder[key], parsed);
  if (key === step || !Array.isArray(found)) {
    yield* follow({ value: found, path: here, parsed }, rest);
    return;
  }
  for (const [index, entry] of found.slice(0, MAX_LIST_ENTRIES).entries()) {
    yield* follow({ value: entry, path: `${here}[${index}]`, parsed }, rest);
  }
}

/** Deeper than any answer. */
const DEEPEST_LEVEL = 20;

/** The values of an answer that say something: neither objects and lists nor null, false and ''. */
export function leavesOf(value: unknown, path = '', level = 0): Pick<FoundValue, 'value' | 'path'>[] {
  if (value === null || value === undefined || value === '' || value === false) return [];
  if (typeof value !== 'object' || level === DEEPEST_LEVEL) return [{ value, path }];
  return Object.entries(value).flatMap(([name, part]) =>
    leavesOf(part, path === '' ? name : `${path}.${name}`, level + 1),
  );
}

// Some services put JSON in a string inside their JSON.
function unwrap(value: unknown, parsed: Map<string, unknown> = new Map()): unknown {
  if (!mayBeJson(value)) return value;
  if (!parsed.has(value)) parsed.set(value, parseJson(value) ?? value);
  return parsed.get(value);
}

type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object or list in a text; undefined for anything else. Takes at most some 50 ms, whatever a service sends. */
export function parseJson(text: unknown): JsonObject | unknown[] | undefined {
  if (!mayBeJson(text)) return undefined;
  const json = nullifyDeepValues(text.trim());
  if (hasTooManyKeys(json)) return undefined;
  try {
    const value: unknown = JSON.parse(quoteLongIntegers(json));
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function mayBeJson(text: unknown): text is string {
  return typeof text === 'string' && /^\s*[[{]/.test(text);
}

// An answer about a task has a few dozen keys; JSON.parse takes more than 50 ms for a megabyte of nothing but keys.
const MAX_KEYS = 20_000;

function hasTooManyKeys(json: string): boolean {
  let keys = 0;
  for (const _ of json.matchAll(/"\s*:/g)) {
    keys += 1;
    if (keys > MAX_KEYS) return true;
  }
  return false;
}

// No service nests its answers this deep, and JSON.parse takes 100 ms for a megabyte of brackets.
const MAX_DEPTH = 1000;
const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

/** Replaces values that are nested too deep by null, so that the rest can still be read. */
function nullifyDeepValues(json: string): string {
  let result = '';
  let from = 0;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(json, at);
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (depth++ === MAX_DEPTH) result += `${json.slice(from, at)}null`;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      if (--depth === MAX_DEPTH) from = at + 1;
    }
  }
  return depth > MAX_DEPTH ? result : result + json.slice(from);
}

/** The index of the quote that closes the string opened at `open`; the length of the text if there is none. */
export function endOfString(json: string, open: number): number {
  for (let at = json.indexOf('"', open + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}

// JSON.parse would round a task id of 19 digits to the id of another task. No regular expression here matches a whole
// string or number: a match of several megabytes overflows the stack.
function quoteLongIntegers(json: string): string {
  const longInteger = /\d{16}/g;
  let result = '';
  let from = 0;
  let string = { open: json.indexOf('"'), close: -1 };
  for (let match = longInteger.exec(json); match; match = longInteger.exec(json)) {
    const start = match.index;
    while (string.open !== -1 && string.open < start) {
      string.close = endOfString(json, string.open);
      if (string.close > start) break;
      string = { open: json.indexOf('"', string.close + 1), close: -1 };
    }
    if (string.close > start) {
      longInteger.lastIndex = string.close;
      continue;
    }
    let end = longInteger.lastIndex;
    while (isDigit(json.charCodeAt(end))) end++;
    longInteger.lastIndex = end;
    if (!/[.eE+-]/.test(json.charAt(start - 1) + json.charAt(end))) {
      result += `${json.slice(from, start)}"${json.slice(start, end)}"`;
      from = end;
    }
  }
  return result + json.slice(from);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
