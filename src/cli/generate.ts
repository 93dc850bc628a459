import { randomUUID } from 'node:crypto';
import type { VideoClient } from '../client/video-client';
import type { VideoJob } from '../client/video-job';
import { namesAService, readProfile } from '../config/service-config';
import { type JobInput, printableJson, shown, VideoFailure } from '../contract';
import { jobCommand } from './commands';
import { checkOut, copyOut } from './copy-out';
import { EXIT, reportError } from './exit-codes';
import { STORAGE_MEMO, storageWish, tellOfJoined } from './joined-job';
import { type Place, tellOfUi, whereIs } from './open-temporal';
import type { GenerateOptions } from './options';
import { readJobInput } from './read-job-input';
import { showProgress } from './show-progress';
import { storedLines } from './stored-lines';
import { type Terminal, tell } from './terminal';
import { orEnded, whileShown, withTemporal } from './with-temporal';

/** `videogen generate`: one job from the request to the file, or as far as the caller wants to wait. */
export async function generate(
  prompt: string | undefined,
  options: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  try {
    const workflowId = options.id ?? `video-${randomUUID()}`;
    const order: Order = {
      workflowId,
      input: readJobInput(
        prompt,
        options,
        !namesAService(terminal.env),
        readProfile(terminal.env)?.requestFields,
      ),
      options,
    };
    if (options.wait) await checkOut(options.out);
    return await withTemporal(terminal, {
      what: 'the job',
      isNew: order.input !== undefined,
      run: (place) => runJob(place, order, terminal),
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
}

interface Order {
  workflowId: string;
  /** Undefined when a job is only to be followed. */
  input: JobInput | undefined;
  options: GenerateOptions;
}

async function runJob(place: Place, order: Order, terminal: Terminal): Promise<number | 'temporal-ended'> {
  const { videos } = place;
  const { workflowId, input, options } = order;
  const wish = input && storageWish(place, options.storage);
  const temporal = { memo: { [STORAGE_MEMO]: wish } };
  const starting = input ? videos.start(input, { workflowId, temporal }) : existing(videos, workflowId);
  const job = await orEnded(place, starting);
  if (job === 'temporal-ended') return job;
  const there = await orEnded(place, place.describe(workflowId));
  if (there === 'temporal-ended') return there;
  if (options.id !== undefined) await tellOfJoined(there, place, { terminal, wish });
  tell(terminal, `Job ${shown(workflowId)}${whereIs(there, place)}`);
  if (!options.wait) {
    tellOfUi(place, terminal);
    tell(terminal, `It goes on wherever a worker runs. Follow it with: ${jobCommand(workflowId)}`);
    terminal.out(options.json ? printableJson({ workflowId }) : shown(workflowId));
    return EXIT.ok;
  }
  const result = await whileShown(showProgress(job, terminal), job.result(), { place, terminal });
  if (result === 'temporal-ended') return result;
  if (result === 'interrupted') {
    tell(terminal, `Left the job, which is kept. Pick it up again with: ${jobCommand(workflowId)}`);
    return EXIT.interrupted;
  }
  const file = await copyOut(result.video.uri, options.out, terminal.env);
  const copiedTo = options.out === undefined ? undefined : file;
  for (const line of storedLines(result, copiedTo)) tell(terminal, line);
  terminal.out(options.json ? printableJson({ workflowId, ...result, copiedTo }) : file);
  return EXIT.ok;
}

async function existing(videos: VideoClient, workflowId: string): Promise<VideoJob> {
  const job = videos.handle(workflowId);
  if (await job.exists()) return job;
  const message = `there is no job ${shown(workflowId)} yet, and no prompt to start it with`;
  throw new VideoFailure('InvalidRequest', { message });
}
