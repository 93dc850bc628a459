import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Environment } from '../config/service-config';
import { readStorageConfig } from '../config/storage-config';
import { shown } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import { VideoFailure } from '../contract/video-failure';
import {
  BadImage,
  type CheckedImage,
  checkImage,
  createStorage,
  StorageFault,
  StorageUnusable,
  storeImage,
  tooLarge,
} from '../storage';
import { COMMAND_LINE_OWNER, LARGEST_IMAGE_BYTES } from '../storage/images';
import type { GenerateOptions } from './read-job-input';

/** The image of `--image`, checked before anything is started; undefined without the option. */
export async function readImageFile({
  image: file,
  imageUrl,
}: Pick<GenerateOptions, 'image' | 'imageUrl'>): Promise<CheckedImage | undefined> {
  if (file === undefined) return undefined;
  if (imageUrl !== undefined) throw refused('give either --image or --image-url, not both');
  try {
    return checkImage(await readBytes(file), COMMAND_LINE_OWNER);
  } catch (error) {
    if (error instanceof BadImage) throw refused(`${shown(file)} ${error.message}`);
    throw refused(`${shown(file)} ${READ_PROBLEMS[String(errorCode(error))] ?? `cannot be read: ${error}`}`);
  }
}

const READ_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read: this user has no permission',
};

/** Neither a huge file is read, nor a device, which may never end. */
async function readBytes(file: string): Promise<Buffer> {
  // Without O_NONBLOCK, opening a FIFO waits for a writer.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new BadImage('not-an-image', 'is not a file');
    if (found.size > LARGEST_IMAGE_BYTES) throw tooLarge();
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** Before the job is started: its worker finds the image in the storage. */
export async function storeImageFile(image: CheckedImage, env: Environment): Promise<void> {
  try {
    await storeImage(createStorage(readStorageConfig(env)), image);
  } catch (error) {
    if (!(error instanceof StorageFault) || error instanceof StorageUnusable) throw error;
    throw new VideoFailure('StorageFailed', { message: `the image was not stored: ${error.message}` });
  }
}

function refused(message: string): VideoFailure {
  return new VideoFailure('InvalidRequest', { message });
}
