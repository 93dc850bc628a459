/** Shorter runs are printed as they are. */
const SHORTEST_RUN_CHARS = 60;
const LONGEST_PERIOD = 20;

/** A value as code to paste. Long runs are written as `.repeat()`, so that a case stays readable. */
export function asCode(value: unknown): string {
  if (typeof value === 'string') return textAsCode(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return `Symbol(${JSON.stringify(value.description)})`;
  if (Object.is(value, -0)) return '-0';
  if (value instanceof Date) return `new Date(${value.getTime()})`;
  if (value instanceof Map) return 'new Map()';
  if (Array.isArray(value)) return `[${value.map(asCode).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  // A literal `__proto__` would set the prototype.
  const entries = Object.entries(value).map(([name, field]) => `[${textAsCode(name)}]: ${asCode(field)}`);
  return `{ ${entries.join(', ')} }`;
}

function textAsCode(text: string): string {
  const parts: string[] = [];
  let plain = '';
  for (let at = 0; at < text.length; ) {
    const run = runAt(text, at);
    if (run === undefined) {
      plain += text[at++];
      continue;
    }
    if (plain !== '') parts.push(quoted(plain));
    parts.push(`${quoted(run.unit)}.repeat(${run.times})`);
    plain = '';
    at += run.unit.length * run.times;
  }
  if (plain !== '' || parts.length === 0) parts.push(quoted(plain));
  return parts.join(' + ');
}

function runAt(text: string, start: number): { unit: string; times: number } | undefined {
  for (let period = 1; period <= LONGEST_PERIOD; period++) {
    let end = start + period;
    while (end < text.length && text[end] === text[end - period]) end++;
    const times = Math.floor((end - start) / period);
    if (times * period >= SHORTEST_RUN_CHARS && times > 1) {
      return { unit: text.slice(start, start + period), times };
    }
  }
  return undefined;
}

/** Invisible characters are escaped: a person must see what they paste. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (sign) =>
    [...Array(sign.length).keys()]
      .map((at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
