import { NexusOperationFailure } from '@temporalio/common';
import { CancellationScope, createNexusServiceClient, isCancellation, sleep } from '@temporalio/workflow';
import { readFailure } from '../../src/failures';
import {
  type JobProgress,
  type JobResult,
  type NexusJobInput,
  videoGeneration,
} from '../../src/nexus/service';

/** Workflows of another namespace, which know nothing of this package but what a caller may import. */
const videosOf = (endpoint: string) => createNexusServiceClient({ endpoint, service: videoGeneration });

export interface Told {
  result?: JobResult;
  type?: string;
  taskId?: string;
  message?: string;
  throughNexus?: boolean;
}

export async function orderVideo(endpoint: string, input: NexusJobInput): Promise<Told> {
  try {
    const options = { scheduleToCloseTimeout: '1m' } as const;
    return { result: await videosOf(endpoint).executeOperation('generateVideo', input, options) };
  } catch (error) {
    return tell(error);
  }
}

export async function orderAndCancel(endpoint: string, input: NexusJobInput): Promise<Told> {
  const scope = new CancellationScope();
  try {
    await scope.run(async () => {
      const order = await videosOf(endpoint).startOperation('generateVideo', input);
      await CancellationScope.nonCancellable(() => sleep('1s'));
      scope.cancel();
      await order.result();
    });
    return {};
  } catch (error) {
    return { ...tell(error), throughNexus: isCancellation(error) };
  }
}

export async function askProgress(endpoint: string, workflowId: string): Promise<JobProgress | Told> {
  try {
    return await videosOf(endpoint).executeOperation('progress', { workflowId });
  } catch (error) {
    return tell(error);
  }
}

function tell(error: unknown): Told {
  const failure = readFailure(error);
  return {
    type: failure?.type,
    taskId: failure?.taskId,
    message: failure?.message ?? String(error),
    throughNexus: error instanceof NexusOperationFailure,
  };
}
