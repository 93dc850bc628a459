import type { WorkerOptions } from '@temporalio/worker';
import { createVideoActivities, type DownloadOptions, type VideoActivities } from '../../activities';
import { checkCaps, readCaps } from '../config/caps-config';
import { readGatewayUrl } from '../config/gateway-config';
import {
  ConfigError,
  type Environment,
  readLostSubmitPolicy,
  readPollsPerSecondSaved,
  readServiceConfig,
} from '../config/service-config';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import { readWebhookConfig } from '../config/webhook-config';
import type { Caps } from '../contract/caps';
import type { LostSubmitPolicy } from '../contract/lost-submit';
import {
  createVideoService,
  type NamedServices,
  type RateLimiter,
  ServiceDirectory,
  ServiceReach,
  type VideoService,
  type WebhookOptions,
} from '../service';
import { createStorage, type VideoStorage } from '../storage';

/** What a worker's activities use; the environment says the rest. */
export interface VideoWorkOptions extends DownloadOptions {
  /** The settings for whatever is not given here. Default: `process.env`. */
  env?: Environment;
  /** What to do about a lost submit of a job that does not say it. Default: `VIDEOGEN_ON_LOST_SUBMIT`, or `hold`. */
  onLostSubmit?: LostSubmitPolicy;
  /**
   * How many polls it may cost to have a video one second sooner, for jobs that do not say it. Default:
   * `VIDEOGEN_POLLS_PER_SECOND_SAVED`, the profile's, or 4.
   */
  pollsPerSecondSaved?: number;
  /** The video service, which you close. Default: the one in `VIDEO_API_BASE_URL`. */
  service?: VideoService;
  /** Further services, which you close, for jobs that name one. */
  services?: NamedServices;
  /** Instead of `service`: the name of the one for jobs that name none. */
  defaultService?: string;
  /** Where videos go. Default: `VIDEOGEN_STORAGE`. */
  storage?: VideoStorage;
  /** What may be made. Give all workers of a task queue the same. Default: those of the file in `VIDEOGEN_CAPS`, or none. */
  caps?: Caps;
  /** How webhooks are sent. Default: as the `VIDEOGEN_WEBHOOK_…` settings say. */
  webhooks?: WebhookOptions;
  /** How the service reaches the gateway, to fetch uploaded images. S3 needs none. Default: `VIDEOGEN_GATEWAY_URL`. */
  gatewayUrl?: string;
  /** Give the same one to all workers of a process that call the same service. */
  rateLimiter?: RateLimiter;
}

export interface VideoWork {
  activities: VideoActivities;
  storage: VideoStorage;
  directory: ServiceDirectory;
  /** Whether the service answers, as the activities find out. */
  reach: ServiceReach;
  /** Where it can be probed, if that is known. */
  serviceAddress: string | undefined;
  /** Closes the service, unless the caller gave it. */
  close(): Promise<void>;
}

/** Every activity created here, to recognize a worker that has them. */
const prepared = new WeakSet<object>();

/** Whether these activities include some that were created here. */
export function hasPreparedWork(activities: object = {}): boolean {
  return Object.values(activities).some((activity) => prepared.has(Object(activity)));
}

/**
 * The ledger of the caps moves on with each version of a worker, which the server refuses from a worker that has a version and
 * does not use it: no job would ever be submitted.
 */
export function refuseUnversionedCaps(
  { caps, env }: VideoWorkOptions,
  deployment: WorkerOptions['workerDeploymentOptions'],
): void {
  const hasCaps = Object.keys(caps ?? readCaps(env)).length > 0;
  if (!hasCaps || deployment === undefined || deployment.useWorkerVersioning) return;
  throw new ConfigError(
    'Caps do not work with workerDeploymentOptions of useWorkerVersioning: false: leave these options out, or use versioning.',
  );
}

export function prepareWork(options: VideoWorkOptions): VideoWork {
  const { env, services, defaultService, rateLimiter } = options;
  const onLostSubmit = options.onLostSubmit ?? readLostSubmitPolicy(env);
  const storage = options.storage ?? createStorage(readStorageConfig(env));
  const isNamed = options.service === undefined && defaultService !== undefined;
  const service = isNamed ? undefined : (options.service ?? createVideoService(readServiceConfig(env)));
  const reach = new ServiceReach();
  const directory = new ServiceDirectory({
    service: service && reach.watch(service),
    services,
    defaultService,
    rateLimiter,
  });
  const activities = createVideoActivities({
    ...downloadOptions(options),
    directory,
    storage,
    onLostSubmit,
    pollsPerSecondSaved: options.pollsPerSecondSaved ?? readPollsPerSecondSaved(env),
    caps: options.caps ? checkCaps(options.caps) : readCaps(env),
    webhooks: options.webhooks ?? readWebhookConfig(env),
    gatewayUrl: options.gatewayUrl ?? readGatewayUrl(env),
  });
  for (const activity of Object.values(activities)) prepared.add(activity);
  return {
    activities,
    storage,
    directory,
    reach,
    serviceAddress: service?.address,
    close: async () => {
      if (!options.service) await service?.close();
    },
  };
}

/** The given options, and those of the environment for the rest. */
function downloadOptions({ env, keyTemplate, largestVideoBytes, sidecar, keepFor, pace }: VideoWorkOptions) {
  const read = readDownloadOptions(env);
  return {
    keyTemplate: keyTemplate ?? read.keyTemplate,
    largestVideoBytes: largestVideoBytes ?? read.largestVideoBytes,
    sidecar: sidecar ?? read.sidecar,
    keepFor: keepFor ?? read.keepFor,
    pace,
  };
}
