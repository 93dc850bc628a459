import type { Caps } from '../src/contract/caps';
import type { LostSubmitPolicy } from '../src/contract/lost-submit';
import {
  ServiceDirectory,
  type ServiceDirectoryOptions,
  type WebhookOptions,
  type WebhookSender,
} from '../src/service';
import type { VideoStorage } from '../src/storage';
import { createAdoptTask } from './adopt-task';
import { awaitJob } from './batch/await-job';
import { createBatchFiles } from './batch/batch-files';
import { createCancelVideo } from './cancel-video';
import { createSettleTask, createSubmitCaps } from './caps';
import { createDownloadVideo, type DownloadOptions } from './download/download-video';
import { createFindTurn } from './find-turn';
import { ledgersInTemporal } from './ledger-client';
import { createPollVideo } from './poll-video';
import { createSendWebhook } from './send-webhook';
import { createFindTools, createRouteJob, isServed, type JobQueues } from './service-tools';
import { createRecallSubmit } from './submit/recall-submit';
import { inspectPendingSubmit } from './submit/submit-note';
import { createSubmitVideo } from './submit/submit-video';

export type { AdoptTaskInput } from './adopt-task';
export type { AwaitJobInput } from './batch/await-job';
export type { DownloadOptions, DownloadVideoInput } from './download/download-video';
export type { PolledTask } from './poll-video';
export type { SubmittedTask } from './record-task';
export type { SentWebhook } from './send-webhook';
export type { JobQueues, JobRoute } from './service-tools';
export type { RecalledSubmit, RecallSubmitInput } from './submit/recall-submit';
export type { SubmitVideoInput } from './submit/submit-video';

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
  /** Where other workers submit and download for these jobs. Default: the worker with these activities does it. */
  queues?: JobQueues;
  /** How webhooks are sent. Without it none are: those of jobs with a `callbackUrl` wait for a worker that has it. */
  webhooks?: WebhookOptions;
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
  directory,
  storage,
  onLostSubmit = 'hold',
  gatewayUrl,
  caps: ofWorker = {},
  webhooks,
  queues = {},
  ...options
}: VideoActivityDeps) {
  const find = createFindTools(directory ?? new ServiceDirectory(options));
  const sender = webhooks && openSender(webhooks);
  const caps = createSubmitCaps({ caps: ofWorker, ledger: ledgersInTemporal() });
  return {
    submitVideo: createSubmitVideo({ find, storage, gatewayUrl, onLostSubmit, caps }),
    inspectPendingSubmit,
    recallSubmit: createRecallSubmit({ find, storage, onLostSubmit }),
    adoptTask: createAdoptTask({ find, storage }),
    pollVideo: createPollVideo(find, createSettleTask(storage, caps, ofWorker)),
    downloadVideo: createDownloadVideo({ ...options, find, storage }),
    cancelVideo: createCancelVideo(find),
    routeJob: createRouteJob(find, {
      ...queues,
      ...(sender?.defaultUrl !== undefined && { hasReceiver: true }),
    }),
    isServed,
    findTurn: createFindTurn(find, storage),
    sendWebhook: createSendWebhook(sender),
    ...createBatchFiles(storage, find),
    awaitJob,
  };
}

/** undici takes a tenth of a second and 20 MB to load: a worker without webhooks and jobs does without. */
function openSender(webhooks: WebhookOptions): WebhookSender {
  const loaded: typeof import('../src/service/webhook-sender') = require('../src/service/webhook-sender');
  return loaded.createWebhookSender(webhooks);
}

/** The activities by name, as a worker registers them. */
export type VideoActivities = ReturnType<typeof createVideoActivities>;
