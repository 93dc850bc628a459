import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import {
  formatImageReference,
  IMAGE_TYPES,
  type ImageReference,
  imageKey,
  LARGEST_IMAGE_BYTES,
} from './image-reference';
import { imageTypeOf } from './image-type';
import { isStored } from './is-stored';
import { createPart } from './part-files';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

/** Why a file cannot be used as an image; the message is a part of a sentence, such as `is not a complete …`. */
export class BadImage extends Error {
  override readonly name = 'BadImage';

  constructor(
    readonly reason: 'too-large' | 'not-an-image',
    message: string,
  ) {
    super(message);
  }
}

export const tooLarge = () =>
  new BadImage('too-large', `is larger than ${LARGEST_IMAGE_BYTES / 1024 / 1024} MB`);

/** An image that may be stored. */
export interface CheckedImage {
  reference: ImageReference;
  /** What `image_url` of a job accepts. */
  url: string;
  contentType: string;
  bytes: Buffer;
}

/** Names an image by its owner and its bytes. Throws a BadImage for anything else. */
export function checkImage(bytes: Buffer, owner: string): CheckedImage {
  if (bytes.length > LARGEST_IMAGE_BYTES) throw tooLarge();
  const extension = imageTypeOf(bytes);
  if (extension === undefined) {
    throw new BadImage('not-an-image', 'is not a complete PNG, JPEG, WebP or GIF image');
  }
  const reference = { owner, sha256: sha256Of(bytes), extension };
  return { reference, url: formatImageReference(reference), contentType: IMAGE_TYPES[extension], bytes };
}

/** Stores an image whole or not at all. An image that is there already stays. */
export async function storeImage(
  storage: VideoStorage,
  { reference, contentType, bytes }: CheckedImage,
): Promise<void> {
  await storeOnce(storage, imageKey(reference), { contentType, bytes });
}

/** Stores a small file, unless another file has its key: that is a StorageFault. Returns where it is. */
export async function storeOnce(
  storage: VideoStorage,
  key: string,
  { contentType, bytes }: { contentType: string; bytes: Buffer },
): Promise<{ uri: string }> {
  return asStorageFault(async () => {
    const { path, file } = await createPart(storage, key);
    try {
      await file.writeFile(bytes).finally(() => file.close());
      const whole = { bytes: bytes.length, sha256: sha256Of(bytes), contentType };
      return await storage.publishFile(path, key, whole);
    } finally {
      await rm(path, { force: true });
    }
  });
}

export function hasImage(storage: VideoStorage, reference: ImageReference): Promise<boolean> {
  return isStored(storage, imageKey(reference));
}

/** Undefined when there is none, and when the file is not that image. */
export async function readImage(
  storage: VideoStorage,
  reference: ImageReference,
): Promise<Buffer | undefined> {
  const bytes = await readUpTo(storage, imageKey(reference), LARGEST_IMAGE_BYTES);
  return bytes && sha256Of(bytes) === reference.sha256 ? bytes : undefined;
}

/** The bytes under a key; undefined when there are none, or more than expected. */
export async function readUpTo(
  storage: VideoStorage,
  key: string,
  mostBytes: number,
): Promise<Buffer | undefined> {
  const stored = await storage.read(key);
  if (stored === undefined) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stored) {
    size += chunk.length;
    if (size > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
