import { redact, type Secrets } from '../contract/redact';
import { SECRET_HEADERS, secretsOf } from '../service/secrets-of-call';
import { ServiceFault } from '../service/service-fault';
import { messageOf } from './sdk-errors';

/** A provider has one key or two, and a rotated one replaces it. */
const MOST_KEYS = 20;

/** A shorter value is a number or a word. */
const SHORTEST_KEY_CHARS = 8;

/** `Bearer sk-…` and `Key …`: services quote the key alone. */
const SCHEME_AND_KEY = /^[A-Za-z][\w-]* (\S+)$/;

/** Made for every submit and named in records: not a secret, although its header has `key` in its name. */
const isSecret = (header: string) => SECRET_HEADERS.test(header) && !/^idempotency-?key$/i.test(header);

/** Whether headers have a key among them, by their names. */
export const hasKey = (headers: Record<string, string>): boolean => Object.keys(headers).some(isSecret);

/** What must never be repeated: the keys that the host names, and those that were seen in the headers of requests. */
export class KnownSecrets {
  private readonly seen = new Set<string>();
  private named: readonly string[] = [];

  constructor(private readonly nameKeys: () => readonly string[]) {}

  /** Before a call: keys may have been rotated. Those that cannot be named now could not be hidden either. */
  refresh(): void {
    try {
      this.named = [...this.nameKeys()].filter(isGiven);
    } catch (error) {
      throw new ServiceFault('not-sent', { message: redact(messageOf(error), this.all) });
    }
  }

  /** The secrets of one request; its keys are hidden from now on. */
  ofRequest(url: URL, headers: Record<string, string>): Secrets {
    const values = [...Object.entries(headers).filter(([name]) => isSecret(name)), ...url.searchParams]
      .filter(([name]) => SECRET_HEADERS.test(name))
      .map(([, value]) => SCHEME_AND_KEY.exec(value)?.[1] ?? value);
    for (const key of values) this.remember(key);
    const { wholeValues } = secretsOf(url.pathname + url.search, []);
    return { keys: this.all.keys, wholeValues };
  }

  get all(): Secrets {
    return { keys: [...this.named, ...this.seen], wholeValues: [] };
  }

  private remember(key: string): void {
    if (key.length < SHORTEST_KEY_CHARS) return;
    // The newest last, so that the oldest is forgotten first.
    this.seen.delete(key);
    this.seen.add(key);
    const [oldest] = this.seen;
    if (this.seen.size > MOST_KEYS && oldest !== undefined) this.seen.delete(oldest);
  }
}

/** A host without types may name anything. What is not text could not be found later, in the answer of a paid task. */
function isGiven(key: unknown): boolean {
  if (key === undefined || key === '') return false;
  if (typeof key === 'string') return true;
  throw new TypeError(
    'a key of the provider is not text: apiKey and secrets have to return the keys themselves, not promises',
  );
}
