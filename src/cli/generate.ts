import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { readStorageConfig } from '../config/storage-config';
import { printableJson, shown } from '../contract/clean-text';
import { firstLineOf } from '../contract/error-code';
import type { JobInput } from '../contract/job';
import { BadImage, type CheckedImage, checkImage, createStorage, storeImage, tooLarge } from '../storage';
import { COMMAND_LINE_OWNER, LARGEST_IMAGE_BYTES } from '../storage/images';
import { useModels } from './ai-sdk-models';
import { checkOut, copyOut } from './copy-out';
import { findJob, refuseBatch } from './find-job';
import { followStarted } from './follow-jobs';
import { storedLines } from './job-lines';
import { type JobsSession, withJobs } from './open-jobs';
import { type GenerateOptions, readJobInput, refused } from './read-input';
import { EXIT, printLine, type Terminal } from './terminal';

/** `videogen generate`: starts or follows one job, and waits for its video unless `--no-wait` is given. */
export async function generate(
  prompt: string | undefined,
  given: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  const workflowId = given.id ?? `video-${randomUUID()}`;
  const image = await readImageFile(given);
  const service = await useModels(given.service, terminal);
  const options = { ...given, service, ...(image && { imageUrl: image.url }) };
  const input = readJobInput(prompt, options, terminal.env);
  if (options.wait) await checkOut(options.out);
  // Its worker finds the image in the storage.
  if (image) await storeImage(createStorage(readStorageConfig(terminal.env)), image);
  return await withJobs(terminal, {
    withWorker: true,
    starts: 'the job',
    isNew: input !== undefined,
    run: (session) => runJob(session, workflowId, input, options, terminal),
  });
}

/** Without an input it follows an existing job. */
async function runJob(
  session: JobsSession,
  workflowId: string,
  input: JobInput | undefined,
  options: GenerateOptions,
  terminal: Terminal,
): Promise<number> {
  const { videos } = session;
  if (input === undefined) refuseBatch(await findJob(session, workflowId));
  const job = input ? await videos.start(input, { workflowId }) : videos.handle(workflowId);
  const title = `Job ${shown(workflowId)}`;
  const result = await followStarted(session, job, title, options, terminal);
  if (typeof result === 'number') return result;
  const { uri, sha256 } = result.video;
  const file = await copyOut(uri, options.out, terminal.env, sha256);
  const copiedTo = options.out === undefined ? undefined : file;
  for (const line of storedLines(result, copiedTo)) printLine(terminal, line);
  terminal.out(options.json ? printableJson({ workflowId, ...result, copiedTo }) : file);
  return EXIT.ok;
}

/** The image of `--image`, checked before anything is started; undefined without the option. */
export async function readImageFile({
  image: file,
  imageUrl,
}: Pick<GenerateOptions, 'image' | 'imageUrl'>): Promise<CheckedImage | undefined> {
  if (file === undefined) return undefined;
  if (imageUrl !== undefined) throw refused('give either --image or --image-url, not both');
  try {
    const found = await stat(file);
    // A device may never end, and opening a FIFO waits for a writer.
    if (!found.isFile()) throw new BadImage('not-an-image', 'is not a file');
    if (found.size > LARGEST_IMAGE_BYTES) throw tooLarge();
    return checkImage(await readFile(file), COMMAND_LINE_OWNER);
  } catch (error) {
    const problem = error instanceof BadImage ? error.message : `cannot be read: ${firstLineOf(error)}`;
    throw refused(`${shown(file)} ${problem}`);
  }
}
