import type { Secrets } from '../contract/redact';
import { looksLikeToken } from '../contract/redact-links';
import type { ServiceProfile } from './profile';

/** Names of headers whose values are secrets, in requests and in answers. */
export const SECRET_HEADERS = /auth|cookie|token|secret|key|signature|credential|password/i;
/** A shorter value of such a header is a number or a word. */
const MIN_KEY_LENGTH = 8;

/** What a call carries that must never be logged: its keys, the profile's headers, and the query of its address. */
export function secretsOf(path: string, keys: readonly string[], profile: ServiceProfile = {}): Secrets {
  const [, query = ''] = path.split(/\?(.*)/s);
  const fields = Object.entries(profile.headers ?? {});
  const isKey = ([name, value]: [string, string]) =>
    SECRET_HEADERS.test(name) && value.length >= MIN_KEY_LENGTH;
  return {
    keys: [...keys, ...fields.filter(isKey).map(([, value]) => value)].filter((key) => key !== ''),
    wholeValues: [
      ...query.split(/[&=]/),
      ...new URLSearchParams(query).values(),
      ...fields.filter((field) => !isKey(field)).map(([, value]) => value),
    ].filter((part) => part !== ''),
  };
}

/** The secrets of a link. A token in its path may be all that is needed to open it. */
export function secretsOfLink(path: string, { keys, wholeValues }: Secrets): Secrets {
  const own = secretsOf(path, keys);
  const [address = ''] = path.split('?');
  const tokens = address.split(/[/;=]/).map((segment) => segment.replace(/\.\w{1,5}$/, ''));
  return { keys, wholeValues: [...wholeValues, ...own.wholeValues, ...tokens.filter(looksLikeToken)] };
}
