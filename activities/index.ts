import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import { RateGate, type VideoService } from '../src/service';
import type { VideoStorage } from '../src/storage';
import { createBatchFiles } from './batch-files';
import { createCancelVideo } from './cancel-video';
import { createCheckVideo } from './check-video';
import { createCheckVideos } from './check-videos';
import { createDownloadVideo, type DownloadOptions } from './download-video';
import { findLostSubmit } from './find-lost-submit';
import { createLookAtTask } from './look-at-task';
import { createRecallSubmit } from './recall-submit';
import { createSubmitVideo } from './submit-video';

export type { OpenBatchInput, ReadRequestsInput, RecordResultsInput } from './batch-files';
export type { CancelVideoInput } from './cancel-video';
export type { CheckVideoInput } from './check-video';
export type { CheckVideosInput } from './check-videos';
export type { DownloadedVideo, DownloadOptions, DownloadVideoInput } from './download-video';
export type { FindLostSubmitInput } from './find-lost-submit';
export type { RecalledSubmit, RecallSubmitInput } from './recall-submit';
export type { SubmittedTask, SubmitVideoInput } from './submit-video';
export type { DownloadPace } from './watch-pace';

export interface VideoActivityDeps extends DownloadOptions {
  service: VideoService;
  storage: VideoStorage;
  /** For jobs that do not say it themselves; `hold` unless set. */
  onLostSubmit?: LostSubmitPolicy;
  /** Shared by everything in a process that calls the same service; one of its own unless set. */
  gate?: RateGate;
}

/** Everything of jobs and batches that touches the world. */
export function createVideoActivities({
  service,
  storage,
  onLostSubmit = 'hold',
  gate = new RateGate(),
  ...download
}: VideoActivityDeps) {
  const lookAtTask = createLookAtTask(service, gate);
  return {
    submitVideo: createSubmitVideo({ service, storage, gate, onLostSubmit }),
    findLostSubmit,
    recallSubmit: createRecallSubmit({ service, storage, onLostSubmit }),
    checkVideo: createCheckVideo(lookAtTask),
    checkVideos: createCheckVideos(lookAtTask),
    downloadVideo: createDownloadVideo({ ...download, service, storage, gate }),
    cancelVideo: createCancelVideo(service),
    ...createBatchFiles(storage, service.profile?.requestFields),
  };
}

export type VideoActivities = ReturnType<typeof createVideoActivities>;
