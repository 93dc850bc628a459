import { shown } from '../contract/clean-text';

/** How many names are compared with a mistyped one. */
const MOST_NAMES = 500;
const MOST_SUGGESTIONS = 3;
/** Comparing longer names would take seconds. */
const LONGEST_COMPARED_CHARS = 100;

/** Temporal has no job or batch with the name. */
export class NoSuchJob extends Error {
  override readonly name = 'NoSuchJob';

  constructor(workflowId: string, didYouMean = '') {
    super(`There is no job ${shown(workflowId)}.${didYouMean || FORGOTTEN}`);
  }
}

const FORGOTTEN =
  ' Temporal forgets ended jobs after a time, the retention of the namespace; stored videos stay.';

/** A server without lists, such as a test server, has none. */
export async function namesLike(
  workflowId: string,
  recentNames: (most: number) => Promise<string[]>,
): Promise<string[]> {
  return similarNames(workflowId, await recentNames(MOST_NAMES).catch(() => []));
}

/** ` Did you mean fox-1, or fox-2?`, or nothing. */
export function didYouMean(names: readonly string[]): string {
  return names.length === 0 ? '' : ` Did you mean ${names.map(shown).join(', or ')}?`;
}

/** The names that a mistyped one may stand for, the most similar first. */
export function similarNames(given: string, names: readonly string[]): string[] {
  if (given.length > LONGEST_COMPARED_CHARS) return [];
  const word = given.toLowerCase();
  const mostTypos = Math.max(1, Math.min(3, Math.floor(word.length / 3)));
  return names
    .map((name) => ({ name, typos: typosIn(name.toLowerCase(), word, mostTypos) }))
    .filter(({ typos }) => typos <= mostTypos)
    .sort((a, b) => a.typos - b.typos)
    .slice(0, MOST_SUGGESTIONS)
    .map(({ name }) => name);
}

/** The beginning of a name counts as one typo: long names are seldom typed to the end. */
function typosIn(name: string, word: string, most: number): number {
  if (word.length >= 3 && name.startsWith(word)) return 1;
  return editDistance(name, word, most);
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
