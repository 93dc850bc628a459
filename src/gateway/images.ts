import type { Client } from '@temporalio/client';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  BadImage,
  type CheckedImage,
  canRemove,
  checkImage,
  hasImage,
  IMAGE_LINK_PATH,
  imageKey,
  imagesOf,
  type ListedFile,
  openLinkedImage,
  storeImage,
  type VideoStorage,
} from '../storage';
import {
  claimsToBeImageReference,
  IMAGE_TYPES,
  LARGEST_IMAGE_BYTES,
  parseImageReference,
} from '../storage/images';
import { callerOf } from './authenticate';
import type { GatewayKey } from './gateway-keys';
import { badField, refusal } from './http-errors';
import { tooMany } from './key-limits';
import { described } from './openapi';
import { jobsOfCaller } from './task-names';
import { withDeadline } from './temporal-deadline';
import { askedIn } from './video-object';

/** What POST /v1/images answers. */
const imageObject = z
  .object({
    id: z.string(),
    object: z.literal('image'),
    url: z
      .string()
      .describe('What image_url of a request takes. It works for the key that uploaded the image.'),
    bytes: z.int(),
    content_type: z.enum(IMAGE_TYPES),
    sha256: z.string(),
  })
  .meta({ id: 'Image' });

/** Who is a little over the limit gets an answer; a connection that is refused midway is reset. */
const READ_BEYOND_BYTES = 1024 * 1024;

/** For keys whose line says nothing else. */
const MOST_IMAGES = 1_000;
const QUOTA_WAIT_SECONDS = 3_600;
/** Time to start the jobs that use an image. */
const KEPT_FOR_MS = 24 * 3_600_000;

interface ImageTools {
  client: Client;
  storage: VideoStorage;
}

/** Serves `POST /v1/images`, and the links with which the service fetches what was uploaded. */
export async function serveImages(app: FastifyInstance, tools: ImageTools): Promise<void> {
  const { storage } = tools;
  await app.register(async (routes) => {
    // The bytes say what it is. Browsers send octet-stream for a file whose kind they do not know.
    routes.addContentTypeParser<Buffer>(
      /^(image\/|application\/octet-stream)/,
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, body: Buffer) => body,
    );
    routes.post(
      '/v1/images',
      {
        bodyLimit: LARGEST_IMAGE_BYTES + READ_BEYOND_BYTES,
        ...described('Images', 'uploadImage', 'Upload an image to start a video from', {
          description:
            'PNG, JPEG, WebP or GIF, at most 20 MB. A form (multipart/form-data) has the image in its field `file`.',
          consumes: Object.values(IMAGE_TYPES),
          body: z.string().meta({ format: 'binary' }),
          response: { 200: imageObject },
        }),
      },
      async (request) => {
        const caller = callerOf(request);
        const image = checked(uploadedBytes(request.body), caller.name, 'file');
        await storeForCaller(tools, image, caller);
        const { url, contentType, bytes, sha256 } = image;
        return {
          id: `image_${sha256}`,
          object: 'image' as const,
          url,
          bytes: bytes.length,
          content_type: contentType,
          sha256,
        };
      },
    );
    routes.get(`${IMAGE_LINK_PATH}/:owner/:name`, { schema: { hide: true } }, (request, reply) =>
      sendImage(storage, request, reply),
    );
  });
}

/** The body itself, or the file of a form. */
function uploadedBytes(body: unknown): Buffer {
  const { file = body }: { file?: unknown } = Object(body);
  if (Buffer.isBuffer(file)) return file;
  throw badField(
    'file',
    'file is missing: send the image as the body with its Content-Type, or as the field file of a form.',
  );
}

/** No key is needed: the link is one. Whatever is wrong with it, the answer is the same. */
async function sendImage(
  storage: VideoStorage,
  { url }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const image = await openLinkedImage(storage, new URL(url, 'http://gateway'));
  if (image === undefined) throw refusal('bad_link');
  const { content, bytes, contentType } = image;
  reply.headers({ 'cache-control': 'private, max-age=3600', 'content-length': bytes });
  return reply.type(contentType).send(content);
}

/** Where a body may have an image: in the service's interface and in OpenAI's. */
const IMAGE_FIELDS = ['image_url', 'input_reference'] as const;
type ImageField = (typeof IMAGE_FIELDS)[number];

/** OpenAI's client sends the object `{ image_url }` so, in a form. */
const FORM_REFERENCE = 'input_reference[image_url]';

/** A body without bytes: the images in it have become references. */
export interface WithoutBytes {
  body: unknown;
  /** To be stored before the job is started; undefined when the body had none. */
  image?: CheckedImage;
  /** The field that the image is in, for what is wrong with it. */
  field: ImageField;
}

/** Puts references in place of `data:` URLs and files, so that no bytes get into a history. Stores nothing. */
export function withoutBytes(given: unknown, owner: string): WithoutBytes {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { body: given, field: 'image_url' };
  }
  const { [FORM_REFERENCE]: inForm, ...rest }: Record<string, unknown> = { ...given };
  const body: Record<string, unknown> = inForm === undefined ? rest : { ...rest, input_reference: inForm };
  const [field = 'image_url', second] = IMAGE_FIELDS.filter((name) => (body[name] ?? null) !== null);
  if (second) throw badField(second, 'Give one image: image_url or input_reference, not both.');
  const bytes = bytesIn(body[field], field);
  if (bytes === undefined) return { body, field };
  const image = checked(bytes, owner, field);
  return { body: { ...body, [field]: image.url }, image, field };
}

/**
 * Stores an image, or throws a 429 when the key has too many. Those of the key that are a day old and of no job that runs are
 * removed. A storage of the user's own may not be able to list them.
 */
export async function storeForCaller(
  { client, storage }: ImageTools,
  image: CheckedImage,
  { name, limits: { images: most = MOST_IMAGES } }: GatewayKey,
): Promise<void> {
  const others: ListedFile[] = [];
  for await (const file of storage.list?.(imagesOf(name)) ?? [])
    if (file.key !== imageKey(image)) others.push(file);
  const old = others.filter(({ storedAt }) => Date.now() - storedAt.getTime() > KEPT_FOR_MS);
  const used = old.length > 0 ? await imagesInUse(client, name) : new Set();
  const unused = canRemove(storage) ? old.filter(({ key }) => !used.has(key)) : [];
  if (others.length - unused.length >= most)
    throw tooMany(`This key may have at most ${most} images stored.`, QUOTA_WAIT_SECONDS);
  await storeImage(storage, image);
  if (canRemove(storage)) for (const { key } of unused) await storage.removeKey(key);
}

/** The keys in the storage of what open jobs were started from. One that waits for a decision may submit again. */
async function imagesInUse(client: Client, owner: string): Promise<Set<string>> {
  const used = new Set<string>();
  const query = `${jobsOfCaller(owner)} AND CloseTime IS NULL`;
  await withDeadline(client, async () => {
    for await (const run of client.workflow.list({ query })) {
      const reference = parseImageReference(askedIn(run).image ?? '');
      if (reference) used.add(imageKey(reference));
    }
  });
  return used;
}

/** Checks that the image that a body names is there and is the caller's own. */
export async function checkNamedImage(
  storage: VideoStorage,
  { image, field }: WithoutBytes,
  imageUrl: string | undefined,
  owner: string,
): Promise<void> {
  if (imageUrl === undefined || image !== undefined) return;
  // A URL may have blanks in it, even in its scheme.
  if (new URL(imageUrl).protocol === 'data:') throw badField(field, `${field} ${DATA_RULE}.`);
  if (!claimsToBeImageReference(imageUrl)) return;
  const reference = parseImageReference(imageUrl);
  // The same answer for an image of somebody else.
  const isThere = reference?.owner === owner && (await hasImage(storage, reference));
  if (!isThere) throw badField(field, `${field} names an image that was not uploaded with this key.`);
}

const DATA_RULE = 'must be a data: URL of the form data:image/png;base64,…';

/** The file of a form, or what a `data:` URL contains; undefined for everything else. */
function bytesIn(value: unknown, field: ImageField): Buffer | undefined {
  if (Buffer.isBuffer(value)) return value;
  const { image_url: nested }: { image_url?: unknown } = Object(value);
  const url = nested ?? value;
  if (typeof url !== 'string' || !/^\s{0,200}data:/i.test(url)) return undefined;
  const [, base64] = DATA_URL.exec(url) ?? [];
  if (base64 === undefined) throw badField(field, `${field} ${DATA_RULE}.`);
  return Buffer.from(base64, 'base64');
}

/** Few blanks, because two runs of many would be divided between in every way: megabytes of them would take days. */
const DATA_URL =
  /^\s{0,200}data:[^,]{0,200};\s{0,200}base64\s{0,200},\s{0,200}([A-Za-z0-9+/_-]*={0,2})\s{0,200}$/i;

/** Four characters are three bytes. */
export const LARGEST_BASE64_CHARS = 4 * Math.ceil(LARGEST_IMAGE_BYTES / 3);

function checked(bytes: Buffer, owner: string, field: string): CheckedImage {
  try {
    return checkImage(bytes, owner);
  } catch (error) {
    if (!(error instanceof BadImage)) throw error;
    const code = error.reason === 'too-large' ? 'image_too_large' : 'not_an_image';
    throw refusal(code, { message: `The image ${error.message}.`, param: field });
  }
}
