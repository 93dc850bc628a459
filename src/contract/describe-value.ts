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
