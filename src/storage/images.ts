import { createHash, createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Readable } from 'node:stream';
import { isStored, readSmallFile } from './small-files';
import type { VideoStorage } from './storage';
import { StorageFault } from './storage-fault';

/** The images that can be uploaded, by the extension of their stored file. */
export const IMAGE_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
} as const;

/** The first bytes tell the kind, because names and content types can lie. */
const STARTS: Record<keyof typeof IMAGE_TYPES, RegExp> = {
  png: /^\x89PNG\r\n.{6}IHDR/s,
  jpg: /^\xff\xd8\xff/,
  webp: /^RIFF.{4}WEBPVP8[ LX]/s,
  gif: /^GIF8[79]a/,
};

export const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;

/** An image in the storage. The same bytes of the same owner are the same image. */
export interface ImageReference {
  /** `shop/5f70….png`. */
  name: string;
  /** The gateway key that uploaded it, the command line, or the AI SDK's model. */
  owner: string;
  sha256: string;
  contentType: (typeof IMAGE_TYPES)[keyof typeof IMAGE_TYPES];
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

function parseImageName(name: string): ImageReference | undefined {
  const [, owner = '', sha256 = '', extension] = NAME.exec(name) ?? [];
  const [, contentType] = Object.entries(IMAGE_TYPES).find(([known]) => known === extension) ?? [];
  return contentType && { name, owner, sha256, contentType };
}

/** The folder of the images in the storage. */
const IMAGE_FOLDER = 'images/';

export const imageKey = ({ name }: Pick<ImageReference, 'name'>) => `${IMAGE_FOLDER}${name}`;

/** All images of an owner begin with this. */
export const imagesOf = (owner: string) => `${IMAGE_FOLDER}${owner}/`;

/** Why a file cannot be used as an image; the message is a part of a sentence, such as `is not a PNG, …`. */
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
export interface CheckedImage extends ImageReference {
  /** `videogen-image:shop/5f70….png`: what `image_url` is in a job, until a worker turns it into a link for the service. */
  url: string;
  bytes: Buffer;
}

/** Names an image by its owner and its bytes. Throws a BadImage for anything else. */
export function checkImage(bytes: Buffer, owner: string): CheckedImage {
  if (bytes.length > LARGEST_IMAGE_BYTES) throw tooLarge();
  const start = bytes.toString('latin1', 0, 16);
  const [extension] = Object.entries(STARTS).find(([, kind]) => kind.test(start)) ?? [];
  const image = parseImageName(`${owner}/${hash('sha256', bytes)}.${extension}`);
  if (image === undefined) throw new BadImage('not-an-image', 'is not a PNG, JPEG, WebP or GIF image');
  return { ...image, url: `${SCHEME}${image.name}`, bytes };
}

/** Stores an image whole or not at all. It replaces nothing but the same bytes. */
export async function storeImage(storage: VideoStorage, image: CheckedImage): Promise<void> {
  await storage.write(imageKey(image), image.bytes, image.contentType);
}

export function hasImage(storage: VideoStorage, reference: ImageReference): Promise<boolean> {
  return isStored(storage, imageKey(reference));
}

/**
 * Undefined when there is none, and when the file is not that image. It is read twice and never held: a service may fetch many
 * at once, as slowly as it likes.
 */
export async function openImage(
  storage: VideoStorage,
  reference: ImageReference,
): Promise<{ content: Readable; bytes: number; contentType: string } | undefined> {
  const key = imageKey(reference);
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const chunk of (await storage.read(key)) ?? []) {
    digest.update(chunk);
    bytes += chunk.length;
  }
  const content = digest.digest('hex') === reference.sha256 ? await storage.read(key) : undefined;
  return content && { content, bytes, contentType: reference.contentType };
}

const DAY_SECONDS = 24 * 3_600;

/** The path of the gateway under which links lead to images. */
export const IMAGE_LINK_PATH = '/v1/images';

/**
 * The secret that signs links is in the storage, which gateway and workers share already, so nobody has to hand it to both. It
 * protects nothing from who can read it there: the images are in the same storage. No owner's folder can have this name, which
 * has a dash.
 */
const SECRET_KEY = `${IMAGE_FOLDER}link-secret`;
const SECRET = /^[0-9a-f]{64}\n$/;

/**
 * A link to a stored image, for the service to fetch. `gatewayUrl` is how the service reaches a gateway, for storages that make
 * no links themselves; undefined when neither can serve it.
 */
export async function linkToImage(
  storage: VideoStorage,
  image: ImageReference,
  gatewayUrl: string | undefined,
  nowMs = Date.now(),
): Promise<string | undefined> {
  // The same for all links of a day: a submit that is repeated with its Idempotency-Key has the same link, because services
  // refuse another request under one key.
  const fromSeconds = Math.floor(nowMs / 1_000 / DAY_SECONDS) * DAY_SECONDS;
  // One to two days: services may queue a task for hours before they fetch its image.
  const seconds = 2 * DAY_SECONDS;
  if (storage.link) return storage.link(imageKey(image), { from: new Date(fromSeconds * 1_000), seconds });
  if (gatewayUrl === undefined) return undefined;
  const expires = String(fromSeconds + seconds);
  const secret = (await readSecret(storage)) ?? (await makeSecret(storage));
  const link = `${gatewayUrl.replace(/\/+$/, '')}${IMAGE_LINK_PATH}/${image.name}`;
  return `${link}?expires=${expires}&signature=${sign(secret, image.name, expires)}`;
}

const LINK = new RegExp(`^${IMAGE_LINK_PATH}/(.+)$`);

/** The image that a link leads to; undefined when no worker made the link, it has expired, or the image is gone. */
export async function openLinkedImage(
  storage: VideoStorage,
  { pathname, searchParams }: URL,
  nowMs = Date.now(),
): ReturnType<typeof openImage> {
  const reference = parseImageName(LINK.exec(pathname)?.[1] ?? '');
  const expires = searchParams.get('expires') ?? '';
  const signature = searchParams.get('signature') ?? '';
  if (reference === undefined) return undefined;
  // Without a secret there is no link; only workers make one.
  const secret = await readSecret(storage);
  if (secret === undefined) return undefined;
  const expected = Buffer.from(sign(secret, reference.name, expires));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(expected, given)) return undefined;
  return nowMs >= Number(expires) * 1_000 ? undefined : openImage(storage, reference);
}

function sign(secret: string, name: string, expires: string): string {
  return createHmac('sha256', secret).update(`${name}\n${expires}`).digest('hex');
}

async function readSecret(storage: VideoStorage): Promise<string | undefined> {
  const text = await readSmallFile(storage, SECRET_KEY);
  if (text === undefined || SECRET.test(text)) return text;
  throw new StorageFault(`${SECRET_KEY} in the storage is damaged: delete it, and a worker makes a new one`);
}

/** If two workers make it at the same moment, the storage takes one, and both use that one. */
async function makeSecret(storage: VideoStorage): Promise<string> {
  await storage.create(SECRET_KEY, `${randomBytes(32).toString('hex')}\n`);
  const made = await readSecret(storage);
  if (made === undefined) throw new StorageFault(`${SECRET_KEY} is gone although it was just stored`);
  return made;
}
