import { redact } from '../contract/redact';
import type { TaskReading } from '../service/http-video-service';
import { refusedContentOf } from '../service/service-connection';
import { ServiceFault } from '../service/service-fault';
import { bodyReading, type CallFacts, failedTask, pendingReading } from './read-call';
import { type ReadStatus, readWarnings } from './read-result';

/** What a poll says of the task when its model has come to a result. */
export function readingOf(status: ReadStatus, result: unknown, facts: CallFacts): TaskReading {
  const { secrets } = facts;
  switch (status.status) {
    case 'pending':
      return pendingReading(facts, status.headers);
    case 'error':
      return failedTask(status.error, facts);
    case 'completed':
      return finishedTask(status, facts, readWarnings(result, secrets));
    case 'unreadable': {
      const message = `the model answers with the status ${redact(status.word, secrets)}`;
      throw new ServiceFault('unreadable', { message });
    }
  }
}

/** A model that polls again has not understood its answer as an end. Some know only two words for one: ours are more. */
export function stillGenerating(facts: CallFacts): TaskReading {
  const state = bodyReading(facts)?.task.state;
  return state === 'failed' || state === 'cancelled'
    ? failedTask('the task has ended', facts)
    : pendingReading(facts);
}

function finishedTask(
  { video, count }: Extract<ReadStatus, { status: 'completed' }>,
  facts: CallFacts,
  warnings: string[],
): TaskReading {
  const seen = bodyReading(facts);
  const refused = seen && refusedContentOf(seen);
  const word = seen?.task.word || 'completed';
  const several = count > 1 ? [`the model made ${count} videos, of which the first is kept`] : [];
  const read = {
    json: true,
    serviceMessage: {},
    doubts: refused ? ['the video is marked as refused, and there is a link to it'] : [],
    warnings: [...warnings, ...several],
    ...(seen?.charged && { charged: seen.charged }),
  };
  switch (video.kind) {
    case 'link':
      return { ...read, task: { state: 'succeeded', word, videoUrl: video.url } };
    case 'bytes':
      return { ...read, task: { state: 'succeeded', word, videoBytes: video.bytes } };
    case 'none':
      return { ...read, task: { state: 'succeeded', word } };
    case 'elsewhere':
      return { ...read, task: { state: 'failed', word }, serviceMessage: { message: video.why } };
  }
}
