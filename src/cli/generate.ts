import { randomUUID } from 'node:crypto';
import { createVideoClient, type VideoClient, type VideoJob } from '../client';
import { namesAService, readTaskQueue, readTemporalAddress } from '../config';
import { connectClient, isConnectionLost } from '../connect';
import { type JobInput, type JobResult, VideoFailure } from '../contract';
import { copyOut } from './copy-out';
import { EXIT, errorObject, exitCodeOf } from './exit-codes';
import { openLocalStack } from './local-stack';
import { quietRuntime } from './quiet-runtime';
import { readJobInput } from './read-job-input';
import type { GenerateOptions } from './run';
import { showProgress } from './show-progress';
import type { Terminal } from './terminal';

/** `videogen generate`: one job from the request to the file, or as far as the caller wants to wait. */
export async function generate(
  prompt: string | undefined,
  options: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  const tell = (line: string) => terminal.err(`${line}\n`);
  try {
    const input = readJobInput(prompt, options, !namesAService(terminal.env));
    quietRuntime();
    const workflowId = options.id ?? `video-${randomUUID()}`;
    for (;;) {
      const place = await openTemporal(terminal, tell);
      try {
        return await runJob(place, { workflowId, input }, options, terminal);
      } catch (error) {
        if (!place.isBorrowed || !isConnectionLost(error)) throw error;
        // The job is in the database of the server that ended, and goes on with the next one.
        tell('The process that ran Temporal has ended: going on without it.');
      } finally {
        await place.close();
      }
    }
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error));
    if (options.json) terminal.out(JSON.stringify(errorObject(error)));
    return exitCodeOf(error);
  }
}

/** Temporal as the environment names it, or a stack on this machine. */
interface Place {
  videos: VideoClient;
  uiUrl?: string;
  /** Whether Temporal ends when another process of this machine does. */
  isBorrowed: boolean;
  close(): Promise<void>;
}

async function openTemporal(terminal: Terminal, tell: (line: string) => void): Promise<Place> {
  const { env } = terminal;
  if (readTemporalAddress(env) !== undefined) {
    const client = await connectClient(env);
    const videos = await createVideoClient({ client, taskQueue: readTaskQueue(env) });
    return { videos, isBorrowed: false, close: () => client.connection.close() };
  }
  if (!namesAService(env)) {
    tell('Using the emulated video service; set VIDEO_API_BASE_URL and VIDEO_API_KEY to use a real one.');
  }
  const { client, taskQueue, uiUrl, runBy, close } = await openLocalStack({ env, tell });
  const videos = await createVideoClient({ client, taskQueue });
  return { videos, uiUrl, isBorrowed: runBy !== undefined, close };
}

async function runJob(
  { videos, uiUrl }: Place,
  { workflowId, input }: { workflowId: string; input: JobInput | undefined },
  options: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  const tell = (line: string) => terminal.err(`${line}\n`);
  const job = input ? await videos.start(input, { workflowId }) : await existing(videos, workflowId);
  tell(
    `Job ${workflowId}${uiUrl ? `, shown at ${uiUrl}/namespaces/default/workflows/${encodeURIComponent(workflowId)}` : ''}`,
  );
  if (!options.wait) {
    tell(`It goes on wherever a worker runs. Follow it with: videogen generate --id ${workflowId}`);
    terminal.out(options.json ? JSON.stringify({ workflowId }) : workflowId);
    return EXIT.ok;
  }
  const result = await untilDoneOrInterrupted(job, terminal);
  if (result === 'interrupted') {
    tell(`Left the job, which is kept. Pick it up again with: videogen generate --id ${workflowId}`);
    return EXIT.interrupted;
  }
  const file = await copyOut(result.video.uri, options.out);
  const { bytes, sha256 } = result.video;
  tell(`Stored ${bytes} bytes, SHA-256 ${sha256}, for task ${result.taskId} after ${result.polls} looks.`);
  terminal.out(options.json ? JSON.stringify({ workflowId, ...result }) : file);
  return EXIT.ok;
}

async function existing(videos: VideoClient, workflowId: string): Promise<VideoJob> {
  const job = videos.handle(workflowId);
  if (await job.exists()) return job;
  throw new VideoFailure('InvalidRequest', {
    message: `there is no job ${workflowId} yet, and no prompt to start it with`,
  });
}

async function untilDoneOrInterrupted(job: VideoJob, terminal: Terminal): Promise<JobResult | 'interrupted'> {
  const progress = showProgress(job, terminal);
  let stopListening: () => unknown = () => undefined;
  const interrupted = new Promise<'interrupted'>((resolve) => {
    stopListening = terminal.onInterrupt(() => resolve('interrupted'));
  });
  try {
    return await Promise.race([job.result(), interrupted]);
  } finally {
    stopListening();
    progress.stop();
  }
}
