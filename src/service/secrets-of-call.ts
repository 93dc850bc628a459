import type { Secrets } from '../contract/find-secrets';
import { redact } from '../contract/redact';
import { looksLikeToken } from '../contract/redact-links';
import type { TracedReading } from './read-answer';

const SECRET_NAMES = /auth|cookie|token|secret|key|signature|credential|password/i;

export function redactReading<Reading extends TracedReading>(reading: Reading, secrets: Secrets): Reading {
  const { task, said, doubts } = reading;
  return {
    ...reading,
    doubts: doubts.map((doubt) => redact(doubt, secrets)),
    task: { ...task, word: redact(task.word, secrets) },
    said: {
      ...(said.code !== undefined && { code: redact(said.code, secrets) }),
      ...(said.message !== undefined && { message: redact(said.message, secrets) }),
    },
  };
}

/** A shorter value of such a header is a number or a word. */
const SHORTEST_KEY = 8;

/** What a call carries: its keys, the headers of a profile, and what signs its address. */
export function secretsOf(
  path: string,
  keys: readonly string[],
  headers: Record<string, string> = {},
): Secrets {
  const [, query = ''] = path.split(/\?(.*)/s);
  const fields = Object.entries(headers);
  const isKey = ([name, value]: [string, string]) => SECRET_NAMES.test(name) && value.length >= SHORTEST_KEY;
  return {
    keys: [...keys, ...fields.filter(isKey).map(([, value]) => value)].filter((key) => key !== ''),
    others: [
      ...query.split(/[&=]/),
      ...new URLSearchParams(query).values(),
      ...fields.filter((field) => !isKey(field)).map(([, value]) => value),
    ].filter((part) => part !== ''),
  };
}

/** The same for a link, whose path may be what lets somebody in. */
export function secretsOfLink(path: string, { keys, others }: Secrets): Secrets {
  const own = secretsOf(path, keys);
  const [address = ''] = path.split('?');
  const tokens = address.split(/[/;=]/).map((segment) => segment.replace(/\.\w{1,5}$/, ''));
  return { keys, others: [...others, ...own.others, ...tokens.filter(looksLikeToken)] };
}
