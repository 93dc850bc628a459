import type { Secrets } from '../contract/redact';
import { SECRET_HEADERS, secretsOf } from '../service/secrets-of-call';

/** A provider has one key or two, and a rotated one replaces it. */
const MOST_KEYS = 20;

/** A shorter value is a number or a word. */
const SHORTEST_KEY_CHARS = 8;

/** `Bearer sk-…` and `Key …`: services quote the key alone. */
const SCHEME_AND_KEY = /^[A-Za-z][\w-]* (\S+)$/;

/** Made for every submit and named in records: not a secret, although its header has `key` in its name. */
const isSecret = (name: string) => SECRET_HEADERS.test(name) && !/^idempotency-?key$/i.test(name);

/** Whether headers have a key among them, by their names. */
export const hasKey = (headers: Record<string, string>): boolean => Object.keys(headers).some(isSecret);

/** What must never be repeated: the keys that were named, and those that were seen in requests. */
export class KnownSecrets {
  private readonly keys = new Set<string>();

  readonly hide = (key: string): void => {
    if (key.length < SHORTEST_KEY_CHARS) return;
    // The newest last, so that the oldest is forgotten first.
    this.keys.delete(key);
    this.keys.add(key);
    const [oldest] = this.keys;
    if (this.keys.size > MOST_KEYS && oldest !== undefined) this.keys.delete(oldest);
  };

  /** The secrets of one request; its keys are hidden from now on. */
  ofRequest(url: URL, headers: Record<string, string>): Secrets {
    for (const [name, value] of [...Object.entries(headers), ...url.searchParams])
      if (isSecret(name)) this.hide(SCHEME_AND_KEY.exec(value)?.[1] ?? value);
    return { ...this.all, wholeValues: secretsOf(url.pathname + url.search, []).wholeValues };
  }

  get all(): Secrets {
    return { keys: [...this.keys], wholeValues: [] };
  }
}
