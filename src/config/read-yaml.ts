import { resolve } from 'node:path';
import type { LineCounter } from 'yaml';
import { errorCode } from '../contract/error-code';
import { readTextFile } from './read-files';

/** A profile has a few levels. */
const DEEPEST_LEVEL = 50;
/** `- - - x` and `? ? ? x` nest without brackets. */
const COMPACT_LEVELS = new RegExp(`(?:[-?:][ \\t]+){${DEEPEST_LEVEL}}`);

type ReadYaml = { ok: true; value: unknown } | { ok: false; problem: string };

/** The value of a YAML or JSON file, or what is wrong with it, as a phrase that follows the name of its setting. */
export function readYamlFile(file: string, { folder = '.', not = 'which is not' } = {}): ReadYaml {
  let content: string;
  try {
    content = readTextFile(resolve(folder, file));
  } catch (error) {
    const code = errorCode(error) ?? 'no code';
    return { ok: false, problem: `is ${JSON.stringify(file)}, ${not} a file that can be read (${code})` };
  }
  // JSON is YAML too.
  const given = readYaml(content);
  return given.ok ? given : { ok: false, problem: `names a file that is not YAML (${given.problem})` };
}

/** The value of a YAML or JSON text, or the first problem, on one line. */
function readYaml(text: string): ReadYaml {
  // The parser is recursive. Where the stack ends, V8 may end the whole process instead of throwing.
  if (isDeep(text)) return { ok: false, problem: `it is nested more than ${DEEPEST_LEVEL} levels deep` };
  // Loaded only here, because few have a profile in a file and it loads slowly.
  const yaml: typeof import('yaml') = require('yaml');
  const lines = new yaml.LineCounter();
  try {
    // Pretty errors and warnings quote lines of the file, which may have a key in it, and many of them take seconds.
    const document = yaml.parseDocument(text, { prettyErrors: false, logLevel: 'error', lineCounter: lines });
    const [error] = document.errors;
    if (error) return { ok: false, problem: `${error.message} ${describePosition(lines, error.pos[0])}` };
    return { ok: true, value: document.toJS() };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

function describePosition(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `at line ${line}, column ${col}`;
}

function isDeep(text: string): boolean {
  let level = 0;
  for (const sign of text) {
    if (sign === '[' || sign === '{') level++;
    else if (sign === ']' || sign === '}') level = Math.max(0, level - 1);
    if (level > DEEPEST_LEVEL) return true;
  }
  return COMPACT_LEVELS.test(text);
}
