import { SimplePlugin } from '@temporalio/plugin';
import {
  type BundleOptions,
  NativeConnection,
  type ReplayWorkerOptions,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import type { ServiceHandler } from 'nexus-rpc';
import { monitorAddress, readEncryptionKeys } from '../config/operation-config';
import { resolveWorkerQueues } from '../config/queues';
import { ConfigError } from '../config/service-config';
import { readSetting } from '../config/settings';
import { errorCode } from '../contract/error-code';
import { withEncryption } from '../encryption/data-converter';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import { RateLimiters, servicesForClients } from '../service';
import { activityWorkers, jobQueues, runWith, type WorkerRole } from './activity-workers';
import { encryptedWorker } from './encrypt-worker';
import type { VideoNexusOptions } from './nexus-handler';
import {
  bundleWithHost,
  checkHostBundle,
  PLUGIN_NAME,
  SDK_VERSIONS,
  withOwnWorkflows,
} from './own-workflows';
import { prepareWork, type VideoWork, type VideoWorkOptions, workOf } from './video-work';
import { openWorkerMonitor } from './worker-monitor';
import { optionsForOtherWorkers, withOwnDefaults } from './worker-options';

/** Options of VideoPlugin; the environment says the rest. */
export interface VideoPluginOptions extends VideoWorkOptions {
  /** Whether your worker serves the Nexus service VideoGeneration, for callers in other namespaces. */
  nexus?: boolean;
  /**
   * Whether clients and workers with this plugin encrypt, with the keys in `VIDEOGEN_ENCRYPTION_KEYS`. It is for everything
   * that they run, your own workflows included, and comes after the codecs of your own data converter. Default: false.
   */
  encryption?: boolean;
}

/** What createVideoWorker gives besides. */
export interface OwnWorkerOptions extends VideoPluginOptions {
  /** Checked and ready. */
  work: VideoWork;
  roles: readonly WorkerRole[];
}

/**
 * Adds video generation to your own worker: our workflows and activities, on your task queue, and a worker next to yours for the
 * submits. It reads the settings only when a worker is created, so a client or a connection may have the plugin without any.
 *
 * @example
 * ```ts
 * const worker = await Worker.create({
 *   taskQueue: 'films',
 *   workflowsPath: require.resolve('./workflows'),
 *   plugins: [new VideoPlugin()],
 * });
 * ```
 */
export class VideoPlugin extends SimplePlugin {
  /** Hard private: the SDK logs the options of a worker with its plugins, and these have the keys. */
  readonly #given: VideoPluginOptions & Partial<OwnWorkerOptions>;

  constructor(options: VideoPluginOptions = {}) {
    super({ name: PLUGIN_NAME });
    // All workers with this plugin call the same services, so they share their rate limiters.
    this.#given = { rateLimiters: new RateLimiters(), ...options };
  }

  override configureClient(options: Parameters<SimplePlugin['configureClient']>[0]) {
    const configured = super.configureClient(options);
    if (!this.#given.encryption) return configured;
    const dataConverter = withEncryption(configured.dataConverter, { ring: this.readRing() });
    return { ...configured, dataConverter };
  }

  /** Leaves a worker alone that has our activities already: workers get the plugins of their connection too. */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    if (workOf(Object.values(options.activities ?? {}))) return options;
    checkSdkVersions();
    checkWorkerCopy(options.connection);
    const { taskQueue, namespace } = options;
    const { env, roles, work: ownWork } = this.#given;
    const queues = resolveWorkerQueues({ ...this.#given, taskQueue }, env);
    checkHostBundle(options.workflowBundle);
    refuseUnversionedCaps(this.#given, options.workerDeploymentOptions);
    const work = ownWork ?? prepareWork(this.#given, jobQueues(queues));
    checkActivityNames(options.activities, work);
    const monitored = monitorAddress(this.#given.monitor, env);
    const shared = this.encrypted(optionsForOtherWorkers(options, this));
    const others = activityWorkers(work, queues, roles).map(
      ({ identity, activityTaskPollerBehavior, ...own }) =>
        withOwnDefaults({ identity, activityTaskPollerBehavior, ...shared, ...own }, env),
    );
    const first = roles?.includes('jobs') === false ? others.shift() : undefined;
    work.runNextTo = async (worker, running) => {
      work.workers.push(worker);
      const creating = others.map((other) => Worker.create(other));
      // Only logged: the host's worker runs already, and has other work.
      const logProblem = (error: unknown) => Runtime.instance().logger.error(String(error));
      if (!ownWork) work.ready().catch(logProblem);
      const opened =
        monitored && openWorkerMonitor(monitored, work, { namespace, taskQueue }).catch(logProblem);
      try {
        await runWith(work, running, creating);
      } finally {
        await (await opened)?.();
        await work.close();
      }
    };
    if (first) return { ...first, plugins: options.plugins };
    // A plugin for this one worker: what it adds depends on the worker's task queue.
    const added = new SimplePlugin({
      name: this.name,
      activities: work.activities,
      ...(this.#given.nexus && { nexusServices: [this.nexusService()] }),
    });
    const own = withOwnWorkflows(this.encrypted(options));
    return added.configureWorker(withOwnDefaults(own, env));
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    return super.configureReplayWorker(withOwnWorkflows(this.encrypted(options)));
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    checkSdkVersions();
    const { failureConverterPath } =
      this.encrypted<Pick<WorkerOptions, 'dataConverter'>>({}).dataConverter ?? {};
    return super.configureBundler(bundleWithHost({ failureConverterPath, ...options }));
  }

  override runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    checkWorkerCopy(worker);
    // Started at once: the caller of run() may shut the worker down in its next line.
    const running = super.runWorker(worker, next);
    const work = workOf(worker.options.activities.values());
    const { runNextTo } = work ?? {};
    // Only once: the SDK calls a plugin as often as it is named.
    if (work) work.runNextTo = undefined;
    return runNextTo?.(worker, running) ?? running;
  }

  private encrypted<
    Options extends Pick<Partial<WorkerOptions>, 'dataConverter' | 'connection' | 'workflowBundle'>,
  >(options: Options): Options {
    if (!this.#given.encryption) return options;
    return encryptedWorker(options, { ring: this.readRing(), connection: options.connection });
  }

  private readRing(): EncryptionKeyRing {
    const ring = readEncryptionKeys(this.#given.env);
    if (ring) return ring;
    throw new ConfigError(
      'The plugin has encryption: true, but there are no keys: set VIDEOGEN_ENCRYPTION_KEYS, or leave encryption out.',
    );
  }

  private nexusService(): ServiceHandler {
    const { requestFields } = readSetting('VIDEOGEN_PROFILE', this.#given.env) ?? {};
    const services =
      servicesForClients(this.#given) ?? readSetting('VIDEOGEN_SERVICES_FILE', this.#given.env);
    return createVideoNexusHandler({ requestFields, ...(services && { services }) });
  }
}

/** Temporal's packages must all have one version: with two, `instanceof` fails between them. */
function checkSdkVersions(): void {
  if (new Set(Object.values(SDK_VERSIONS)).size === 1) return;
  const found = Object.entries(SDK_VERSIONS).map(([name, version]) => `@temporalio/${name} ${version}`);
  throw new ConfigError(
    `Temporal's packages have different versions, ${found.join(', ')}: install one of them.`,
  );
}

/** Two copies of one version are as bad as two versions. Only an object that the host passes shows its copy. */
function checkWorkerCopy(given: unknown): void {
  if (given === undefined || given instanceof NativeConnection || given instanceof Worker) return;
  throw new ConfigError(
    'Two copies of @temporalio/worker are installed, one for your worker and one for temporal-videogen: run `npm ls @temporalio/worker` and dedupe.',
  );
}

/** Refuses a host's activity with the name of one of ours: the SDK would silently replace it. */
function checkActivityNames(ofHost: object = {}, { activities }: VideoWork): void {
  const taken = Object.keys(ofHost).find((name) => Object.hasOwn(activities, name));
  if (taken === undefined) return;
  throw new ConfigError(
    `Your worker and temporal-videogen both have the activity ${taken}: rename or remove your own.`,
  );
}

/**
 * The ledger of the caps moves on with each version of a worker, which the server refuses from a worker that has a version and
 * does not use it: no job would ever be submitted.
 */
function refuseUnversionedCaps(
  { caps, env }: VideoWorkOptions,
  deployment: WorkerOptions['workerDeploymentOptions'],
): void {
  const hasCaps = Object.keys(caps ?? readSetting('VIDEOGEN_CAPS', env)).length > 0;
  if (!hasCaps || deployment === undefined || deployment.useWorkerVersioning) return;
  throw new ConfigError(
    'Caps do not work with workerDeploymentOptions: { useWorkerVersioning: false }: leave these options out, or use versioning.',
  );
}

/**
 * Creates the handler of the Nexus service, for the `nexusServices` of a worker that runs jobs. Needs the optional packages
 * `@temporalio/nexus` and `nexus-rpc`, which it loads only here.
 *
 * @example
 * ```ts
 * const worker = await createVideoWorker({ worker: { nexusServices: [createVideoNexusHandler()] } });
 * ```
 */
export function createVideoNexusHandler(options?: VideoNexusOptions): ServiceHandler {
  let handler: typeof import('./nexus-handler');
  try {
    handler = require('./nexus-handler');
  } catch (error) {
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error;
    throw new ConfigError(
      "Temporal's packages for Nexus are not installed: run `npm install @temporalio/nexus nexus-rpc`.",
      { cause: error },
    );
  }
  return handler.createHandler(options);
}
