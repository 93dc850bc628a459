import { redact, type Secrets } from '../contract/redact';
import { SECRET_HEADERS, secretsOf } from '../service/secrets-of-call';
import { ServiceFault } from '../service/service-fault';
import { messageOf } from './sdk-errors';

/** A provider has one key or two, and a rotated one replaces it. */
const MOST_KEYS = 20;

/** `Bearer sk-…` and `Key …`: services quote the key alone. */
const SCHEME_AND_KEY = /^[A-Za-z][\w-]* (\S+)$/;

/** Made for every submit and named in records: no secret, although its header has `key` in its name. */
const NO_SECRET = /^idempotency-?key$/i;

const isSecret = (header: string) => SECRET_HEADERS.test(header) && !NO_SECRET.test(header);

/** Whether headers have a key among them, by their names. */
export const hasKey = (headers: Record<string, string>): boolean => Object.keys(headers).some(isSecret);

/** A host without types may name anything. What is no text could not be found later, in the answer of a paid task. */
function isGiven(key: unknown): boolean {
  if (key === undefined || key === '') return false;
  if (typeof key === 'string') return true;
  throw new TypeError(
    'a key of the provider is no text: apiKey and secrets have to return the keys themselves, and no promises',
  );
}

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
      const message = redact(messageOf(error), this.all);
      throw new ServiceFault('not-sent', { message });
    }
  }

  /** The secrets of one request; its keys are hidden from now on. */
  ofRequest(url: URL, headers: Record<string, string>): Secrets {
    for (const [name, value] of Object.entries(headers)) {
      if (!isSecret(name)) continue;
      this.remember(SCHEME_AND_KEY.exec(value)?.[1] ?? value);
    }
    for (const [name, value] of url.searchParams) if (SECRET_HEADERS.test(name)) this.remember(value);
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

/** A shorter value is a number or a word. */
const SHORTEST_KEY_CHARS = 8;
