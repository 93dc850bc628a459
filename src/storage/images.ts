import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createPart } from './part-file';
import { isStored, readUpTo } from './small-files';
import type { VideoStorage } from './storage';
import { asStorageFault } from './storage-fault';

const PNG_START = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const JPEG_START = Buffer.from([0xff, 0xd8, 0xff]);
const JPEG_END = Buffer.from([0xff, 0xd9]);
const JPEG_SCAN = 0xda;
const GIF_END = 0x3b;

/** The images that can be uploaded, by the extension of their stored file. */
export const IMAGE_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
} as const;

export type ImageExtension = keyof typeof IMAGE_TYPES;

/**
 * The bytes tell the kind, because names and content types can lie. They are checked from the first to the last, because a
 * file that was cut off is not an image.
 */
const CHECKS: readonly [ImageExtension, (bytes: Buffer) => boolean][] = [
  ['png', isPng],
  ['jpg', isJpeg],
  ['webp', isWebp],
  ['gif', isGif],
];

function isPng(bytes: Buffer): boolean {
  const hasHeader = startsWith(bytes, PNG_START) && bytes.toString('latin1', 12, 16) === 'IHDR';
  const end = bytes.lastIndexOf('IEND');
  // A checksum follows.
  return hasHeader && end > 28 && end + 8 <= bytes.length;
}

/** The segments must lead to a scan, and an end must follow: a thumbnail inside a segment has an end of its own. */
function isJpeg(bytes: Buffer): boolean {
  if (!startsWith(bytes, JPEG_START)) return false;
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1];
    if (marker === JPEG_SCAN) return bytes.lastIndexOf(JPEG_END) > at;
    // Fill bytes may stand before a marker.
    at += marker === 0xff ? 1 : 2 + Math.max(bytes.readUInt16BE(at + 2), 2);
  }
  return false;
}

/** The header has the size of the file. */
function isWebp(bytes: Buffer): boolean {
  if (!/^RIFF.{4}WEBPVP8[ LX]/s.test(bytes.toString('latin1', 0, 16))) return false;
  const size = bytes.readUInt32LE(4);
  return size > 12 && size + 8 <= bytes.length;
}

function isGif(bytes: Buffer): boolean {
  return /^GIF8[79]a/.test(bytes.toString('latin1', 0, 6)) && bytes.lastIndexOf(GIF_END) > 12;
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}

export const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;

/** An image in the storage. The same bytes of the same owner are the same image. */
export interface ImageReference {
  /** The gateway key that uploaded it, the command line, or the AI SDK's model. */
  owner: string;
  sha256: string;
  extension: ImageExtension;
}

/** No gateway key can have this name: names of keys begin with a letter or a digit. */
export const COMMAND_LINE_OWNER = '_cli';

/** The owner of images in calls of the AI SDK. */
export const AI_SDK_OWNER = '_ai_sdk';

const SCHEME = 'videogen-image:';
const NAME = /^([a-z0-9_]{1,63})\/([0-9a-f]{64})\.([a-z]{3,4})$/;

/** True for every URL that claims to be a reference, in any case and with any blanks that URLs allow. */
export function claimsToBeImageReference(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === SCHEME;
}

/** Undefined for what is not a reference of exactly our form. */
export function parseImageReference(url: string): ImageReference | undefined {
  return url.startsWith(SCHEME) ? parseImageName(url.slice(SCHEME.length)) : undefined;
}

/** `shop/5f70….png`. */
export function imageName({ owner, sha256, extension }: ImageReference): string {
  return `${owner}/${sha256}.${extension}`;
}

export function parseImageName(name: string): ImageReference | undefined {
  const [, owner = '', sha256 = '', given] = NAME.exec(name) ?? [];
  const [extension] = CHECKS.find(([known]) => known === given) ?? [];
  return extension && { owner, sha256, extension };
}

/** The folder of the images in the storage. */
export const IMAGE_FOLDER = 'images';

export function imageKey(reference: ImageReference): string {
  return `${IMAGE_FOLDER}/${imageName(reference)}`;
}

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
  /** `videogen-image:shop/5f70….png`: what `image_url` is in a job, until a worker turns it into a link for the service. */
  url: string;
  contentType: string;
  bytes: Buffer;
}

/** Names an image by its owner and its bytes. Throws a BadImage for anything else. */
export function checkImage(bytes: Buffer, owner: string): CheckedImage {
  if (bytes.length > LARGEST_IMAGE_BYTES) throw tooLarge();
  const [extension] = CHECKS.find(([, isOfThisKind]) => isOfThisKind(bytes)) ?? [];
  if (extension === undefined)
    throw new BadImage('not-an-image', 'is not a complete PNG, JPEG, WebP or GIF image');
  const reference = { owner, sha256: sha256Of(bytes), extension };
  const contentType = IMAGE_TYPES[extension];
  return { reference, url: `${SCHEME}${imageName(reference)}`, contentType, bytes };
}

/** Stores an image whole or not at all. An image that is there already stays. */
export async function storeImage(
  storage: VideoStorage,
  { reference, contentType, bytes }: CheckedImage,
): Promise<void> {
  const key = imageKey(reference);
  await asStorageFault(async () => {
    const { path, file } = await createPart(storage, key);
    try {
      await file.writeFile(bytes).finally(() => file.close());
      const { sha256 } = reference;
      await storage.publishFile(path, key, { bytes: bytes.length, sha256, contentType });
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
): Promise<{ bytes: Buffer; contentType: string } | undefined> {
  const stored = await storage.read(imageKey(reference));
  const { bytes } = stored ? await readUpTo(stored, LARGEST_IMAGE_BYTES) : {};
  if (bytes === undefined || sha256Of(bytes) !== reference.sha256) return undefined;
  return { bytes, contentType: IMAGE_TYPES[reference.extension] };
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
