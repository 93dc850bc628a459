import fc from 'fast-check';

/** Characters with a meaning for terminals, shells, printf, Markdown or option parsers, among letters. */
const UNITS = [
  ...['\u001b', '\u001b[2J', '\u001b]0;x\u0007', '\n', '\r', '\t', '\b', '\u007f', '\u0085', '\u009b'],
  ...['\u202e', '\u2066', '\u200d', '\u2028', '\u2029', '\ufeff', '\u00ad', '\u{e0041}'],
  ...["'", '"', '`', '$', '$(touch x)', '\\', '\\n', '\\033', '%', '%s', '!', '!!', '~', '=', '*', '?'],
  ...['-', '--', '(', ')', '[', ']', '{', '}', '<', '>', ';', '&', '|', '#', ' ', '  ', '_', '.', '/'],
  ...['a', 'task', '0', '7', 'é', '狐', '🦊'],
];

/** Malicious ids and messages. None contains NUL, which no command line argument can contain. */
export const hostileText = fc.string({ unit: fc.constantFrom(...UNITS), minLength: 1, maxLength: 12 });

/** Characters that a terminal executes or hides. */
export const STEERING = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
