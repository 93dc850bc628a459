import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import { RateLimiter, type VideoService } from '../src/service';
import type { VideoStorage } from '../src/storage';
import { createBatchFiles } from './batch/batch-files';
import { createCancelVideo } from './cancel-video';
import { createDownloadVideo, type DownloadOptions } from './download/download-video';
import { createPollTask, createPollVideo, createPollVideos } from './poll-video';
import { createRecallSubmit } from './submit/recall-submit';
import { findLostSubmit } from './submit/submit-note';
import { createSubmitVideo } from './submit/submit-video';

export type { OpenBatchInput, ReadRequestsInput, RecordResultsInput } from './batch/batch-files';
export type { CancelVideoInput } from './cancel-video';
export type { DownloadedVideo, DownloadOptions, DownloadVideoInput } from './download/download-video';
export type { DownloadPace } from './download/watch-pace';
export type { PollVideoInput, PollVideosInput } from './poll-video';
export type { RecalledSubmit, RecallSubmitInput } from './submit/recall-submit';
export type { FindLostSubmitInput } from './submit/submit-note';
export type { SubmittedTask, SubmitVideoInput } from './submit/submit-video';

export interface VideoActivityDeps extends DownloadOptions {
  service: VideoService;
  storage: VideoStorage;
  /** For jobs that do not say it themselves; `hold` unless set. */
  onLostSubmit?: LostSubmitPolicy;
  /** Shared by everything in a process that calls the same service; one of its own unless set. */
  rateLimiter?: RateLimiter;
}

/** Everything of jobs and batches that touches the world. */
export function createVideoActivities({
  service,
  storage,
  onLostSubmit = 'hold',
  rateLimiter = new RateLimiter(),
  ...download
}: VideoActivityDeps) {
  const pollTask = createPollTask(service, rateLimiter);
  return {
    submitVideo: createSubmitVideo({ service, storage, rateLimiter, onLostSubmit }),
    findLostSubmit,
    recallSubmit: createRecallSubmit({ service, storage, onLostSubmit }),
    pollVideo: createPollVideo(pollTask),
    pollVideos: createPollVideos(pollTask),
    downloadVideo: createDownloadVideo({ ...download, service, storage, rateLimiter }),
    cancelVideo: createCancelVideo(service),
    ...createBatchFiles(storage, service.profile?.requestFields),
  };
}

export type VideoActivities = ReturnType<typeof createVideoActivities>;
