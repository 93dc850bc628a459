import { cleanText, withoutQueries } from '../contract/clean-text';
import type { TracedReading } from './read-answer';

/** What is shorter is a word such as `1` or `mp4`: it hides nothing, and would be cut out of every sentence. */
const SHORTEST_SIGNATURE = 8;

/**
 * A service's words as they may be repeated in a log or a history. Some services quote the key they refuse, and some
 * storages the signature of a link: neither goes further than here, nor does the query of any other link.
 */
export function quotable(text: string, secrets: readonly string[]): string {
  let told = text;
  for (const secret of secrets) {
    told = told.replaceAll(secret, '…');
  }
  return cleanText(withoutQueries(told));
}

export function quotableReading<Reading extends TracedReading>(
  reading: Reading,
  secrets: readonly string[],
): Reading {
  const { task, said, doubts } = reading;
  return {
    ...reading,
    doubts: doubts.map((doubt) => quotable(doubt, secrets)),
    task: { ...task, word: quotable(task.word, secrets) },
    said: {
      ...(said.code !== undefined && { code: quotable(said.code, secrets) }),
      ...(said.message !== undefined && { message: quotable(said.message, secrets) }),
    },
  };
}

/** What a call carries that nobody else may see: its keys, whatever signs its address, and what else may be a secret. */
export function secretsOf(path: string, keys: readonly string[], others: readonly string[] = []): string[] {
  const [, query = ''] = path.split(/\?(.*)/s);
  const signatures = [...query.split(/[&=]/), ...new URLSearchParams(query).values()];
  return [
    ...keys.filter((key) => key !== ''),
    ...[...signatures, ...others].filter((part) => part.length >= SHORTEST_SIGNATURE),
  ];
}
