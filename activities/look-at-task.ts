import { cancellationSignal, log } from '@temporalio/activity';
import type { Look } from '../src/contract/job';
import type { RateGate, TaskReading, VideoService } from '../src/service';
import { pollBounds } from './poll-bounds';
import { throughGate } from './through-gate';
import { toFailure } from './to-failure';

const MOST_DOUBTS = 1_000;

/** One look at a task. It tells that there is a video, never where: links are secrets, and expire. */
export function createLookAtTask(service: VideoService, gate: RateGate) {
  const warnOnce = warnerOfDoubts();
  return async function lookAtTask(taskId: string): Promise<Look> {
    try {
      const reading = await throughGate(gate, 'check', () =>
        service.check(taskId, { signal: cancellationSignal() }),
      );
      const look = toLook(reading);
      for (const doubt of reading.doubts) warnOnce(taskId, doubt);
      if (isOver(look)) gate.taskEnded();
      return { ...look, ...pollBounds(service.profile) };
    } catch (error) {
      throw toFailure(error, 'check', { taskId });
    }
  };
}

export type LookAtTask = ReturnType<typeof createLookAtTask>;

/** A doubt is worth one warning a task, not one a look; of how many it is known is bounded. */
function warnerOfDoubts() {
  const told = new Set<string>();
  return (taskId: string, doubt: string) => {
    const both = `${taskId} ${doubt}`;
    if (told.has(both)) return;
    if (told.size >= MOST_DOUBTS) told.clear();
    told.add(both);
    log.warn('the answer can be read in two ways', { taskId, doubt });
  };
}

/** Over at the service: one that succeeded may still be without its link. */
function isOver({ state }: Look): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled';
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
