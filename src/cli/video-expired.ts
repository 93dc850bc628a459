import type { StoredVideo } from '../contract';
import { describeExpired, hasExpired } from '../contract/expiry';
import { commandOn } from '../contract/job-commands';

/** The video was kept as long as it was to be. */
export class VideoExpired extends Error {
  override readonly name = 'VideoExpired';
}

/** Throws if the video is no longer kept. */
export function refuseExpired(workflowId: string, video: Pick<StoredVideo, 'expiresAt'>): void {
  if (!hasExpired(video)) return;
  throw new VideoExpired(
    `${describeExpired(workflowId, video)} While the service has it, a job under another name can adopt its task, which ${commandOn('status', workflowId)} shows.`,
  );
}
