import { createVideoActivities, type DownloadOptions, type VideoActivities } from '../../activities';
import { type Environment, readLostSubmitPolicy, readServiceConfig } from '../config/service-config';
import { readDownloadOptions, readStorageConfig } from '../config/storage-config';
import type { LostSubmitPolicy } from '../contract/lost-submit';
import { createVideoService, RateLimiter, type VideoService } from '../service';
import { createStorage, type VideoStorage } from '../storage';

/** What the work of a worker is done with; what is not given is read from the environment. */
export interface VideoWorkOptions extends DownloadOptions {
  /** Read for whatever is not given here; the process's own unless set. */
  env?: Environment;
  /** For jobs that do not say it themselves; `hold` unless set. */
  onLostSubmit?: LostSubmitPolicy;
  service?: VideoService;
  storage?: VideoStorage;
  /** Shared by workers of one process that call the same service. */
  rateLimiter?: RateLimiter;
}

export interface VideoWork {
  activities: VideoActivities;
  storage: VideoStorage;
  rateLimiter: RateLimiter;
  /** Closes the service, unless it came from the caller: then it is the caller's to close. */
  close(): Promise<void>;
}

/** Every activity that was made here, so that a worker which has them is known. */
const prepared = new WeakSet<object>();

/** Whether a worker does such work already. */
export function hasPreparedWork(activities: object = {}): boolean {
  return Object.values(activities).some((activity) => prepared.has(Object(activity)));
}

export function prepareWork(options: VideoWorkOptions): VideoWork {
  const { env, rateLimiter = new RateLimiter() } = options;
  const onLostSubmit = options.onLostSubmit ?? readLostSubmitPolicy(env);
  const storage = options.storage ?? createStorage(readStorageConfig(env));
  const service = options.service ?? createVideoService(readServiceConfig(env));
  const activities = createVideoActivities({
    ...downloadOptions(options),
    service,
    storage,
    onLostSubmit,
    rateLimiter,
  });
  for (const activity of Object.values(activities)) prepared.add(activity);
  return {
    activities,
    storage,
    rateLimiter,
    close: async () => {
      if (!options.service) await service.close();
    },
  };
}

/** What is not given is read. */
function downloadOptions({ env, keyTemplate, largestVideoBytes, sidecar, pace }: VideoWorkOptions) {
  const read = readDownloadOptions(env);
  return {
    keyTemplate: keyTemplate ?? read.keyTemplate,
    largestVideoBytes: largestVideoBytes ?? read.largestVideoBytes,
    sidecar: sidecar ?? read.sidecar,
    pace,
  };
}
