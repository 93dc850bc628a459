import {
  DefaultFailureConverter,
  defaultPayloadConverter,
  ExternalStorage,
  type Payload,
  type PayloadCodec,
  type StorageDriverClaim,
} from '@temporalio/common';
import { decodeFirst } from '../../src/encryption/decode-first';

/** Marks what it encodes, and refuses to decode anything without its mark. */
const codec = (mark: number): PayloadCodec => ({
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

it('decodes the first payload through all codecs, in the reverse order of encoding', async () => {
  const codecs = [codec(1), codec(2)];
  let payloads: Payload[] = [{ taskId: 'task_1' }, 'second'].map((value) =>
    defaultPayloadConverter.toPayload(value),
  );
  for (const each of codecs) payloads = await each.encode(payloads);
  expect(await decodeFirst(converterOf(codecs), { payloads })).toEqual({ taskId: 'task_1' });
});

it('does not need to decode the others', async () => {
  const [first] = await codec(1).encode([defaultPayloadConverter.toPayload('first')]);
  const payloads = [first ?? {}, defaultPayloadConverter.toPayload('not encoded')];
  expect(await decodeFirst(converterOf([codec(1)]), { payloads })).toBe('first');
});

it.each([undefined, null, {}, { payloads: null }, { payloads: [] }])(
  'finds nothing in %j',
  async (stored) => {
    expect(await decodeFirst(converterOf([codec(1)]), stored)).toBeUndefined();
  },
);

describe('a payload in an external storage', () => {
  const REFERENCE = 'temporal.api.sdk.v1.ExternalStorageReference';
  const bytes = (text: string) => new TextEncoder().encode(text);
  const referenceTo = (driverName: string): Payload => ({
    metadata: { encoding: bytes('json/plain'), messageType: bytes(REFERENCE) },
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
  const converter = {
    ...converterOf([]),
    externalStorage: new ExternalStorage({ drivers: [driver] }),
  };
  const decoded = (payload: Payload) => decodeFirst(converter, { payloads: [payload] });

  it('is fetched', async () => {
    expect(await decoded(referenceTo('shelf'))).toEqual({ taskId: 'task_1' });
  });

  it('is not looked for when the payload itself is there', async () => {
    expect(await decoded(defaultPayloadConverter.toPayload('here'))).toBe('here');
    const { metadata: _, ...plain } = referenceTo('shelf');
    await expect(decoded(plain)).rejects.toThrow(/encoding|metadata/i);
  });

  it('cannot be read without the storage that has it', async () => {
    await expect(decoded(referenceTo('attic'))).rejects.toThrow('there is no external storage attic');
  });
});
