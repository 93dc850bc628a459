import {
  DefaultFailureConverter,
  defaultPayloadConverter,
  type Payload,
  type PayloadCodec,
} from '@temporalio/common';
import { decodeFirst } from '../../src/contract/decode-first';

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
