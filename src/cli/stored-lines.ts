import { shown } from '../contract/clean-text';
import type { JobResult } from '../contract/job';
import { describeCost } from '../contract/job-cost';
import { describeVideo } from '../contract/summaries';

/** The lines about a stored video. Results of older versions have no warnings. */
export function storedLines(
  { video, taskId, polls, warnings = [], cost }: JobResult,
  copiedTo?: string,
): string[] {
  const times = polls === 1 ? 'one poll' : `${polls} polls`;
  return [
    `Stored ${describeVideo(video)}, of task ${shown(taskId)} after ${times}.`,
    `It is at ${video.uri}${copiedTo === undefined ? '' : `, copied to ${copiedTo}`}.`,
    ...(cost ? [`Cost: ${describeCost(cost)}.`] : []),
    ...warnings.map((warning) => `Note: ${warning}.`),
  ];
}
