import { printable } from './clean-text';

/** Somebody's words in the midst of ours: what would be a picture, a link or a heading is not. */
export function plainMarkdown(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>#!|~&]/g, '\\$&');
}

/** A value to the letter, whatever backticks are in it. */
export function codeMarkdown(text: string): string {
  const line = oneLine(text);
  const longestRun = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longestRun + 1);
  const isApart = line !== '' && !/^`|`$|^ .* $/.test(line);
  return isApart ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`;
}

function oneLine(text: string): string {
  return printable(text).replaceAll('\n', ' ');
}
