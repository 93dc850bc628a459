import type { LoadedDataConverter, Payload } from '@temporalio/common';

/** Decodes the first of the payloads that Temporal stores. The codec that encoded last decodes first. */
export async function decodeFirst(
  { payloadConverter, payloadCodecs }: LoadedDataConverter,
  stored: { payloads?: Payload[] | null } | null | undefined,
): Promise<unknown> {
  let payloads = stored?.payloads?.slice(0, 1) ?? [];
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0] && payloadConverter.fromPayload(payloads[0]);
}
