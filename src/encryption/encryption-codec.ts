import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { shown } from '../contract/clean-text';
import { type EncryptionKeyRing, isKeyId } from './key-ring';
import { NotDecrypted, type NotDecryptedReason } from './not-decrypted';

/** Not `binary/encrypted`, which other people's codecs use: a host may have one besides ours. */
export const ENCODING = 'binary/videogen-encrypted';
const ENCODING_FIELD = 'encoding';
const KEY_ID_FIELD = 'encryption-key-id';
const CIPHER_FIELD = 'encryption-cipher';
const CIPHER = 'AES-256-GCM';

/** The length that GCM is made for. */
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Temporal's message, so that what is encrypted can be read in every language. */
const { Payload: Message } = temporal.api.common.v1;

const BRAND = Symbol.for('temporal-videogen.EncryptionCodec');

type Context = Parameters<PayloadCodec['decode']>[1];

export interface EncryptionCodecOptions {
  /** Undefined for a process without keys, which decrypts nothing and says so. */
  ring: EncryptionKeyRing | undefined;
  /**
   * The last attempt that may have run of the activity whose input cannot be decrypted. The failure then says it, so that
   * the next attempt can tell attempts that did nothing from lost ones.
   */
  lastAttempt?: (activity: PendingActivity) => Promise<number | undefined>;
}

/** An activity that Temporal has given to this worker. */
export interface PendingActivity {
  namespace: string;
  workflowId: string;
  activityId: string;
}

/**
 * Encrypts each payload as a whole, metadata included. The data are IV, ciphertext and tag; the metadata in the open, which
 * name the key, are authenticated with them. Payloads that are not encrypted pass as they are: jobs from before the keys go on.
 */
export class EncryptionCodec implements PayloadCodec {
  readonly [BRAND] = true;

  constructor(private readonly options: EncryptionCodecOptions) {}

  /** Whether it has a key to encrypt with. */
  get encrypts(): boolean {
    return this.options.ring !== undefined;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const { ring } = this.options;
    return ring === undefined ? payloads : payloads.map((payload) => encrypt(payload, ring));
  }

  async decode(payloads: Payload[], context?: Context): Promise<Payload[]> {
    try {
      return payloads.map((payload) =>
        isEncrypted(payload) ? decrypt(payload, this.options.ring) : payload,
      );
    } catch (error) {
      throw error instanceof NotDecrypted ? await this.withLastAttempt(error, context) : error;
    }
  }

  private async withLastAttempt(error: NotDecrypted, context: Context): Promise<NotDecrypted> {
    if (context?.type !== 'activity' || context.isLocal) return error;
    const { namespace, workflowId, activityId } = context;
    if (workflowId === undefined || activityId === undefined) return error;
    const lastAttempt = await this.options
      .lastAttempt?.({ namespace, workflowId, activityId })
      .catch(() => undefined);
    return new NotDecrypted(error.message, error.reason, lastAttempt);
  }
}

/** Also true for the codec of another copy of this package. */
export function isEncryptionCodec(codec: PayloadCodec): codec is EncryptionCodec {
  return BRAND in codec;
}

export function isEncrypted(payload: Payload): boolean {
  return textOf(payload, ENCODING_FIELD) === ENCODING;
}

/** The id of the key that a payload is encrypted with; undefined for one that is not encrypted. */
export function keyIdOf(payload: Payload): string | undefined {
  return isEncrypted(payload) ? textOf(payload, KEY_ID_FIELD) : undefined;
}

/** The metadata in the open, which are authenticated as protobuf, in this order. */
const openMetadata = (keyId: string) => ({
  [ENCODING_FIELD]: Buffer.from(ENCODING),
  [CIPHER_FIELD]: Buffer.from(CIPHER),
  [KEY_ID_FIELD]: Buffer.from(keyId),
});

const OPEN_FIELDS = 3;

const authenticated = (keyId: string) => Message.encode({ metadata: openMetadata(keyId) }).finish();

function encrypt(payload: Payload, ring: EncryptionKeyRing): Payload {
  const key = ring.find(ring.writingId);
  if (key === undefined) throw new TypeError('the ring has no key to write with');
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(ring.writingId));
  const encrypted = [cipher.update(Message.encode(payload).finish()), cipher.final()];
  return {
    metadata: openMetadata(ring.writingId),
    data: Buffer.concat([iv, ...encrypted, cipher.getAuthTag()]),
  };
}

function decrypt(payload: Payload, ring: EncryptionKeyRing | undefined): Payload {
  const keyId = textOf(payload, KEY_ID_FIELD) ?? '';
  const data = payload.data ?? new Uint8Array(0);
  const isOurs = isKeyId(keyId) && textOf(payload, CIPHER_FIELD) === CIPHER;
  // Another field would not be authenticated.
  const fields = Object.keys(payload.metadata ?? {}).length;
  if (!isOurs || fields !== OPEN_FIELDS || data.length < IV_BYTES + TAG_BYTES)
    throw notDecrypted('malformed', keyId);
  if (ring === undefined) throw notDecrypted('no-keys', keyId);
  const key = ring.find(keyId);
  if (key === undefined) throw notDecrypted('unknown-key', keyId);
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(authenticated(keyId));
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  try {
    const encrypted = data.subarray(IV_BYTES, -TAG_BYTES);
    const { metadata, data: plain } = Message.decode(
      Buffer.concat([decipher.update(encrypted), decipher.final()]),
    );
    return { metadata, data: plain };
  } catch {
    // Without the error: OpenSSL's says nothing more.
    throw notDecrypted('wrong-key-or-changed', keyId);
  }
}

const SENTENCES: Record<NotDecryptedReason, (keyId: string) => string> = {
  'no-keys': (keyId) =>
    `A payload is encrypted with the key ${keyId}, and this process has no keys: set VIDEOGEN_ENCRYPTION_KEYS or VIDEOGEN_ENCRYPTION_KEYS_FILE.`,
  'unknown-key': (keyId) =>
    `A payload is encrypted with the key ${keyId}, which is not among the keys of this process: add that key behind the first one again.`,
  'wrong-key-or-changed': (keyId) =>
    `A payload does not open with the key ${keyId}: either this process has another key under that id, or the payload was changed after it was encrypted.`,
  malformed: () =>
    'A payload says that it is encrypted, and has no key id, cipher or data that this version can read: it was changed, or a newer version wrote it.',
};

function notDecrypted(reason: NotDecryptedReason, keyId: string): NotDecrypted {
  return new NotDecrypted(SENTENCES[reason](shown(keyId)), reason);
}

function textOf({ metadata }: Payload, field: string): string | undefined {
  const value = metadata?.[field];
  return value ? Buffer.from(value).toString('utf8') : undefined;
}
