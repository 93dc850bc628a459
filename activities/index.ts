import type { Caps } from '../src/contract/caps';
import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import {
  createWebhookSender,
  ServiceDirectory,
  type ServiceDirectoryOptions,
  type WebhookOptions,
} from '../src/service';
import { ImageLinks, type VideoStorage } from '../src/storage';
import { createBatchFiles } from './batch/batch-files';
import { createCancelVideo } from './cancel-video';
import { createDownloadVideo, type DownloadOptions } from './download/download-video';
import { createMakeExtras } from './extras/make-extras';
import { createTakeLastFrame } from './extras/take-last-frame';
import { createPollVideo, createPollVideos } from './poll-video';
import { createSayReceiver } from './say-receiver';
import { createSendWebhook } from './send-webhook';
import { createFindService, createFindTools } from './service-tools';
import { ledgersInTemporal } from './submit/ledger-line';
import { createRecallSubmit } from './submit/recall-submit';
import { inspectPendingSubmit } from './submit/submit-note';
import { createSubmitVideo } from './submit/submit-video';

export type { OpenBatchInput, ReadRequestsInput, RecordResultsInput } from './batch/batch-files';
export type { CancelVideoInput } from './cancel-video';
export type { DownloadedVideo, DownloadOptions, DownloadVideoInput } from './download/download-video';
export type { DownloadPace } from './download/watch-pace';
export type { MadeExtras, MakeExtrasInput } from './extras/make-extras';
export type { TakeLastFrameInput, TakenFrame } from './extras/take-last-frame';
export type { PollVideoInput, PollVideosInput } from './poll-video';
export type { SentWebhook } from './send-webhook';
export type { RecalledSubmit, RecallSubmitInput } from './submit/recall-submit';
export type { InspectedSubmit, InspectPendingSubmitInput } from './submit/submit-note';
export type { SubmitVideoInput } from './submit/submit-video';
export type { SubmittedTask } from './submit/submitted-task';

/** What createVideoActivities needs. */
export interface VideoActivityDeps extends DownloadOptions, ServiceDirectoryOptions {
  storage: VideoStorage;
  /** The policy of jobs that set none; `hold` by default. */
  onLostSubmit?: LostSubmitPolicy;
  /** What may be made, counted together with all workers of the jobs' task queue; no caps by default. */
  caps?: Caps;
  /** How the service reaches a gateway that serves the images of this storage. S3 needs none. */
  gatewayUrl?: string;
  /** Instead of `service` and `services`: share one among everything in a process that calls the same services. */
  directory?: ServiceDirectory;
  /** How many polls it may cost to have a video one second sooner, for jobs that do not say it; 4 by default. */
  pollsPerSecondSaved?: number;
  /** How webhooks are sent. Without it none are: those of jobs with a `callbackUrl` wait for a worker that has it. */
  webhooks?: WebhookOptions;
  /** The executable of ffmpeg, for extras and `continueFrom`. Without it jobs get no extras, and cannot continue from others. */
  ffmpeg?: string;
}

/**
 * The activities of jobs and batches, for a worker.
 *
 * @example
 * ```ts
 * const activities = createVideoActivities({ service, storage: createFileStorage('./videos') });
 * const worker = await Worker.create({ taskQueue: 'films', workflowsPath, activities });
 * ```
 */
export function createVideoActivities({
  service,
  services,
  defaultService,
  rateLimiter,
  rateLimiters,
  directory = new ServiceDirectory({ service, services, defaultService, rateLimiter, rateLimiters }),
  storage,
  onLostSubmit = 'hold',
  gatewayUrl,
  caps = {},
  webhooks,
  pollsPerSecondSaved,
  ffmpeg,
  ...download
}: VideoActivityDeps) {
  const find = createFindTools(directory, storage, pollsPerSecondSaved);
  const imageLinks = new ImageLinks(storage, gatewayUrl);
  const sender = webhooks && createWebhookSender(webhooks);
  const ledger = ledgersInTemporal();
  const sayReceiver = createSayReceiver(sender);
  return {
    submitVideo: sayReceiver(createSubmitVideo({ find, storage, imageLinks, onLostSubmit, caps, ledger })),
    inspectPendingSubmit,
    recallSubmit: sayReceiver(createRecallSubmit({ find, storage, onLostSubmit })),
    pollVideo: sayReceiver(createPollVideo(find)),
    pollVideos: createPollVideos(find),
    downloadVideo: createDownloadVideo({ ...download, find, storage }),
    makeExtras: createMakeExtras({ storage, ffmpeg, sidecar: download.sidecar }),
    takeLastFrame: createTakeLastFrame({ find, storage, ffmpeg }),
    cancelVideo: createCancelVideo(find),
    findService: createFindService(find),
    sendWebhook: createSendWebhook(sender),
    ...createBatchFiles(storage, find),
  };
}

/** The activities by name, as a worker registers them. */
export type VideoActivities = ReturnType<typeof createVideoActivities>;
