import { Runtime, Worker, type WorkerOptions, type WorkerPlugin } from '@temporalio/worker';
import type { MonitorAddress } from '../config/operation-config';
import type { WorkerQueues } from '../config/queues';
import { ConfigError, type Environment } from '../config/service-config';
import { activityWorkers, runWith } from './activity-workers';
import { startJanitor } from './janitor';
import type { VideoWork } from './video-work';
import { openWorkerMonitor } from './worker-monitor';
import { withOwnDefaults, withoutOwnTasks } from './worker-options';

interface HostedWork {
  queues: WorkerQueues;
  /** The host's options for its other workers. */
  host: Partial<WorkerOptions>;
  env: Environment | undefined;
  monitor: MonitorAddress | undefined;
}

/** Refuses a host's activity with the name of one of ours: the SDK would silently replace it. */
export function checkActivityNames(ofHost: object = {}, { activities }: VideoWork): void {
  const taken = Object.keys(ofHost).find((name) => Object.hasOwn(activities, name));
  if (taken === undefined) return;
  throw new ConfigError(
    `Your worker and temporal-videogen both have the activity ${taken}: rename or remove your own.`,
  );
}

/** Runs the janitor and the workers of submits and downloads for as long as the host's worker runs. */
export async function runHosted(
  work: VideoWork,
  { queues, host, env, monitor }: HostedWork,
  worker: Worker,
  running: Promise<void>,
): Promise<void> {
  const workers = [worker];
  const creating = activityWorkers(work, queues).map(({ options }) =>
    Worker.create(withOwnDefaults({ ...host, ...options }, env)),
  );
  const stopJanitor = startJanitor(work.storage);
  // Only logged: the host's worker runs already, and has other work.
  const logProblem = (error: unknown) => Runtime.instance().logger.error(String(error));
  work.storage.probe?.().catch(logProblem);
  work.ready().catch(logProblem);
  const { taskQueue } = queues;
  const opened =
    monitor && openWorkerMonitor(monitor, { workers: () => workers, work, taskQueue }).catch(logProblem);
  try {
    await runWith(workers, running, creating);
  } finally {
    stopJanitor();
    await (await opened)?.close();
    await work.close();
  }
}

/**
 * The options of the host for its other workers, as the given plugin gets them. Plugins before it have already
 * changed them, and the SDK adds those of the connection again.
 */
export function optionsForOtherWorkers(options: WorkerOptions, plugin: WorkerPlugin): Partial<WorkerOptions> {
  const { plugins = [], connection } = options;
  const ofConnection = new Set<object>(connection?.plugins);
  const later = plugins.slice(plugins.indexOf(plugin) + 1);
  return { ...withoutOwnTasks(options), plugins: later.filter((one) => !ofConnection.has(one)) };
}
