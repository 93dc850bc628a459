import { ApplicationFailure, defaultPayloadConverter, type Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { ENCODING, EncryptionCodec, isEncrypted } from '../../src/encryption/encryption-codec';
import { type EncryptionKeyRing, makeEncryptionKey, parseKeyRing } from '../../src/encryption/key-ring';
import { NotDecrypted, whyNotDecrypted } from '../../src/encryption/not-decrypted';

const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString('utf8');

function ringOf(...keys: string[]): EncryptionKeyRing {
  const parsed = parseKeyRing(keys.join(','));
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.ring;
}

const OLD = makeEncryptionKey('2026-05');
const NEW = makeEncryptionKey('2026-11');
const payload = defaultPayloadConverter.toPayload({ prompt: 'a fox under the PAPERMOON' });

async function encrypted(ring = ringOf(NEW)): Promise<Payload> {
  const [first] = await new EncryptionCodec({ ring }).encode([payload]);
  return first ?? {};
}

const decrypt = (given: Payload, ring: EncryptionKeyRing | undefined = ringOf(NEW)) =>
  new EncryptionCodec({ ring }).decode([given]);

test('a payload is read as it was written, and nothing of it is in the open', async () => {
  const given = await encrypted();
  expect(await decrypt(given)).toEqual([
    {
      metadata: { encoding: Uint8Array.from(payload.metadata?.encoding ?? []) },
      data: Uint8Array.from(payload.data ?? []),
    },
  ]);
  expect(JSON.stringify([text(given.data), given.metadata])).not.toContain('PAPERMOON');
  expect(text(given.metadata?.encoding)).toBe(ENCODING);
  expect(text(given.metadata?.['encryption-key-id'])).toBe('2026-11');
});

test('each payload has an IV of its own', async () => {
  const codec = new EncryptionCodec({ ring: ringOf(NEW) });
  const many = await codec.encode(Array.from({ length: 200 }, () => payload));
  expect(
    new Set(
      many.map(({ data }) =>
        Buffer.from(data ?? [])
          .subarray(0, 12)
          .toString('hex'),
      ),
    ).size,
  ).toBe(200);
});

test('the first key of the ring encrypts, and every key decrypts', async () => {
  const old = await encrypted(ringOf(OLD));
  expect(text((await encrypted(ringOf(NEW, OLD))).metadata?.['encryption-key-id'])).toBe('2026-11');
  await expect(decrypt(old, ringOf(NEW, OLD))).resolves.toHaveLength(1);
});

test('payloads that are not encrypted pass as they are, with keys and without', async () => {
  for (const ring of [ringOf(NEW), undefined]) expect(await decrypt(payload, ring)).toEqual([payload]);
  expect(await new EncryptionCodec({ ring: undefined }).encode([payload])).toEqual([payload]);
});

describe('a payload that does not open is refused with a sentence', () => {
  const sameId = (id: string) => ringOf(makeEncryptionKey(id));
  const changed = (given: Payload, at: number): Payload => {
    const data = Buffer.from(given.data ?? []);
    data.writeUInt8(data.readUInt8(at < 0 ? data.length + at : at) ^ 1, at < 0 ? data.length + at : at);
    return { ...given, data };
  };
  const CHANGED =
    'A payload does not open with the key 2026-11: either this process has another key under that id, or the payload was changed after it was encrypted.';
  const MALFORMED =
    'A payload says that it is encrypted, and has no key id, cipher or data that this version can read: it was changed, or a newer version wrote it.';

  test.each<[string, () => Promise<Payload[]>, string]>([
    [
      'without keys',
      async () => new EncryptionCodec({ ring: undefined }).decode([await encrypted()]),
      'A payload is encrypted with the key 2026-11, and this process has no keys: set VIDEOGEN_ENCRYPTION_KEYS or VIDEOGEN_ENCRYPTION_KEYS_FILE.',
    ],
    [
      'with a key that was removed',
      async () => decrypt(await encrypted(), ringOf(OLD)),
      'A payload is encrypted with the key 2026-11, which is not among the keys of this process: add that key behind the first one again.',
    ],
    [
      'with another key under the same id',
      async () => decrypt(await encrypted(), sameId('2026-11')),
      CHANGED,
    ],
    ['with a changed IV', async () => decrypt(changed(await encrypted(), 0)), CHANGED],
    ['with changed data', async () => decrypt(changed(await encrypted(), 20)), CHANGED],
    ['with a changed tag', async () => decrypt(changed(await encrypted(), -1)), CHANGED],
    [
      'with another key id',
      async () => {
        const given = await encrypted();
        const id = Buffer.from('2026-05');
        // The same key under both ids: only the authenticated metadata tell them apart.
        const ring = ringOf(NEW, `2026-05:${NEW.split(':')[1]}`);
        return decrypt({ ...given, metadata: { ...given.metadata, 'encryption-key-id': id } }, ring);
      },
      CHANGED.replace('2026-11', '2026-05'),
    ],
    [
      'with metadata that were added',
      async () => {
        const given = await encrypted();
        return decrypt({ ...given, metadata: { ...given.metadata, more: Buffer.from('x') } });
      },
      MALFORMED,
    ],
    ['without data', async () => decrypt({ ...(await encrypted()), data: null }), MALFORMED],
    [
      'with a hostile key id',
      async () => {
        const given = await encrypted();
        return decrypt({
          ...given,
          metadata: { ...given.metadata, 'encryption-key-id': Buffer.from('\u001b[2J') },
        });
      },
      MALFORMED,
    ],
  ])('%s', async (_, decode, sentence) => {
    const error: unknown = await decode().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotDecrypted);
    expect(error).toMatchObject({ message: sentence, nonRetryable: false });
    expect(whyNotDecrypted(error)).toBeDefined();
  });
});

test('the failure of an activity says which attempt may have run last', async () => {
  const asked: unknown[] = [];
  const codec = new EncryptionCodec({
    ring: ringOf(OLD),
    lastAttempt: async (activity) => {
      asked.push(activity);
      return 3;
    },
  });
  const context = {
    type: 'activity',
    namespace: 'n',
    workflowId: 'fox',
    activityId: '1',
    isLocal: false,
  } as const;
  const given = await encrypted();
  await expect(codec.decode([given], context)).rejects.toMatchObject({
    type: 'videogen.NotDecrypted.after-attempt-3',
  });
  expect(asked).toEqual([{ namespace: 'n', workflowId: 'fox', activityId: '1' }]);
  await expect(
    codec.decode([given], { type: 'workflow', namespace: 'n', workflowId: 'fox' }),
  ).rejects.toMatchObject({ type: 'videogen.NotDecrypted' });
});

test('other failures are not taken for one of decryption', () => {
  expect(whyNotDecrypted(ApplicationFailure.create({ type: 'videogen.NotDecryptedAtAll' }))).toBeUndefined();
  expect(whyNotDecrypted(new Error('x', { cause: new NotDecrypted('y', 'no-keys') }))).toBe('y');
  expect(isEncrypted({})).toBe(false);
});

test('a payload grows by less than 200 bytes, so that the limits on requests hold', async () => {
  for (const bytes of [0, 1_000, 1_500_000]) {
    const given = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.alloc(bytes, 'a') };
    const [after = {}] = await new EncryptionCodec({
      ring: ringOf(makeEncryptionKey('i'.repeat(63))),
    }).encode([given]);
    const bytesOf = (some: Payload) => temporal.api.common.v1.Payload.encode(some).finish().length;
    expect(bytesOf(after) - bytesOf(given)).toBeLessThan(200);
  }
});
