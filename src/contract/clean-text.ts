const LONGEST_SAID = 500;

const ESCAPE = '\u001b';
const BELL = '\u0007';
/** Colours and window titles, which would leave `[31m` or `]0;` behind when only their control characters go. */
const TERMINAL_SEQUENCES = new RegExp(
  `${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^${ESCAPE}${BELL}]*(?:${BELL}|${ESCAPE}\\\\)`,
  'g',
);

/** A service's words as they may stand in a log, a history or a terminal. */
export function cleanText(text: string, longest = LONGEST_SAID): string {
  const clean = text
    .replace(TERMINAL_SEQUENCES, '')
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
  if (clean.length <= longest) return clean;
  const halfCharacter = /\p{Cs}$/u;
  return `${clean.slice(0, longest - 1).replace(halfCharacter, '')}…`;
}
