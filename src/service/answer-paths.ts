import { isRecord } from '../contract/clean-text';
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
  const inner = within.flatMap((path) => valuesAt(whole, path));
  return [whole, ...inner.map((found) => ({ ...found, value: unwrap(found.value, found.parsed) }))];
}

/** Path by path, each in every body: a specific name deep in the answer comes before a vague one at its top. */
export function valuesIn(bodies: readonly FoundValue[], paths: readonly AnswerPath[]): FoundValue[] {
  return paths.flatMap((path) => bodies.flatMap((body) => valuesAt(body, path)));
}

export function valuesAt(body: FoundValue, path: AnswerPath): FoundValue[] {
  return path
    .split('.')
    .reduce<FoundValue[]>((found, step) => found.flatMap((one) => stepInto(one, step)), [body]);
}

// A task has one video or a few; a list of a million entries must not block the process for seconds.
const MAX_LIST_ENTRIES = 100;

function stepInto({ value, path, parsed }: FoundValue, step: string): FoundValue[] {
  const key = step.endsWith('[]') ? step.slice(0, -2) : step;
  const holder = unwrap(value, parsed);
  if (!isRecord(holder) || !Object.hasOwn(holder, key)) return [];
  const here = path === '' ? key : `${path}.${key}`;
  const found = key === step ? holder[key] : unwrap(holder[key], parsed);
  if (key === step || !Array.isArray(found)) return [{ value: found, path: here, parsed }];
  return found
    .slice(0, MAX_LIST_ENTRIES)
    .map((entry, index) => ({ value: entry, path: `${here}[${index}]`, parsed }));
}

/** The same path for every entry of a list, as a profile has it: `videos[1].url` becomes `videos[].url`. */
export function profilePath(path: string): AnswerPath {
  return path.replace(/\[\d+\]/g, '[]');
}

// An answer has a few dozen values; of a larger one the top is enough.
const MAX_LEAVES = 5_000;
const MAX_LEAF_DEPTH = 12;

/** The values of an answer that say something, from the top down: neither objects and lists nor null, false and ''. */
export function leavesOf(root: unknown): FoundValue[] {
  const queue = [{ value: root, path: '', depth: 0 }];
  const leaves: FoundValue[] = [];
  // What is added meanwhile is visited too.
  for (const { value, path, depth } of queue) {
    const held = unwrap(value);
    if (held === null || held === undefined || held === '' || held === false) continue;
    if (typeof held !== 'object' || depth === MAX_LEAF_DEPTH) {
      leaves.push({ value: held, path });
      continue;
    }
    for (const [key, inner] of Object.entries(held)) {
      if (queue.length >= MAX_LEAVES) break;
      const at = Array.isArray(held) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      queue.push({ value: inner, path: at, depth: depth + 1 });
    }
  }
  return leaves;
}

// Some services put JSON in a string inside their JSON.
function unwrap(value: unknown, parsed: Map<string, unknown> = new Map()): unknown {
  if (!mayBeJson(value)) return value;
  if (!parsed.has(value)) parsed.set(value, parseJson(value) ?? value);
  return parsed.get(value);
}

/** The object or list in a text; undefined for anything else. */
export function parseJson(text: unknown): Record<string, unknown> | unknown[] | undefined {
  if (!mayBeJson(text)) return undefined;
  try {
    const json = text.trim();
    const rounded: unknown = JSON.parse(json);
    const value = LONG_INTEGER.test(json) ? JSON.parse(withExactIntegers(json)) : rounded;
    return isRecord(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function mayBeJson(text: unknown): text is string {
  return typeof text === 'string' && /^\s*[[{]/.test(text);
}

const LONG_INTEGER = /\d{16}/;
/** A text or a number in valid JSON; looking for these in anything else may take very long. */
const LITERAL = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

/** JSON.parse rounds a task id of 19 digits to the id of another task: long integers become texts. */
function withExactIntegers(json: string): string {
  return json.replace(LITERAL, (literal) => (/^\d{16,}$/.test(literal) ? `"${literal}"` : literal));
}
