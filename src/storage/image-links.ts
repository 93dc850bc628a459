import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { IMAGE_FOLDER, type ImageReference, imageKey, imageName, parseImageName, readImage } from './images';
import { readSmallFile } from './small-files';
import type { LinkValidity, VideoStorage } from './storage';
import { StorageFault } from './storage-fault';

const DAY_MS = 24 * 3_600_000;
/** A link works for one to two days: services may queue a task for hours before they fetch its image. */
const VALID_MS = 2 * DAY_MS;

/** The path of the gateway under which links lead to images. */
export const IMAGE_LINK_PATH = '/v1/images';

/**
 * The secret that signs links is in the storage, which gateway and workers share already, so nobody has to hand it to both. It
 * protects nothing from who can read it there: the images are in the same storage. No owner's folder can have this name, which
 * has a dash.
 */
const SECRET_KEY = `${IMAGE_FOLDER}/link-secret`;
const SECRET = /^[0-9a-f]{64}\n$/;

/**
 * The same for all links of a day: a submit that is repeated with its Idempotency-Key has the same link, because services
 * refuse another request under one key.
 */
function validityAt(nowMs: number): LinkValidity {
  const fromMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return { from: new Date(fromMs), seconds: VALID_MS / 1_000 };
}

/** Makes links to stored images, for the service to fetch. */
export class ImageLinks {
  constructor(
    private readonly storage: VideoStorage,
    /** How the service reaches a gateway; for storages that make no links themselves. */
    private readonly gatewayUrl: string | undefined,
    private readonly now: () => number = Date.now,
  ) {}

  /** Undefined when neither the storage nor a gateway can serve it. */
  async linkTo(reference: ImageReference): Promise<string | undefined> {
    const validity = validityAt(this.now());
    if (this.storage.link) return this.storage.link(imageKey(reference), validity);
    if (this.gatewayUrl === undefined) return undefined;
    const expires = String(validity.from.getTime() / 1_000 + validity.seconds);
    const secret = (await readSecret(this.storage)) ?? (await makeSecret(this.storage));
    const signature = sign(secret, imageName(reference), expires).toString('hex');
    const base = this.gatewayUrl.replace(/\/+$/, '');
    return `${base}${IMAGE_LINK_PATH}/${imageName(reference)}?expires=${expires}&signature=${signature}`;
  }
}

const LINK = new RegExp(`^${IMAGE_LINK_PATH}/(.+)$`);
const EXPIRES = /^\d{1,12}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

/** The image that a link leads to; undefined when no worker made the link, it has expired, or the image is gone. */
export async function readLinkedImage(
  storage: VideoStorage,
  { pathname, searchParams }: URL,
  nowMs = Date.now(),
): Promise<{ bytes: Buffer; contentType: string } | undefined> {
  const reference = parseImageName(LINK.exec(pathname)?.[1] ?? '');
  const expires = searchParams.get('expires') ?? '';
  const signature = searchParams.get('signature') ?? '';
  if (reference === undefined || !EXPIRES.test(expires) || !SIGNATURE.test(signature)) return undefined;
  // Without a secret there is no link; only workers make one.
  const secret = await readSecret(storage);
  if (secret === undefined) return undefined;
  const expected = sign(secret, imageName(reference), expires);
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) return undefined;
  return nowMs >= Number(expires) * 1_000 ? undefined : readImage(storage, reference);
}

function sign(secret: string, name: string, expires: string): Buffer {
  return createHmac('sha256', secret).update(`${name}\n${expires}`).digest();
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
