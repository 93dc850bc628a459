import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import type { VideoClient } from '../client/video-client';
import { ConfigError, usesEmulator } from '../config/service-config';
import { readSetting } from '../config/settings';
import { readTemporalAddress } from '../config/temporal-config';
import { inShell, shown } from '../contract/clean-text';
import { describeDuration } from '../contract/duration';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { commandOn } from '../contract/lost-submit';
import { closingOnError } from './closers';
import { NoSuchJob } from './find-job';
import { databaseOf, openLocalServer } from './local-server';
import { openLocalStack } from './local-stack';
import { EMULATED_JOB_MS } from './stack-note';
import { EXIT, printLine, type Terminal } from './terminal';

/** A Temporal server, for one command. */
interface OpenedServer {
  client: Client;
  /** Address of the Temporal UI, if it is known. */
  uiUrl?: string | undefined;
  /** The task queue of this machine's own worker, if one runs. Its namespace has the search attributes of jobs. */
  taskQueue?: string;
  /** Whether the Temporal UI ends with this command. */
  ownsUi?: boolean;
  /** Settles when another process that ran Temporal has ended. */
  ended?: Promise<void> | undefined;
  close(): Promise<unknown>;
}

/** The jobs of a Temporal server, for one command. */
export interface JobsSession extends OpenedServer {
  videos: VideoClient;
  /** Aborted by Ctrl-C, or when another process that ran Temporal has ended. It also aborts every call to Temporal. */
  signal: AbortSignal;
  /** Whether Ctrl-C was pressed. */
  isInterrupted(): boolean;
  /** Names the task queue on which a job waits although no worker polls it; undefined if there is none. */
  describeMissingWorker(workflowId: string): Promise<string | undefined>;
}

/** These load Temporal's SDK, which takes long. */
const load = {
  videos: (): typeof import('../client/video-client') => require('../client/video-client'),
  findTemporal: (): typeof import('./find-temporal') => require('./find-temporal'),
  missingWorker: (): typeof import('./missing-worker') => require('./missing-worker'),
};

type RunJobs = (session: JobsSession) => Promise<number>;

interface JobsWork {
  /** Runs a worker for this machine's own server: what is watched should continue. */
  withWorker?: boolean | undefined;
  /** What it may start. That is not given up half-way: Ctrl-C aborts `signal`, but no call to Temporal. */
  starts?: 'the job' | 'the batch';
  /** Whether what it starts may use the emulator. An existing job has its own service. */
  isNew?: boolean;
  run: RunJobs;
  /** The exit code if this machine has had no jobs yet. */
  withoutJobs?(): number;
}

/** Runs a command about one job by its name. */
export async function onJob(
  workflowId: string,
  terminal: Terminal,
  run: RunJobs,
  { withWorker }: Pick<JobsWork, 'withWorker'> = {},
): Promise<number> {
  if (!isWorkflowId(workflowId)) throw new ConfigError(`The name of a job ${WORKFLOW_ID_RULE}.`);
  const withoutJobs = () => {
    throw new NoSuchJob(workflowId);
  };
  return withJobs(terminal, { withWorker, run, withoutJobs });
}

/**
 * Runs a command about jobs: on the configured server, or on this machine's own. It runs again if another process that ran
 * Temporal ends meanwhile: jobs are stored and continue with the next server.
 */
export async function withJobs(terminal: Terminal, work: JobsWork): Promise<number> {
  const { env } = terminal;
  for (;;) {
    const opened = await openServer(terminal, work);
    if (opened === undefined) return work.withoutJobs?.() ?? EXIT.ok;
    const [interrupted, ended] = [new AbortController(), new AbortController()];
    const signal = AbortSignal.any([interrupted.signal, ended.signal]);
    const aborting = work.starts ? ended.signal : signal;
    // Each call to Temporal leaves a listener.
    setMaxListeners(0, aborting);
    const stopListening = terminal.onInterrupt(() => interrupted.abort());
    void opened.ended?.then(() => ended.abort());
    const { client, taskQueue } = opened;
    try {
      if (work.starts && signal.aborted) {
        // Starting Temporal takes seconds. A Ctrl-C meanwhile stops the job before anything is paid for.
        printLine(terminal, `Stopped before ${work.starts} was started.`);
        return EXIT.interrupted;
      }
      const videos = await load.videos().createVideoClient({
        env,
        client,
        log: () => undefined,
        ...(taskQueue !== undefined && { taskQueue }),
        searchAttributes: readSetting('VIDEOGEN_SEARCH_ATTRIBUTES', env) ?? taskQueue !== undefined,
      });
      const describeMissingWorker = (name: string) => missingWorkerOf(opened, name, env);
      const isInterrupted = () => interrupted.signal.aborted && !ended.signal.aborted;
      const session = { ...opened, videos, signal, isInterrupted, describeMissingWorker };
      const code = await client.withAbortSignal(aborting, () => work.run(session));
      // One that ended by itself has printed its result.
      if (!ended.signal.aborted || code !== EXIT.interrupted) return code;
    } catch (error) {
      if (!aborting.aborted) throw error;
      if (!ended.signal.aborted) return EXIT.interrupted;
    } finally {
      stopListening();
      ended.abort();
      await opened.close();
    }
    printLine(terminal, 'The process that ran Temporal has ended. Continuing without it.');
  }
}

/** The page of a workflow, if the address of the UI is known. Without a run, so that it leads to the last one. */
export function pageOf({ uiUrl, client }: JobsSession, workflowId: string): string | undefined {
  if (uiUrl === undefined) return undefined;
  const { namespace } = client.options;
  return `${uiUrl.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}

/** The command that opens the Temporal UI for a data folder. */
export function devCommand(dataFolder: string | undefined): string {
  return dataFolder ? `VIDEOGEN_DATA=${inShell(resolve(dataFolder))} videogen dev` : 'videogen dev';
}

async function missingWorkerOf(
  { client, taskQueue }: OpenedServer,
  workflowId: string,
  env: Terminal['env'],
): Promise<string | undefined> {
  const missing = await load.missingWorker().describeMissingWorker(client, workflowId, env);
  if (missing === undefined || readTemporalAddress(env) !== undefined) return missing;
  // The command that joined the job has said which settings its worker needs.
  if (taskQueue !== undefined) return undefined;
  return `No worker for ${shown(workflowId)} runs on this machine. ${howToContinue(workflowId, env)}`;
}

/** For a job on the server of this machine, which runs only as long as a command does. */
export function howToContinue(workflowId: string, env: Terminal['env']): string {
  return `To continue it, run: ${commandOn('watch', workflowId)}, or: ${devCommand(env.VIDEOGEN_DATA)}`;
}

async function openServer(
  terminal: Terminal,
  { withWorker, starts, isNew }: JobsWork,
): Promise<OpenedServer | undefined> {
  const { env } = terminal;
  if (readTemporalAddress(env) !== undefined) return openNamedServer(env, starts !== undefined);
  if (isNew && usesEmulator(env)) {
    const takes = describeDuration(EMULATED_JOB_MS);
    printLine(
      terminal,
      `Using the emulated video service, whose videos take ${takes}; set VIDEO_API_BASE_URL and VIDEO_API_KEY to use a real one.`,
    );
  }
  if (withWorker) {
    const stack = await openLocalStack(terminal);
    if (isNew && stack.isServedThere)
      printLine(
        terminal,
        `The worker of process ${stack.note.pid} makes it, with the settings of that process.`,
      );
    return { ...stack, uiUrl: stack.note.uiUrl, ownsUi: stack.ended === undefined };
  }
  // A command that only looks starts no worker: it must not have a waiting job submitted.
  if (!existsSync(databaseOf(env))) return undefined;
  return closingOnError(async (closers) => {
    const { client, joined } = await openLocalServer(terminal, closers, { headless: true });
    closers.add(() => client.connection.close());
    return { client, uiUrl: joined?.uiUrl, close: () => closers.close() };
  });
}

function openNamedServer(env: Terminal['env'], isStarting: boolean): Promise<OpenedServer> {
  return closingOnError(async (closers) => {
    const { client, address } = await load.findTemporal().findNamedServer(env, closers);
    // The SDK may be repeating a query of the progress, and an error that cannot be caught would follow.
    const close = async () => (isStarting ? undefined : closers.close());
    return { client, uiUrl: uiOf(address, env), close };
  });
}

/** Temporal Cloud has one UI for all namespaces. Where another server has its UI, only a setting can say. */
function uiOf(address: string, env: Terminal['env']): string | undefined {
  const isCloud = /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address);
  return readSetting('VIDEOGEN_TEMPORAL_UI_URL', env) ?? (isCloud ? 'https://cloud.temporal.io' : undefined);
}
