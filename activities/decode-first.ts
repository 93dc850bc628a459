import { Context } from '@temporalio/activity';

type Converter = typeof Context.prototype.client.options.loadedDataConverter;
type Payload = Parameters<Converter['payloadConverter']['fromPayload']>[0];

/** The first of the values that Temporal keeps, through the codecs of whoever wrote them. */
export async function decodeFirst(
  kept: { payloads?: Payload[] | null } | null | undefined,
): Promise<unknown> {
  const { payloadConverter, payloadCodecs } = Context.current().client.options.loadedDataConverter;
  let payloads = kept?.payloads ?? [];
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  return payloads[0] && payloadConverter.fromPayload(payloads[0]);
}
