import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { VideoClient } from '../client/video-client';
import { namesAService } from '../config/service-config';
import { readSearchAttributes, readTemporalAddress } from '../config/temporal-config';
import { describeDuration, shown } from '../contract';
import { devCommand } from './commands';
import { EMULATED_JOB_MS } from './emulated-job';
import { openLocalStack } from './local-stack';
import { redrawOn, type Terminal, tell } from './terminal';

/** Temporal as the environment names it, or a stack on this machine. */
export interface Place {
  videos: VideoClient;
  /** The queue that the stack of this machine works on for the service and the storage of the environment. */
  taskQueue?: string;
  /** Address of that storage. */
  storage?: string;
  /** Works here on the queue of another storage as well, if the environment can reach that one. */
  workFor?(storage: string, queue: string): Promise<boolean>;
  /** A job or a batch as Temporal knows it. */
  describe(workflowId: string): Promise<WorkflowExecutionDescription>;
  uiUrl?: string;
  /** Shows the UI again, when it ends with this command. */
  uiAgain?: string;
  /** Settles when Temporal has ended with the process that ran it, which was not ours. */
  ended: Promise<void>;
  close(): Promise<void>;
}

/** Both load Temporal's SDK; a server of this machine is started before that. */
const load = {
  client: (): typeof import('../client/video-client') => require('../client/video-client'),
  connect: (): typeof import('../client/connect') => require('../client/connect'),
};

const NEVER = new Promise<never>(() => undefined);

/** `forNewJob` tells which service a job would be for; one that exists has its own. */
export async function openTemporal(
  terminal: Terminal,
  { forNewJob }: { forNewJob: boolean },
): Promise<Place> {
  const { env } = terminal;
  if (readTemporalAddress(env) !== undefined) {
    const client = await load.connect().connectClient(env);
    const videos = await load.client().createVideoClient({ env, client });
    return { videos, describe: describedBy(client), ended: NEVER, close: async () => undefined };
  }
  if (forNewJob && !namesAService(env)) {
    tell(
      terminal,
      `Using the emulated video service, whose videos take ${describeDuration(EMULATED_JOB_MS)}; set VIDEO_API_BASE_URL and VIDEO_API_KEY to use a real one.`,
    );
  }
  const { client, taskQueue, searchable, ...stack } = await openLocalStack({
    env,
    terminal,
    tell: (line) => tell(terminal, line),
    redraw: redrawOn(terminal),
  });
  // The stack of this machine does downloads where it does the rest, whatever queue the settings name for them.
  const videos = await load.client().createVideoClient({
    env,
    client,
    taskQueue,
    downloadQueue: taskQueue,
    searchAttributes: readSearchAttributes(env) ?? searchable,
  });
  const { uiUrl, storage, runBy, workFor, ended = NEVER, close } = stack;
  const uiAgain = uiUrl !== undefined && runBy === undefined ? devCommand(env.VIDEOGEN_DATA) : undefined;
  return { videos, taskQueue, storage, uiUrl, uiAgain, workFor, describe: describedBy(client), ended, close };
}

function describedBy(client: Client): Place['describe'] {
  return (workflowId) => client.workflow.getHandle(workflowId).describe();
}

/** Where a job or a batch waits for a worker, and its page where there is a UI. */
export function whereIs(
  { workflowId, taskQueue }: Pick<WorkflowExecutionDescription, 'workflowId' | 'taskQueue'>,
  { uiUrl }: Pick<Place, 'uiUrl'>,
): string {
  const queue = ` on task queue ${shown(taskQueue)}`;
  if (uiUrl === undefined) return queue;
  return `${queue}, shown at ${uiUrl}/namespaces/default/workflows/${encodeURIComponent(workflowId)}`;
}

/** The link that a command printed is dead when its own server has ended. */
export function tellOfUi({ uiAgain }: Pick<Place, 'uiAgain'>, terminal: Terminal): void {
  if (uiAgain === undefined) return;
  tell(terminal, `This Temporal UI ends with the command; to open it again, run: ${uiAgain}`);
}
