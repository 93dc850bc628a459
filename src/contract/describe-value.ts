import { cleanText, printableJson } from './clean-text';
import { redactLinks } from './redact-links';

const LONGEST_VALUE_CHARS = 60;
/** Only the beginning is shown, so the rest need not be searched for links. */
const LONGEST_SEARCHED_CHARS = 10_000;
/** A failure has to fit into a Temporal message, whatever it was given. */
const MOST_NAMES = 20;

/** A value that breaks a rule, on one line and without the secrets of links. Never throws, whatever a caller passes. */
export function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const redacted = redactLinks(String(value).slice(0, LONGEST_SEARCHED_CHARS));
  // Escaped control characters show what is wrong with a text that looks empty.
  return cleanText(typeof value === 'string' ? printableJson(redacted) : redacted, LONGEST_VALUE_CHARS);
}

/** Names of fields that do not exist, as half a sentence. */
export function describeNames(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).map(describeValue).join(', ');
  return more > 0 ? `${first} and ${more} more` : first;
}

/**
 * How many letters must be added, removed or changed to turn one word into the other; more than `most` for words whose
 * lengths alone differ by more. Comparing with a very long name would take seconds.
 */
export function editDistance(a: string, b: string, most: number): number {
  const difference = Math.abs(a.length - b.length);
  if (difference > most) return difference;
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
