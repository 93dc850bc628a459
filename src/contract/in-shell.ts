import { hasControls } from './clean-text';

/**
 * One argument as it has to be typed into a POSIX shell. What must not reach a screen is written as printf's octal
 * escapes. NUL is left out: no argument can have it.
 */
export function inShell(argument: string): string {
  if (/^[\w./:@%+-]+$/.test(argument)) return argument;
  return hasControls(argument) ? printed(argument) : quoted(argument);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function printed(argument: string): string {
  const text = argument.replaceAll('\0', '').replace(/\p{Cs}/gu, '\uFFFD');
  // A command substitution loses the ends of lines that it ends with.
  const [ends = ''] = /\n*$/.exec(text) ?? [];
  const before = text.slice(0, text.length - ends.length);
  const start = before === '' ? '' : `"$(printf '${[...before].map(escaped).join('')}')"`;
  return `${start}${ends && quoted(ends)}` || quoted('');
}

/** Of ASCII only what means nothing to any shell, nor to printf, stays as it is. */
function escaped(character: string): string {
  if (/[\w ./:@+,=]/.test(character)) return character;
  if (character > '\u007f' && !hasControls(character)) return character;
  return bytesOf(character)
    .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
    .join('');
}

/** In UTF-8. */
function bytesOf(character: string): number[] {
  const encoded = encodeURIComponent(character);
  if (encoded === character) return [character.charCodeAt(0)];
  return encoded
    .slice(1)
    .split('%')
    .map((hex) => Number.parseInt(hex, 16));
}
