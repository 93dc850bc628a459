import { cancellationSignal } from '@temporalio/activity';
import type { Look } from '../src/contract/job';
import type { TaskReading, VideoService } from '../src/service';
import { toFailure } from './to-failure';

export interface CheckVideoInput {
  taskId: string;
}

/** One look at a task. It tells that there is a video, never where: links are secrets, and expire. */
export function createCheckVideo(service: VideoService) {
  return async function checkVideo({ taskId }: CheckVideoInput): Promise<Look> {
    try {
      return toLook(await service.check(taskId, { signal: cancellationSignal() }));
    } catch (error) {
      throw toFailure(error, 'check', { taskId });
    }
  };
}

function toLook({ task, said, retryAfterMs }: TaskReading): Look {
  const { word } = task;
  switch (task.state) {
    case 'queued':
    case 'running':
      return { state: task.state, word, percent: task.percent, retryAfterMs };
    case 'unknown':
      return { state: task.state, word, retryAfterMs };
    case 'succeeded':
      return { state: task.state, word, hasVideo: task.videoUrl !== undefined };
    case 'failed':
    case 'cancelled':
      return { state: task.state, word, ...said };
  }
}
