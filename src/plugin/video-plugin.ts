import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, ReplayWorkerOptions, Worker, WorkerOptions } from '@temporalio/worker';
import type { ServiceHandler } from 'nexus-rpc';
import { createVideoClient, type VideoClient, type VideoClientOptions } from '../client/video-client';
import { readEncryptionKeys } from '../config/encryption-config';
import { type MonitorAddress, monitorAddress } from '../config/monitor-config';
import {
  type Queues,
  queuesInInput,
  resolveQueues,
  resolveWorkerQueues,
  type WorkerQueues,
} from '../config/queues';
import { ConfigError, readProfile } from '../config/service-config';
import { readKnownServices } from '../config/services-config';
import { withEncryption } from '../encryption/data-converter';
import type { EncryptionKeyRing } from '../encryption/key-ring';
import { createVideoNexusHandler } from '../nexus/load-handler';
import { RateLimiter, RateLimiters, servicesForClients } from '../service';
import { withOwnDefaults } from '../worker/activity-workers';
import { encryptedWorker } from '../worker/encrypt-worker';
import { PLUGIN_NAME, withOwnWorkflows } from '../worker/own-workflows';
import { bundleQuietly } from '../worker/quiet-bundler';
import { checkSdkVersions, checkWorkerCopy } from '../worker/sdk-versions';
import {
  hasPreparedWork,
  prepareWork,
  refuseUnversionedCaps,
  type VideoWorkOptions,
} from '../worker/video-work';
import { bundleBesideHost, checkHostBundle } from './bundle';
import {
  checkActivityNames,
  optionsForWorkersBeside,
  rememberWork,
  runHosted,
  takeWork,
} from './hosted-work';

export type { VideoNexusOptions } from '../nexus/handler';
export { createVideoNexusHandler };

/** Options of VideoPlugin; the environment says the rest. */
export interface VideoPluginOptions extends VideoWorkOptions {
  /** Task queues of submits and downloads, each with a worker beside yours. Default: your worker's own task queue. */
  queues?: { submit?: string; download?: string };
  /** How many submits per second all workers of the submit queue together may start. Default: no limit. */
  submitsPerSecond?: number;
  /**
   * Where /metrics, /livez and /readyz are served while your worker runs; `false` for nowhere. Default:
   * `VIDEOGEN_MONITOR_PORT`. All workers of a process share one. What the SDK measures is in
   * it if you install a runtime with `prometheusMetrics`.
   */
  monitor?: MonitorAddress | false;
  /** Whether your worker serves the Nexus service VideoGeneration, for callers in other namespaces. */
  nexus?: boolean;
  /**
   * Whether clients and workers with this plugin encrypt, with the keys in `VIDEOGEN_ENCRYPTION_KEYS`. It is for everything
   * that they run, your own workflows included, and comes after the codecs of your own data converter. Default: false.
   */
  encryption?: boolean;
}

/** Options of the plugin's own createVideoClient. */
export interface HostClientOptions extends Omit<VideoClientOptions, 'submitQueue' | 'downloadQueue'> {
  /** The task queue of the worker that has the plugin. */
  taskQueue: string;
}

/**
 * Adds video generation to your own worker: our workflows and activities beside yours, on your task queue. It reads the
 * settings only when a worker is created, so a client or a connection may have the plugin without any.
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
  private readonly given: VideoPluginOptions;

  constructor(options: VideoPluginOptions = {}) {
    super({ name: PLUGIN_NAME });
    // All workers with this plugin call the same services, so they share their rate limiters.
    this.given = { rateLimiter: new RateLimiter(), rateLimiters: new RateLimiters(), ...options };
  }

  /** Creates a client that starts jobs on the queues of the workers with this plugin. */
  createVideoClient({ taskQueue, env = this.given.env, ...rest }: HostClientOptions): Promise<VideoClient> {
    const { submitQueue, downloadQueue } = resolveQueues(this.queuesOf(taskQueue), this.given.env);
    const services = servicesForClients(this.given);
    return createVideoClient({
      ...(services && { services }),
      ...rest,
      env,
      taskQueue,
      submitQueue,
      downloadQueue,
    });
  }

  override configureClient(options: Parameters<SimplePlugin['configureClient']>[0]) {
    const configured = super.configureClient(options);
    if (!this.given.encryption) return configured;
    const dataConverter = withEncryption(configured.dataConverter, { ring: this.readRing() });
    return { ...configured, dataConverter };
  }

  /** Leaves a worker alone that has our activities already: workers get the plugins of their connection too. */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    if (hasPreparedWork(options.activities)) return options;
    checkSdkVersions();
    checkWorkerCopy(options.connection);
    const queues = resolveWorkerQueues(this.queuesOf(options.taskQueue), this.given.env);
    if (options.workflowBundle) checkHostBundle(options.workflowBundle);
    refuseUnversionedCaps(this.given, options.workerDeploymentOptions);
    const work = prepareWork(this.given);
    checkActivityNames(options.activities, work);
    const { env, monitor } = this.given;
    const host = this.encrypted(optionsForWorkersBeside(options, this));
    rememberWork({ work, queues, host, env, monitor: monitorAddress(monitor, env) });
    // A plugin for this one worker: what it adds depends on the worker's task queue.
    const added = new SimplePlugin({
      name: this.name,
      activities: work.activities,
      ...(this.given.nexus && { nexusServices: [this.nexusService(queues)] }),
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
    return super.configureBundler(bundleQuietly(bundleBesideHost({ failureConverterPath, ...options })));
  }

  override runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    checkWorkerCopy(worker);
    // Started at once: the caller of run() may shut the worker down in its next line.
    const running = super.runWorker(worker, next);
    const hosted = takeWork(worker);
    return hosted ? runHosted(hosted, worker, running) : running;
  }

  private encrypted<
    Options extends Pick<Partial<WorkerOptions>, 'dataConverter' | 'connection' | 'workflowBundle'>,
  >(options: Options): Options {
    if (!this.given.encryption) return options;
    return encryptedWorker(options, { ring: this.readRing(), connection: options.connection });
  }

  private readRing(): EncryptionKeyRing {
    const ring = readEncryptionKeys(this.given.env);
    if (ring) return ring;
    throw new ConfigError(
      'The plugin is to encrypt, and there are no keys: set VIDEOGEN_ENCRYPTION_KEYS, or leave encryption out.',
    );
  }

  private nexusService(queues: Queues): ServiceHandler {
    const { requestFields } = readProfile(this.given.env) ?? {};
    const services = servicesForClients(this.given) ?? readKnownServices(this.given.env);
    return createVideoNexusHandler({
      queues: queuesInInput(queues),
      requestFields,
      ...(services && { services }),
    });
  }

  /** Unlike our own worker, a host's worker does submits on its task queue unless they are given one. */
  private queuesOf(taskQueue: string): Partial<WorkerQueues> & { taskQueue: string } {
    const { queues, submitsPerSecond } = this.given;
    return {
      taskQueue,
      submitQueue: queues?.submit ?? taskQueue,
      downloadQueue: queues?.download,
      submitsPerSecond,
    };
  }
}
