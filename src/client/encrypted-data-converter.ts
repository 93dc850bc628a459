import type { DataConverter } from '@temporalio/common';
import { readEncryptionKeys } from '../config/operation-config';
import { ConfigError, type Environment } from '../config/read-setting';
import { withEncryption } from '../encryption/data-converter';

/**
 * A data converter for a client or a worker of your own that encrypts as ours do, with the keys in `VIDEOGEN_ENCRYPTION_KEYS`.
 * Throws a ConfigError without keys.
 *
 * @example
 * ```ts
 * const client = new Client({ connection, dataConverter: encryptedDataConverter() });
 * const videos = await createVideoClient({ client });
 * ```
 */
export function encryptedDataConverter(
  options: {
    /** The settings with the keys. Default: `process.env`. */
    env?: Environment;
    /** Your own data converter. Its codecs encode before ours, and its failure converter stays. */
    dataConverter?: DataConverter;
  } = {},
): DataConverter {
  const ring = readEncryptionKeys(options.env);
  if (ring) return withEncryption(options.dataConverter, { ring });
  throw new ConfigError(
    'There are no keys to encrypt with: set VIDEOGEN_ENCRYPTION_KEYS to what videogen encryption-key NAME prints.',
  );
}
