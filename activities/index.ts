import type { VideoService } from '../src/service';
import type { VideoStorage } from '../src/storage';
import { createCheckVideo } from './check-video';
import { createDownloadVideo } from './download-video';
import { createSubmitVideo } from './submit-video';

export interface VideoActivityDeps {
  service: VideoService;
  storage: VideoStorage;
}

/** The three calls of a job that touch the world. */
export function createVideoActivities({ service, storage }: VideoActivityDeps) {
  return {
    submitVideo: createSubmitVideo(service),
    checkVideo: createCheckVideo(service),
    downloadVideo: createDownloadVideo(service, storage),
  };
}

export type VideoActivities = ReturnType<typeof createVideoActivities>;
