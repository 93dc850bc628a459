import { NexusOperationFailure } from '@temporalio/common';
import { CancellationScope, createNexusServiceClient, isCancellation, sleep } from '@temporalio/workflow';
import type { JobProgress, JobResult } from '../../src';
import { readFailure } from '../../src/failures';
import { type NexusDecision, type NexusJobInput, videoGeneration } from '../../src/nexus';

/** Workflows of another namespace. They import only what callers may import. */
const videosOf = (endpoint: string) => createNexusServiceClient({ endpoint, service: videoGeneration });

export interface Outcome {
  result?: JobResult;
  type?: string;
  taskId?: string;
  message?: string;
  throughNexus?: boolean;
}

export async function orderVideo(endpoint: string, input: NexusJobInput): Promise<Outcome> {
  try {
    const options = { scheduleToCloseTimeout: '1m' } as const;
    return { result: await videosOf(endpoint).executeOperation('generateVideo', input, options) };
  } catch (error) {
    return describeError(error);
  }
}

export async function orderAndCancel(endpoint: string, input: NexusJobInput): Promise<Outcome> {
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
    return { ...describeError(error), throughNexus: isCancellation(error) };
  }
}

export async function askProgress(endpoint: string, workflowId: string): Promise<JobProgress | Outcome> {
  try {
    return await videosOf(endpoint).executeOperation('progress', { workflowId });
  } catch (error) {
    return describeError(error);
  }
}

export async function decide(endpoint: string, decision: NexusDecision): Promise<Outcome> {
  try {
    await videosOf(endpoint).executeOperation('decideSubmit', decision);
    return {};
  } catch (error) {
    return describeError(error);
  }
}

function describeError(error: unknown): Outcome {
  const failure = readFailure(error);
  return {
    type: failure?.type,
    taskId: failure?.taskId,
    message: failure?.message ?? String(error),
    throughNexus: error instanceof NexusOperationFailure,
  };
}
