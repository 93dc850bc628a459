import type { Worker } from '@temporalio/worker';
import {
  createVideoActivities,
  type DownloadOptions,
  type JobQueues,
  type VideoActivities,
} from '../../activities';
import { checkCaps } from '../config/caps-config';
import { readWebhookConfig } from '../config/operation-config';
import {
  ConfigError,
  type Environment,
  keyReader,
  namesAService,
  readServiceConfig,
} from '../config/service-config';
import type { ServiceInFile } from '../config/services-file';
import type { MonitorAddress } from '../config/setting-forms';
import { readSetting } from '../config/settings';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import type { Caps } from '../contract/caps';
import type { LostSubmitPolicy } from '../contract/lost-submit';
import { endInspector } from '../media/inspector';
import {
  createVideoService,
  type NamedServices,
  namedServicesProblem,
  type OpenedVideoService,
  type RateLimiters,
  ServiceDirectory,
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
  /** The video service, which you close. Default: the one in `VIDEO_API_BASE_URL`. */
  service?: VideoService;
  /** Further services, which you close, for jobs that name one. Default: those of the file in `VIDEOGEN_SERVICES_FILE`. */
  services?: NamedServices;
  /** The name of the one for new jobs that name none. Default: that of the file, unless there is `service`. */
  defaultService?: string;
  /** Where videos go. Default: `VIDEOGEN_STORAGE`. */
  storage?: VideoStorage;
  /** What may be made. Give all workers of a task queue the same. Default: those of the file in `VIDEOGEN_CAPS`, or none. */
  caps?: Caps;
  /** How webhooks are sent. Default: as the settings of webhooks say. */
  webhooks?: WebhookOptions;
  /** How the service reaches the gateway, to fetch uploaded images. S3 needs none. Default: `VIDEOGEN_GATEWAY_URL`. */
  gatewayUrl?: string;
  /** Give the same to all workers of a process that call the same services. */
  rateLimiters?: Pick<RateLimiters, 'of'>;
  /** The task queue of downloads. Default: `VIDEOGEN_DOWNLOAD_QUEUE`, or the task queue of the jobs. */
  downloadQueue?: string;
  /** How many submits per second all workers of the submit queue together may start. Default: no limit. */
  submitsPerSecond?: number;
  /**
   * Where /metrics, /livez and /readyz are served; `false` for nowhere. Default: `VIDEOGEN_MONITOR_PORT`. All workers of a
   * process share one. What the SDK measures is in it if createVideoWorker is called before anything else of the SDK starts, or
   * if you install a runtime with `prometheusMetrics`.
   */
  monitor?: MonitorAddress | false;
}

export interface VideoWork {
  activities: VideoActivities;
  storage: VideoStorage;
  directory: ServiceDirectory;
  /** Those of the SDK that run; more may come. */
  workers: Worker[];
  /** Rejects if the storage cannot be used or a package of a service cannot be loaded. */
  ready(): Promise<void>;
  /** Runs what the plugin adds for as long as the given worker runs. */
  runNextTo?: ((worker: Worker, running: Promise<void>) => Promise<void>) | undefined;
  /** Closes the services, unless the caller gave them, and ends the process that inspects videos. */
  close(): Promise<void>;
}

/** By each activity created here: between creating and running a worker, the SDK carries nothing else of ours. */
const works = new WeakMap<object, VideoWork>();

/** The work of a worker that has some of our activities. */
export function workOf(activities: Iterable<unknown>): VideoWork | undefined {
  for (const activity of activities) {
    const work = works.get(Object(activity));
    if (work) return work;
  }
  return undefined;
}

/** `queues`: where jobs that run with these activities have their submits and downloads done. */
export function prepareWork(options: VideoWorkOptions, queues: JobQueues = {}): VideoWork {
  const { env } = options;
  const onLostSubmit = options.onLostSubmit ?? readSetting('VIDEOGEN_ON_LOST_SUBMIT', env);
  const storage = options.storage ?? createStorage(readStorageConfig(env));
  const { directory, ready, close } = openServices(options);
  const { keyTemplate, largestVideoBytes } = readDownloadOptions(env);
  const activities = createVideoActivities({
    keyTemplate: options.keyTemplate ?? keyTemplate,
    largestVideoBytes: options.largestVideoBytes ?? largestVideoBytes,
    pace: options.pace,
    directory,
    storage,
    queues,
    onLostSubmit,
    caps: options.caps ? checkCaps(options.caps) : readSetting('VIDEOGEN_CAPS', env),
    webhooks: options.webhooks ?? readWebhookConfig(env),
    gatewayUrl: options.gatewayUrl ?? readSetting('VIDEOGEN_GATEWAY_URL', env),
  });
  const work: VideoWork = {
    activities,
    storage,
    directory,
    workers: [],
    ready: async () => {
      await storage.probe?.();
      await ready();
    },
    close: async () => {
      endInspector();
      await close();
    },
  };
  for (const activity of Object.values(activities)) works.set(activity, work);
  return work;
}

/**
 * What is given comes before what the environment names. A service without a name is needed by tasks that were made before
 * services had names, so it is there whenever its address is set.
 */
function openServices(options: VideoWorkOptions) {
  const { env, rateLimiters } = options;
  const file = options.services ? undefined : readSetting('VIDEOGEN_SERVICES_FILE', env);
  const defaultService = options.defaultService ?? (options.service ? undefined : file?.default);
  const hasNamed = file !== undefined || options.services !== undefined;
  const own = options.service === undefined && (!hasNamed || namesAService(env));
  const unnamed = own ? createVideoService(readServiceConfig(env)) : undefined;
  const service = unnamed ?? options.service;
  const ofFile = Object.entries(file?.services ?? {}).map(([name, entry]) => {
    const { submitsPerSecond, onLostSubmit } = entry;
    return [name, { service: openServiceOfFile(entry, env), submitsPerSecond, onLostSubmit }] as const;
  });
  const services = options.services ?? Object.fromEntries(ofFile);
  const problem = namedServicesProblem({ services, defaultService });
  if (problem !== undefined) throw new ConfigError(`The option services has a mistake: ${problem}.`);
  return {
    directory: new ServiceDirectory({ service, services, defaultService, rateLimiters }),
    ready: async () => {
      for (const { name, aiSdk: model } of Object.values(file?.services ?? {})) {
        const why = model && (await aiSdk().findAiSdkProblem(model));
        if (why !== undefined)
          throw new ConfigError(`services.${name}.aiSdk of VIDEOGEN_SERVICES_FILE: ${why}.`);
      }
    },
    close: async () => {
      await Promise.all([unnamed, ...ofFile.map(([, { service }]) => service)].map((one) => one?.close()));
    },
  };
}

/** Only a worker with such a service loads anything of the AI SDK. */
const aiSdk = (): typeof import('../ai-sdk/load-ai-sdk-service') => require('../ai-sdk/load-ai-sdk-service');

/** Throws a ConfigError for a key that cannot be read. */
function openServiceOfFile(entry: ServiceInFile, env: Environment | undefined): OpenedVideoService {
  const { baseUrl = '', aiSdk: model, profile, downloadAllow } = entry;
  const apiKey = keyReader(entry, env);
  const options = { apiKey, ...(profile && { profile }), ...(downloadAllow.length > 0 && { downloadAllow }) };
  return model
    ? aiSdk().loadAiSdkService({ ...model, ...options })
    : createVideoService({ baseUrl, ...options });
}
