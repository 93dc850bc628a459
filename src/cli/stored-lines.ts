import { describeVideo, type JobResult, shown } from '../contract';

/** What a person is told of a video that is in its place. A job that ended before there were warnings has none. */
export function storedLines({ video, taskId, polls, warnings = [] }: JobResult): string[] {
  const looks = polls === 1 ? 'one look' : `${polls} looks`;
  return [
    `Stored ${describeVideo(video)}, of task ${shown(taskId)} after ${looks}.`,
    ...warnings.map((warning) => `Note: ${warning}.`),
  ];
}
