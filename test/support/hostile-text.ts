import fc from 'fast-check';

/** What means something to a terminal, a shell, a printf, markdown or an option parser, among letters. */
const UNITS = [
  ...['\u001b', '\u001b[2J', '\u001b]0;x\u0007', '\n', '\r', '\t', '\b', '\u007f', '\u0085', '\u009b'],
  ...['\u202e', '\u2066', '\u200d', '\u2028', '\u2029', '\ufeff', '\u00ad', '\u{e0041}'],
  ...["'", '"', '`', '$', '$(touch x)', '\\', '\\n', '\\033', '%', '%s', '!', '!!', '~', '=', '*', '?'],
  ...['-', '--', '(', ')', '[', ']', '{', '}', '<', '>', ';', '&', '|', '#', ' ', '  ', '_', '.', '/'],
  ...['a', 'task', '0', '7', 'é', '狐', '🦊'],
];

/** Ids and messages that somebody chose to do harm with; NUL, which no argument of a command can have, is in none. */
export const hostileText = fc.string({ unit: fc.constantFrom(...UNITS), minLength: 1, maxLength: 12 });

/** What a terminal would obey, or hide, and not show. */
export const STEERING = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
