import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { decodeFirst } from '../../src/encryption/decode-first';

/**
 * A history as the SDK's own data converter would have written it, for tests that read payloads and messages in it. Under the
 * variants (test/variants) they are encoded otherwise; elsewhere nothing changes.
 */
export async function plainHistory<Part>(client: Client, part: Part): Promise<Part> {
  if (!process.env.VIDEOGEN_TEST_VARIANT) return part;
  await makePlain(client, part);
  return part;
}

/** Decodes the payloads in a part of a history, as the client's data converter reads them. */
export async function makePlain(client: Client, part: unknown): Promise<void> {
  if (typeof part !== 'object' || part === null || part instanceof Uint8Array) return;
  for (const [name, value] of Object.entries(part)) {
    if (isPayload(value)) Reflect.set(part, name, await plainPayload(client, value));
    else await makePlain(client, value);
  }
  const { encodedAttributes }: { encodedAttributes?: Payload } = part;
  if (!encodedAttributes) return;
  const { message } = Object(defaultPayloadConverter.fromPayload(encodedAttributes));
  Reflect.set(part, 'message', message);
}

function isPayload(value: unknown): value is Payload {
  return Object(value).metadata?.encoding instanceof Uint8Array;
}

/** What another converter has written, such as search attributes, stays. */
async function plainPayload({ options }: Client, payload: Payload): Promise<Payload> {
  try {
    const value = await decodeFirst(options.loadedDataConverter, { payloads: [payload] });
    return defaultPayloadConverter.toPayload(value);
  } catch {
    return payload;
  }
}
