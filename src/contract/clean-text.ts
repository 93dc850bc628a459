const LONGEST_SAID = 500;
/** As long as Temporal lets a workflow id be. */
const LONGEST_NAME = 1_000;

const ESCAPE = '\u001b';
const BELL = '\u0007';
/** Colours and window titles, which would leave `[31m` or `]0;` behind when only their control characters go. */
const TERMINAL_SEQUENCES = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\)`,
  'g',
);

/** What steers a screen, turns text around, breaks lines or is half a character, and is never seen itself. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const CONTROLS = new RegExp(CONTROL, 'gu');

export function hasControls(text: string): boolean {
  return CONTROL.test(text);
}

/** Somebody's words as they may stand in a log, a history or a terminal: on one line. */
export function cleanText(text: string, longest = LONGEST_SAID): string {
  const clean = text
    .replace(TERMINAL_SEQUENCES, '')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ')
    .trim();
  if (clean.length <= longest) return clean;
  const halfCharacter = /\p{Cs}$/u;
  return `${clean.slice(0, longest - 1).replace(halfCharacter, '')}…`;
}

/** A name or an id that anybody may have chosen, as people may see it. */
export function shown(name: string): string {
  return cleanText(name, LONGEST_NAME);
}

/** Lines as they may be written to a terminal: nothing in them moves the cursor but the ends of the lines. */
export function printable(lines: string): string {
  return lines
    .replace(TERMINAL_SEQUENCES, '')
    .replace(CONTROLS, (control) => (control === '\n' ? control : ' '));
}

/** JSON on one line. What would steer a terminal is escaped, so that programs read the value to the letter. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(CONTROLS, (control) =>
    control.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}
