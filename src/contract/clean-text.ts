const LONGEST_TEXT_CHARS = 500;
/** Temporal's limit for a workflow id. */
const LONGEST_NAME_CHARS = 1_000;

const ESCAPE = '\u001b';
const BELL = '\u0007';
/** Colours and window titles: removing only their control characters would leave `[31m` or `]0;` behind. */
const TERMINAL_SEQUENCES = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\)`,
  'g',
);

/** Invisible characters that steer a terminal, reverse text or break lines, and unpaired surrogates. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const CONTROLS = new RegExp(CONTROL, 'gu');

export function hasControls(text: string): boolean {
  return CONTROL.test(text);
}

/** Makes foreign text safe for a log, a history or a terminal: one line, no control characters, bounded length. */
export function cleanText(text: string, longestChars = LONGEST_TEXT_CHARS): string {
  const clean = text
    .replace(TERMINAL_SEQUENCES, '')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim();
  if (clean.length <= longestChars) return clean;
  const halfCharacter = /\p{Cs}$/u;
  return `${clean.slice(0, longestChars - 1).replace(halfCharacter, '')}…`;
}

/** A name or an id as people may see it. */
export function shown(name: string): string {
  return cleanText(name, LONGEST_NAME_CHARS);
}

/** Lines that are safe to write to a terminal: line ends are the only control characters left. */
export function printable(lines: string): string {
  return lines
    .replace(TERMINAL_SEQUENCES, '')
    .replace(CONTROLS, (control) => (control === '\n' ? control : ' '));
}

/** JSON on one line. Control characters are escaped, so programs still read the exact value. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(CONTROLS, (control) =>
    control.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** The value in a JSON text; undefined if it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for an object that is not a list, such as one in JSON. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Foreign text inside our markdown: links, images and headings in it stay plain text. */
export function plainMarkdown(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>#!|~&]/g, '\\$&');
}

/** A value as inline code, character by character, even with backticks in it. */
export function codeMarkdown(text: string): string {
  const line = oneLine(text);
  const longestRun = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longestRun + 1);
  const needsNoSpace = line !== '' && !/^`|`$|^ .* $/.test(line);
  return needsNoSpace ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

/** Text of any length on one line, safe to write to a terminal. */
export function oneLine(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}

/** Quotes one argument for a POSIX shell. Names and task ids have no control characters; from others they are removed. */
export function inShell(argument: string): string {
  if (/^[\w./:@%+-]+$/.test(argument)) return argument;
  const text = hasControls(argument) ? shown(argument) : argument;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
