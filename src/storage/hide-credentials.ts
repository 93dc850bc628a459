import type { S3Client } from '@aws-sdk/client-s3';
import { NO_SECRETS, type Secrets } from '../contract/find-secrets';
import { redact } from '../contract/redact';
import type { S3Credentials } from './s3-connection';

/** A shorter one is a word, such as `test`, and hidden where it stands alone. */
const SHORTEST_KEY = 8;

/** Makes every error of a client one that may be told: some servers quote what the request was signed with. */
export function hideCredentials(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (call) => {
      try {
        return await next(call);
      } catch (error) {
        const secrets = await client.config.credentials().then(secretsOf, () => NO_SECRETS);
        throw withoutSecrets(error, secrets);
      }
    },
    // Around the retries.
    { step: 'initialize', name: 'hideCredentials', priority: 'high' },
  );
}

function secretsOf({ accessKeyId, secretAccessKey, sessionToken = '' }: S3Credentials): Secrets {
  const given = [secretAccessKey, sessionToken];
  return {
    keys: given.filter((key) => key.length >= SHORTEST_KEY),
    // An id is told whole or not at all, and a piece of it opens nothing.
    others: [accessKeyId, ...given.filter((key) => key.length < SHORTEST_KEY)],
  };
}

/** The same error, for it is known by its class. */
function withoutSecrets(error: unknown, secrets: Secrets): unknown {
  if (typeof error !== 'object' || error === null) return error;
  for (const part of ['message', 'name']) {
    const words: unknown = Reflect.get(error, part);
    if (typeof words === 'string') Reflect.set(error, part, redact(words, secrets));
  }
  return error;
}
