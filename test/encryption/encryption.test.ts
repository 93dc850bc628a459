import { inspect } from 'node:util';
import {
  ActivityFailure,
  ApplicationFailure,
  DefaultFailureConverter,
  defaultPayloadConverter,
  ExternalStorage,
  type Payload,
  type PayloadCodec,
  RetryState,
  type StorageDriverClaim,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { readEncryptionKeys } from '../../src/config/operation-config';
import { lastAttemptThatRan } from '../../src/contract/video-failure';
import { decodeFirst } from '../../src/encryption/decode-first';
import { ENCODING, EncryptionCodec, isEncrypted } from '../../src/encryption/encryption-codec';
import { type EncryptionKeyRing, makeEncryptionKey, parseKeyRing } from '../../src/encryption/key-ring';
import { isNotDecryptedType, NotDecrypted, whyNotDecrypted } from '../../src/encryption/not-decrypted';

const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

const notKey = (number: number) =>
  `has a key ${number} that is not ID:BASE64 with 32 bytes: the id must be 1 to 63 letters, digits, dots, dashes or underscores, such as 2026-11`;

test('a ring is written with commas or in lines, with comments', () => {
  for (const text of [`# keys\na:${KEY}\r\n\n  b:${KEY}  \n`, ` a:${KEY.replace('=', '')} ,b:${KEY},`]) {
    const parsed = parseKeyRing(text);
    expect(parsed).toMatchObject({ ring: { writingId: 'a' } });
    expect('ring' in parsed && parsed.ring.find('b')?.export().toString('base64')).toBe(KEY);
    expect('ring' in parsed && parsed.ring.find('c')).toBeUndefined();
  }
});

test('a ring with a mistake is refused without its value', () => {
  for (const [text, problem] of [
    ['', 'has no key'],
    [KEY, notKey(1)],
    [`a:${KEY},b c:${KEY}`, notKey(2)],
    [`a:${KEY}AAAA`, notKey(1)],
    [`a:${KEY},a:${KEY}`, 'has the id a twice'],
  ] as const)
    expect(parseKeyRing(text)).toEqual({ problem });
});

test('a key shows nothing of itself when a ring is printed', () => {
  const parsed = parseKeyRing(`a:${KEY}`);
  expect(inspect(parsed, { depth: 9 })).not.toContain(KEY);
  expect(JSON.stringify(parsed)).not.toContain(KEY);
});

test('a setting with a mistake names the variable, the problem and the fix', () => {
  expect(() => readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS: KEY })).toThrow(
    `VIDEOGEN_ENCRYPTION_KEYS ${notKey(1)}: make a key with: videogen encryption-key NAME, and put it first.`,
  );
  expect(() => readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS_FILE: '/does/not/exist' })).toThrow(
    /^VIDEOGEN_ENCRYPTION_KEYS_FILE names a file that cannot be read \(ENOENT\): make a key with: /,
  );
  expect(readEncryptionKeys({ VIDEOGEN_ENCRYPTION_KEYS: ' ' })).toBeUndefined();
});

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

test('each payload has an IV of its own, and each key that is made is another', async () => {
  const codec = new EncryptionCodec({ ring: ringOf(NEW) });
  const many = await codec.encode(Array.from({ length: 200 }, () => payload));
  const ivs = many.map(({ data }) => Buffer.from(data ?? []).toString('hex', 0, 12));
  expect(new Set(ivs).size).toBe(200);
  expect(makeEncryptionKey('2026-11')).not.toBe(NEW);
});

test('the first key of the ring encrypts, and every key decrypts', async () => {
  const old = await encrypted(ringOf(OLD));
  expect(text((await encrypted(ringOf(NEW, OLD))).metadata?.['encryption-key-id'])).toBe('2026-11');
  await expect(decrypt(old, ringOf(NEW, OLD))).resolves.toHaveLength(1);
});

test('payloads that are not encrypted pass as they are, with keys and without', async () => {
  expect(isEncrypted({})).toBe(false);
  for (const ring of [ringOf(NEW), undefined]) expect(await decrypt(payload, ring)).toEqual([payload]);
  expect(await new EncryptionCodec({ ring: undefined }).encode([payload])).toEqual([payload]);
});

describe('a payload that does not open is refused with a sentence', () => {
  const RING = ringOf(NEW);
  const CHANGED =
    'A payload does not open with the key 2026-11: either this process has another key under that id, or the payload was changed after it was encrypted.';
  const MALFORMED =
    'A payload says that it is encrypted, and has no key id, cipher or data that this version can read: it was changed, or a newer version wrote it.';

  const flipped = (at: number) => (given: Payload) => {
    const data = Buffer.from(given.data ?? []);
    data.writeUInt8(data.readUInt8(at) ^ 1, at);
    return { ...given, data };
  };
  const withMetadata = (more: Record<string, Uint8Array>) => (given: Payload) => ({
    ...given,
    metadata: { ...given.metadata, ...more },
  });
  const keyId = (id: string) => withMetadata({ 'encryption-key-id': Buffer.from(id) });

  test.each<
    [
      what: string,
      sentence: string,
      ring: EncryptionKeyRing | undefined,
      change?: (given: Payload) => Payload,
    ]
  >([
    [
      'without keys',
      'A payload is encrypted with the key 2026-11, and this process has no keys: set VIDEOGEN_ENCRYPTION_KEYS or VIDEOGEN_ENCRYPTION_KEYS_FILE.',
      undefined,
    ],
    [
      'with a key that was removed',
      'A payload is encrypted with the key 2026-11, which is not among the keys of this process: add that key behind the first one again.',
      ringOf(OLD),
    ],
    ['with another key under the same id', CHANGED, ringOf(makeEncryptionKey('2026-11'))],
    ['with changed data', CHANGED, RING, flipped(20)],
    [
      'with another key id',
      CHANGED.replace('2026-11', '2026-05'),
      // The same key under both ids: only the authenticated metadata tell them apart.
      ringOf(NEW, `2026-05:${NEW.split(':')[1]}`),
      keyId('2026-05'),
    ],
    ['with metadata that were added', MALFORMED, RING, withMetadata({ more: Buffer.from('x') })],
    ['without data', MALFORMED, RING, (given) => ({ ...given, data: null })],
    ['with a hostile key id', MALFORMED, RING, keyId('\u001b[2J')],
  ])('%s', async (_what, sentence, ring, change = (given) => given) => {
    const decoding = new EncryptionCodec({ ring }).decode([change(await encrypted())]);
    const error: unknown = await decoding.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotDecrypted);
    expect(error).toMatchObject({ message: sentence, nonRetryable: false });
    expect(whyNotDecrypted(error)).toBe(sentence);
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

describe('a failure to decrypt', () => {
  const TYPE = 'videogen.NotDecrypted';
  const MESSAGE = 'The key fox is not known here.';
  const inActivity = (cause: Error) =>
    new ActivityFailure('failed', 'pollVideo', '1', RetryState.IN_PROGRESS, undefined, cause);

  it('has a type that tells which attempt was the last that may have run', () => {
    for (const last of [0, 12]) {
      const { type } = new NotDecrypted(MESSAGE, 'no-keys', last);
      expect([lastAttemptThatRan(type), isNotDecryptedType(type)]).toEqual([last, true]);
    }
    for (const type of [undefined, TYPE, ...['x', '3.more'].map((last) => `${TYPE}.after-attempt-${last}`)])
      expect([type, lastAttemptThatRan(type)]).toEqual([type, undefined]);
    for (const type of [undefined, `${TYPE}Yet`, `acme.${TYPE}.`])
      expect([type, isNotDecryptedType(type)]).toEqual([type, false]);
  });

  it('is found with its reason in an error of another library around an activity, and in nothing else', () => {
    const failure = new NotDecrypted(MESSAGE, 'no-keys', 3);
    expect(whyNotDecrypted(new Error('wrapped', { cause: inActivity(failure) }))).toBe(MESSAGE);
    const other = inActivity(ApplicationFailure.create({ message: MESSAGE, type: 'OutOfCheese' }));
    for (const error of [undefined, other, Object.assign(new Error(MESSAGE), { type: TYPE })])
      expect(whyNotDecrypted(error)).toBeUndefined();
  });
});

/** Marks what it encodes, and refuses to decode anything without its mark. */
const markingCodec = (mark: number): PayloadCodec => ({
  encode: async (payloads) =>
    payloads.map(({ metadata, data }) => ({ metadata, data: Uint8Array.of(mark, ...(data ?? [])) })),
  decode: async (payloads) =>
    payloads.map(({ metadata, data }) => {
      if (data?.[0] !== mark) throw new Error(`not encoded by ${mark}`);
      return { metadata, data: data.subarray(1) };
    }),
});

const converterOf = (payloadCodecs: PayloadCodec[]) => ({
  payloadConverter: defaultPayloadConverter,
  failureConverter: new DefaultFailureConverter(),
  payloadCodecs,
});

test('the first of several payloads is decoded through all codecs, in the reverse order of encoding', async () => {
  const codecs = [markingCodec(1), markingCodec(2)];
  let payloads: Payload[] = [defaultPayloadConverter.toPayload({ taskId: 'task_1' })];
  for (const each of codecs) payloads = await each.encode(payloads);
  payloads.push(defaultPayloadConverter.toPayload('not encoded'));
  expect(await decodeFirst(converterOf(codecs), { payloads })).toEqual({ taskId: 'task_1' });
});

test('the first payload is fetched from the external storage that has it, and only if it is there', async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const referenceTo = (driverName: string): Payload => ({
    metadata: {
      encoding: bytes('json/plain'),
      messageType: bytes('temporal.api.sdk.v1.ExternalStorageReference'),
    },
    data: bytes(JSON.stringify({ driverName, claimData: { key: 'fox' } })),
  });
  const stored = new Map([['fox', defaultPayloadConverter.toPayload({ taskId: 'task_1' })]]);
  const driver = {
    name: 'shelf',
    type: 'shelf',
    store: () => Promise.reject(new Error('nothing is stored here')),
    retrieve: async (_: object, claims: StorageDriverClaim[]) =>
      claims.map(({ claimData }) => stored.get(claimData.key ?? '') ?? {}),
  };
  const converter = { ...converterOf([]), externalStorage: new ExternalStorage({ drivers: [driver] }) };
  const decoded = (payload: Payload) => decodeFirst(converter, { payloads: [payload] });
  expect(await decoded(referenceTo('shelf'))).toEqual({ taskId: 'task_1' });
  expect(await decoded(defaultPayloadConverter.toPayload('here'))).toBe('here');
  await expect(decoded(referenceTo('attic'))).rejects.toThrow('there is no external storage attic');
});
