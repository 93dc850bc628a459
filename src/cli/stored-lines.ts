import { describeVideo, type JobResult, shown } from '../contract';
import { describeExtra, EXTRA_NAMES, type StoredExtras } from '../contract/extras';
import { describeCost } from '../contract/job-cost';

/** One line for each picture beside a video. */
export function extraLines(extras: StoredExtras = {}): string[] {
  return EXTRA_NAMES.flatMap((name) => {
    const extra = extras[name];
    return extra ? [describeExtra(name, extra)] : [];
  });
}

/** The lines about a stored video. Results of older versions have no warnings. */
export function storedLines(
  { video, taskId, polls, warnings = [], cost, extras }: JobResult,
  copiedTo?: string,
): string[] {
  const times = polls === 1 ? 'one poll' : `${polls} polls`;
  return [
    `Stored ${describeVideo(video)}, of task ${shown(taskId)} after ${times}.`,
    `It is at ${video.uri}${copiedTo === undefined ? '' : `, copied to ${copiedTo}`}.`,
    ...extraLines(extras).map((line) => `Beside it: ${line}.`),
    ...(cost ? [`Cost: ${describeCost(cost)}.`] : []),
    ...warnings.map((warning) => `Note: ${warning}.`),
  ];
}
