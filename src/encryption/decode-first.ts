import type { WorkflowClient } from '@temporalio/client';
import type { LoadedDataConverter, Payload } from '@temporalio/common';

/** The input of a run, which any program may have written. Undefined if a codec that is not set here has encoded it. */
export async function readFirstInput(
  client: WorkflowClient,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<unknown> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const { input } = history?.events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  return decodeFirst(client.options.loadedDataConverter, input).catch(() => undefined);
}

/** Decodes the first of the payloads that Temporal stores. The codec that encoded last decodes first. */
export async function decodeFirst(
  { payloadConverter, payloadCodecs, externalStorage }: LoadedDataConverter,
  stored: { payloads?: Payload[] | null } | null | undefined,
): Promise<unknown> {
  let payloads = stored?.payloads?.slice(0, 1) ?? [];
  if (externalStorage) payloads = await retrieve(externalStorage, payloads);
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0] && payloadConverter.fromPayload(payloads[0]);
}

const REFERENCE = 'temporal.api.sdk.v1.ExternalStorageReference';

/** Fetches what Temporal's external storage has taken out. The SDK does so for its own calls, not for those that we make. */
async function retrieve(
  storage: NonNullable<LoadedDataConverter['externalStorage']>,
  payloads: Payload[],
): Promise<Payload[]> {
  const text = (bytes: Uint8Array | null | undefined) => new TextDecoder().decode(bytes ?? new Uint8Array());
  const fetched = payloads.map(async (payload) => {
    if (text(payload.metadata?.messageType) !== REFERENCE) return [payload];
    const { driverName, claimData }: { driverName?: unknown; claimData?: unknown } = Object(
      JSON.parse(text(payload.data)),
    );
    const driver = storage.getDriver(String(driverName));
    if (!driver) throw new TypeError(`there is no external storage ${String(driverName)}`);
    return driver.retrieve({}, [{ claimData: Object(claimData) }]);
  });
  return (await Promise.all(fetched)).flat();
}
