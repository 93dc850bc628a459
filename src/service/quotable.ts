import { cleanText } from '../contract/clean-text';
import type { AnswerReading } from './read-answer';

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
  return cleanText(told.replace(/\?[^\s"'<>?=]*=[^\s"'<>]*/g, '?…'));
}

export function quotableReading(reading: AnswerReading, secrets: readonly string[]): AnswerReading {
  const { task, said } = reading;
  return {
    ...reading,
    task: { ...task, word: quotable(task.word, secrets) },
    said: {
      ...(said.code !== undefined && { code: quotable(said.code, secrets) }),
      ...(said.message !== undefined && { message: quotable(said.message, secrets) }),
    },
  };
}

/** What a call carries that nobody else may see: its key, and whatever signs its address. */
export function secretsOf(call: { path: string; headers?: Record<string, string> }): string[] {
  const [, query = ''] = call.path.split(/\?(.*)/s);
  const key = call.headers?.authorization?.replace(/^Bearer /, '');
  const signatures = [...query.split(/[&=]/), ...new URLSearchParams(query).values()];
  return [...(key ? [key] : []), ...signatures.filter((part) => part.length >= SHORTEST_SIGNATURE)];
}
