import type { LoadedDataConverter, Payload } from '@temporalio/common';

/** The first of the values that Temporal keeps. The codec that encoded last decodes first. */
export async function decodeFirst(
  { payloadConverter, payloadCodecs }: LoadedDataConverter,
  kept: { payloads?: Payload[] | null } | null | undefined,
): Promise<unknown> {
  let payloads = kept?.payloads?.slice(0, 1) ?? [];
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0] && payloadConverter.fromPayload(payloads[0]);
}
