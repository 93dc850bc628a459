import { createVideoClient, type VideoClient } from '../client';
import { namesAService, readTaskQueue, readTemporalAddress } from '../config';
import { connectClient } from '../connect';
import { openLocalStack } from './local-stack';
import { type Terminal, tell } from './terminal';

/** Temporal as the environment names it, or a stack on this machine. */
export interface Place {
  videos: VideoClient;
  uiUrl?: string;
  /** Settles when Temporal has ended with the process that ran it, which was not ours. */
  ended: Promise<void>;
  close(): Promise<void>;
}

const NEVER = new Promise<never>(() => undefined);

export async function openTemporal(terminal: Terminal): Promise<Place> {
  const { env } = terminal;
  if (readTemporalAddress(env) !== undefined) {
    const client = await connectClient(env);
    const videos = await createVideoClient({ env, client, taskQueue: readTaskQueue(env) });
    return { videos, ended: NEVER, close: async () => undefined };
  }
  if (!namesAService(env)) {
    tell(
      terminal,
      'Using the emulated video service; set VIDEO_API_BASE_URL and VIDEO_API_KEY to use a real one.',
    );
  }
  const { client, taskQueue, ...stack } = await openLocalStack({ env, tell: (line) => tell(terminal, line) });
  const videos = await createVideoClient({ env, client, taskQueue });
  return { videos, uiUrl: stack.uiUrl, ended: stack.ended ?? NEVER, close: stack.close };
}
