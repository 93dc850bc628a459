import type { DataConverter } from '@temporalio/common';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { lastAttemptThatRan } from '../contract/video-failure';
import { FAILURE_CONVERTER_PATH, withEncryption } from '../encryption/data-converter';
import type { PendingActivity } from '../encryption/encryption-codec';
import { CONVERTER_NAME } from '../encryption/failure-converter';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import { requireInBundle } from './own-workflows';

/** The activity fails in the end, whether Temporal answers or not. */
const DESCRIBED_WITHIN_MS = 5_000;

type Options = Partial<Pick<WorkerOptions, 'dataConverter' | 'workflowBundle'>>;

/** Adds encryption to a worker. Without keys it decrypts nothing, and says which key is missing. */
export function encryptedWorker<Given extends Options>(
  options: Given,
  { ring, connection }: { ring: EncryptionKeyRing | undefined; connection?: NativeConnection | undefined },
): Given & { dataConverter: DataConverter } {
  const dataConverter = withEncryption(options.dataConverter, {
    ring,
    lastAttempt: connection && ((activity) => readLastAttempt(connection, activity)),
  });
  // The SDK takes the failure converter from the bundle alone, and silently writes messages in the open without it.
  if (dataConverter.failureConverterPath === FAILURE_CONVERTER_PATH)
    requireInBundle(
      options.workflowBundle,
      CONVERTER_NAME,
      'The workflowBundle would write the messages of failures in the open: build it with bundleWorkflowCode({ …, plugins: [videoPlugin] }) and encryption: true, or with failureConverterPath: encryptedDataConverter().failureConverterPath.',
    );
  return { ...options, dataConverter };
}

/**
 * The last attempt before this one that may have run: none before the first, and what the one before said if it could not
 * decrypt its input either.
 */
async function readLastAttempt(
  connection: NativeConnection,
  { namespace, workflowId, activityId }: PendingActivity,
): Promise<number | undefined> {
  const { pendingActivities } = await connection.withDeadline(Date.now() + DESCRIBED_WITHIN_MS, () =>
    connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } }),
  );
  const pending = pendingActivities?.find((one) => one.activityId === activityId);
  if (!pending?.attempt) return undefined;
  const { attempt, lastFailure, lastAttemptCompleteTime, heartbeatDetails } = pending;
  // An operator who resets an activity makes its next attempt the first again.
  const wasReset = attempt === 1 && Boolean(lastFailure || lastAttemptCompleteTime || heartbeatDetails);
  if (wasReset) return undefined;
  return lastAttemptThatRan(lastFailure?.applicationFailureInfo?.type) ?? attempt - 1;
}
