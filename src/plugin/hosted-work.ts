import { Runtime, Worker, type WorkerOptions, type WorkerPlugin } from '@temporalio/worker';
import type { WorkerQueues } from '../config/queues';
import { ConfigError } from '../config/service-config';
import { activityWorkers, behavingWell, runBeside, withoutOwnTasks } from '../worker/activity-workers';
import { startJanitor } from '../worker/janitor';
import type { VideoWork } from '../worker/video-work';
import { describeTaken } from './combine';

/** What a host's worker does for us, until it has run. */
export interface HostedWork {
  work: VideoWork;
  queues: WorkerQueues;
  /** What the workers beside the host's have of its options. */
  host: Partial<WorkerOptions>;
}

/** The work that a host's worker was given and has not begun, by one of its activities: a worker is known by nothing else. */
const waiting = new WeakMap<object, HostedWork>();

/** The host's activities and ours. */
export function withActivities(ofHost: object = {}, added: HostedWork): object {
  const { activities } = added.work;
  const taken = Object.keys(ofHost).find((name) => Object.hasOwn(activities, name));
  if (taken !== undefined) throw new ConfigError(describeTaken('activity', taken));
  waiting.set(activities.pollVideo, added);
  return { ...ofHost, ...activities };
}

/** The work of a worker that is about to run, once: the SDK calls a plugin as often as it is mentioned. */
export function takeWork({ options: { activities } }: Worker): HostedWork | undefined {
  const pollVideo = activities.get('pollVideo');
  if (pollVideo === undefined) return undefined;
  const found = waiting.get(pollVideo);
  waiting.delete(pollVideo);
  return found;
}

/** Runs what our jobs need beside the host's worker, for as long as that runs. */
export async function runHosted(
  { work, queues, host }: HostedWork,
  worker: Worker,
  running: Promise<void>,
): Promise<void> {
  const others = activityWorkers(work, queues);
  const createOthers = async () => {
    const created: Worker[] = [];
    for (const { options } of others) {
      created.push(await Worker.create(behavingWell({ ...host, ...options })));
    }
    return created;
  };
  const stopTidying = startJanitor(work.storage);
  // The host's worker runs already, and has other work.
  work.storage.probe?.().catch((error: unknown) => Runtime.instance().logger.error(String(error)));
  try {
    await (others.length > 0 ? runBeside(worker, running, createOthers) : running);
  } finally {
    stopTidying();
    await work.close();
  }
}

/**
 * What workers beside the host's have of its options, as they are when the given plugin sees them. Plugins before it have
 * done their part, and those of the connection are added by the SDK once more.
 */
export function forWorkersBeside(options: WorkerOptions, plugin: WorkerPlugin): Partial<WorkerOptions> {
  const { plugins = [], connection } = options;
  const ofConnection = new Set<object>(connection?.plugins);
  const later = plugins.slice(plugins.indexOf(plugin) + 1);
  return { ...withoutOwnTasks(options), plugins: later.filter((one) => !ofConnection.has(one)) };
}
