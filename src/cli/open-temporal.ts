import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { VideoClient } from '../client/video-client';
import type { Environment } from '../config/service-config';
import { usesEmulator } from '../config/services-config';
import { readSearchAttributes, readTemporalAddress } from '../config/temporal-config';
import { shown } from '../contract/clean-text';
import { describeDuration } from '../contract/duration';
import { devCommand } from './commands';
import { EMULATED_JOB_MS } from './emulated-job';
import { openLocalStack } from './local-stack';
import { printLine, redrawOn, type Terminal } from './terminal';

/** Access to the configured Temporal server, or to a local stack, for one command. */
export interface TemporalSession {
  videos: VideoClient;
  /** The local stack's queue for the configured service and storage. */
  taskQueue?: string;
  /** Address of the local stack's storage. */
  storage?: string;
  /** Starts a worker for a job's other storage, if the environment can reach it. Returns whether it did. */
  startWorkerFor?(storage: string, queue: string): Promise<boolean>;
  /** The names of the newest jobs and batches. */
  recentNames(most: number): Promise<string[]>;
  /** Describes the workflow of a job or a batch. */
  describe(workflowId: string): Promise<WorkflowExecutionDescription>;
  /** Names the task queue on which a job or batch waits although no worker polls it; undefined if there is none. */
  describeMissingWorker(workflowId: string): Promise<string | undefined>;
  uiUrl?: string;
  /** The command that opens the UI again, if the UI ends with this command. */
  uiCommand?: string;
  /** Settles when another process that ran Temporal has ended. */
  ended: Promise<void>;
  close(): Promise<void>;
}

/** These load Temporal's SDK, which takes long. A local server is started first. */
const load = {
  client: (): typeof import('../client/video-client') => require('../client/video-client'),
  listJobs: (): typeof import('../client/list-jobs') => require('../client/list-jobs'),
  connect: (): typeof import('../client/connect') => require('../client/connect'),
  missingWorker: (): typeof import('./missing-worker') => require('./missing-worker'),
};

const NEVER = new Promise<never>(() => undefined);

/** With `forNewJob`, says if the emulator is used. An existing job has its own service. */
export async function openTemporal(
  terminal: Terminal,
  { forNewJob }: { forNewJob: boolean },
): Promise<TemporalSession> {
  const { env } = terminal;
  if (readTemporalAddress(env) !== undefined) {
    const client = await load.connect().connectClient(env);
    const videos = await load.client().createVideoClient({ env, client, log: () => undefined });
    return { videos, ...queriesOf(client, env), ended: NEVER, close: async () => undefined };
  }
  if (forNewJob && usesEmulator(env)) {
    printLine(
      terminal,
      `Using the emulated video service, whose videos take ${describeDuration(EMULATED_JOB_MS)}; set VIDEO_API_BASE_URL and VIDEO_API_KEY to use a real one.`,
    );
  }
  const { client, taskQueue, searchable, ...stack } = await openLocalStack({
    env,
    terminal,
    printLine: (line) => printLine(terminal, line),
    redraw: redrawOn(terminal),
  });
  const videos = await load.client().createVideoClient({
    env,
    client,
    taskQueue,
    log: () => undefined,
    searchAttributes: readSearchAttributes(env) ?? searchable,
  });
  const { uiUrl, storage, runBy, startWorkerFor, ended = NEVER, close } = stack;
  const uiCommand = uiUrl !== undefined && runBy === undefined ? devCommand(env.VIDEOGEN_DATA) : undefined;
  return {
    videos,
    taskQueue,
    storage,
    uiUrl,
    uiCommand,
    startWorkerFor,
    ...queriesOf(client, env),
    ended,
    close,
  };
}

function queriesOf(
  client: Client,
  env: Environment,
): Pick<TemporalSession, 'recentNames' | 'describe' | 'describeMissingWorker'> {
  return {
    recentNames: (most) => load.listJobs().recentNames(client, most),
    describe: (workflowId) => client.workflow.getHandle(workflowId).describe(),
    describeMissingWorker: (workflowId) =>
      load.missingWorker().describeMissingWorker(client, workflowId, env),
  };
}

/** The task queue of a job or a batch, and the link to its page if there is a UI. */
export function queueAndLink(
  { workflowId, taskQueue }: Pick<WorkflowExecutionDescription, 'workflowId' | 'taskQueue'>,
  { uiUrl }: Pick<TemporalSession, 'uiUrl'>,
): string {
  const queue = ` on task queue ${shown(taskQueue)}`;
  if (uiUrl === undefined) return queue;
  return `${queue}, shown at ${uiUrl}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`;
}

/** The printed links stop working when the command's own server ends. */
export function printUiCommand({ uiCommand }: Pick<TemporalSession, 'uiCommand'>, terminal: Terminal): void {
  if (uiCommand === undefined) return;
  printLine(terminal, `This Temporal UI ends with the command; to open it again, run: ${uiCommand}`);
}
