import type { LostSubmitPolicy } from '../src/contract/job';
import { RateGate, type VideoService } from '../src/service';
import type { VideoStorage } from '../src/storage';
import { createCancelVideo } from './cancel-video';
import { createCheckVideo } from './check-video';
import { createDownloadVideo, type DownloadOptions } from './download-video';
import { createSubmitVideo } from './submit-video';

export type { DownloadedVideo, DownloadOptions } from './download-video';
export type { SubmittedTask } from './submit-video';

export interface VideoActivityDeps extends DownloadOptions {
  service: VideoService;
  storage: VideoStorage;
  /** For jobs that do not say it themselves; `hold` unless set. */
  onLostSubmit?: LostSubmitPolicy;
  /** Shared by everything in a process that calls the same service; one of its own unless set. */
  gate?: RateGate;
}

/** The calls of a job that touch the world. */
export function createVideoActivities({
  service,
  storage,
  onLostSubmit = 'hold',
  gate = new RateGate(),
  ...download
}: VideoActivityDeps) {
  return {
    submitVideo: createSubmitVideo({ service, gate, onLostSubmit }),
    checkVideo: createCheckVideo(service, gate),
    downloadVideo: createDownloadVideo({ ...download, service, storage, gate }),
    cancelVideo: createCancelVideo(service),
  };
}

export type VideoActivities = ReturnType<typeof createVideoActivities>;
