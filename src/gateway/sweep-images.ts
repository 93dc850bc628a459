import type { Client } from '@temporalio/client';
import type { FastifyInstance } from 'fastify';
import { isCaller } from '../contract/input-rules';
import { canRemove, type VideoStorage } from '../storage';
import { IMAGE_FOLDER, imageAt, imageKey, parseImageReference } from '../storage/images';
import type { VideoLogger } from '../worker/logger';
import { jobsOfCaller } from './task-names';
import { withDeadline } from './temporal-deadline';
import { askedIn } from './video-object';

const SWEEP_EVERY_MS = 3_600_000;
/** Time to upload an image and to start the jobs that use it. */
const KEPT_FOR_MS = 24 * 3_600_000;
/** A key may have thousands of jobs. */
const LIST_WITHIN_MS = 60_000;

interface SweepTools {
  client: Client;
  storage: VideoStorage;
  logger: VideoLogger;
}

/** Removes old images while the gateway listens. */
export function sweepImagesHourly(app: FastifyInstance, tools: SweepTools): void {
  const sweep = () =>
    sweepImages(tools).catch((error: unknown) => tools.logger.event('imagesNotSwept', { error }));
  let timer: NodeJS.Timeout | undefined;
  app.addHook('onListen', async () => {
    timer = setInterval(sweep, SWEEP_EVERY_MS).unref();
  });
  app.addHook('preClose', async () => clearInterval(timer));
}

/** Removes the images of keys that are a day old and of no job that runs. */
export async function sweepImages(
  { client, storage }: Pick<SweepTools, 'client' | 'storage'>,
  nowMs = Date.now(),
): Promise<void> {
  if (!canRemove(storage)) return;
  const oldOf = new Map<string, string[]>();
  for await (const { key, storedAt } of storage.list(IMAGE_FOLDER)) {
    const owner = imageAt(key)?.owner;
    // Those of the command line and of the AI SDK belong to no key.
    if (!isCaller(owner) || nowMs - storedAt.getTime() < KEPT_FOR_MS) continue;
    oldOf.set(owner, [...(oldOf.get(owner) ?? []), key]);
  }
  for (const [owner, keys] of oldOf) {
    const used = await withDeadline(client, () => imagesInUse(client, owner), LIST_WITHIN_MS);
    for (const key of keys) if (!used.has(key)) await storage.removeKey(key);
  }
}

/** The keys in the storage of what running jobs were started from. A job that waits for a decision may submit again. */
async function imagesInUse(client: Client, owner: string): Promise<Set<string>> {
  const used = new Set<string>();
  const query = `${jobsOfCaller(owner)} AND ExecutionStatus = 'Running'`;
  for await (const run of client.workflow.list({ query })) {
    const reference = parseImageReference(askedIn(run).image ?? '');
    if (reference) used.add(imageKey(reference));
  }
  return used;
}
