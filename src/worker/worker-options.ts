import { totalmem } from 'node:os';
import type { WorkerOptions, WorkerPlugin } from '@temporalio/worker';
import type { Environment } from '../config/read-setting';
import { readSetting } from '../config/settings';
import { readDeploymentVersion } from '../config/temporal-config';

/** A cancelled download learns of it from its next heartbeat; by default the SDK sends them too rarely for that. */
const HEARTBEAT_THROTTLE = '5s';

/**
 * How long a workflow may compute at a time, as the SDK calls it; it has no type for it. When its 5 s are over, Node ends the
 * whole process with "async hook stack has become corrupted". A batch on a machine that is busy with other work can take
 * longer, and Temporal gives its task to another worker after 10 s anyway.
 */
const LONGEST_COMPUTING = { isolateExecutionTimeout: '60s' };

/**
 * Adds what our activities and workflows need of a worker, where it is not set. After the grace a download is cancelled, and
 * another worker resumes it; a submit still finishes, because its answer names a paid task.
 */
export function withOwnDefaults<Options extends Partial<WorkerOptions>>(
  options: Options,
  env: Environment | undefined,
): Options {
  return {
    ...LONGEST_COMPUTING,
    ...options,
    shutdownGraceTime: options.shutdownGraceTime ?? readSetting('VIDEOGEN_SHUTDOWN_GRACE', env),
    maxHeartbeatThrottleInterval: options.maxHeartbeatThrottleInterval ?? HEARTBEAT_THROTTLE,
  };
}

/**
 * The options of the host for its other workers, as the given plugin gets them: without those for workflows and other
 * activities. Plugins before it have already changed them, and the SDK adds those of the connection again.
 */
export function optionsForOtherWorkers(
  {
    workflowBundle,
    workflowsPath,
    bundlerOptions,
    activities,
    tuner,
    nexusServices,
    maxActivitiesPerSecond,
    maxTaskQueueActivitiesPerSecond,
    maxConcurrentActivityTaskExecutions,
    maxConcurrentLocalActivityExecutions,
    maxConcurrentNexusTaskExecutions,
    maxConcurrentWorkflowTaskExecutions,
    plugins = [],
    ...rest
  }: WorkerOptions,
  plugin: WorkerPlugin,
): Partial<WorkerOptions> {
  const ofConnection = new Set<object>(rest.connection?.plugins);
  const later = plugins.slice(plugins.indexOf(plugin) + 1);
  return { ...rest, plugins: later.filter((one) => !ofConnection.has(one)) };
}

/**
 * The worker deployment version: the caller's (`undefined` for none), or else that of the environment. Jobs are pinned to
 * the version that they started on, so that a changed workflow never replays their history.
 */
export function deploymentOptions(
  given: Partial<WorkerOptions> = {},
  env?: Environment,
): WorkerOptions['workerDeploymentOptions'] {
  if ('workerDeploymentOptions' in given) return given.workerDeploymentOptions;
  const version = readDeploymentVersion(env);
  return version && { useWorkerVersioning: true, version, defaultVersioningBehavior: 'PINNED' };
}

const MB = 1_000_000;
/** What a busy worker takes, and what each workflow in its memory adds: `npm run bench -- --only g` prints both. */
const WORKER_BYTES = 350 * MB;
const WORKFLOW_BYTES = 0.25 * MB;

/** With these in memory and 9,000 more that wait, a worker was measured at 550 MB. */
const MOST_WORKFLOWS = 1_000;
/** The SDK runs this many workflow tasks at a time, and each needs its workflow in memory. */
const FEWEST_WORKFLOWS = 40;

/**
 * How many workflows a worker keeps in memory: as the caller says, or else as many as fit, up to MOST_WORKFLOWS.
 */
export function cachedWorkflows(
  { maxCachedWorkflows }: Partial<WorkerOptions> = {},
  memoryBytes = availableBytes(),
): number {
  const fitting = Math.floor((memoryBytes - WORKER_BYTES) / WORKFLOW_BYTES);
  return maxCachedWorkflows ?? Math.max(FEWEST_WORKFLOWS, Math.min(fitting, MOST_WORKFLOWS));
}

/** The memory of the container, or else of the machine. Without a limit, Node returns 0 or more than there is. */
function availableBytes(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
