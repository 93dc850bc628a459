import type { Client } from '@temporalio/client';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { VideoStorage } from '../storage';
import { callerOf } from './authenticate';
import { CONTENT_ANSWERS, contentHeaders, contentQuery, sendContent } from './content';
import { EVENT_ANSWERS, eventHeaders, sendEvents } from './events';
import { badField, refusal } from './http-errors';
import { checkNamedImage, LARGEST_BASE64_CHARS, storeForCaller, withoutBytes } from './images';
import { Shares } from './key-limits';
import { described } from './openapi';
import { videoObject } from './video-object';
import {
  type BodyKind,
  documentedBodies,
  readForm,
  readVideoRequest,
  type ServicesOfGateway,
} from './video-requests';
import type { VideosOfCaller } from './videos-of-caller';
import { makeWatchToken, watchToken } from './watch-tokens';

/** The service takes 2 MiB, which is what Temporal takes too. */
export const LARGEST_BODY_BYTES = 2 * 1024 * 1024;
/** Copying a body of a hundred thousand fields takes seconds. */
const MOST_FIELDS = 1_000;
const LONGEST_PAGE = 100;
const LONGEST_WAIT_SECONDS = 60;
const LONGEST_IDEMPOTENCY_KEY_CHARS = 255;
/** At a time. The storage has connections for all of them, besides those for small files. */
const MOST_DOWNLOADS = { ofKey: 32, inAll: 256 };
const KEY_RULE = `must have 1 to ${LONGEST_IDEMPOTENCY_KEY_CHARS} characters`;

const idParams = z.object({ id: z.string().describe('The id that the POST answered.') });
const watchQuery = z.object({
  token: z.string().optional().describe('Instead of a key: a token for the video.'),
});
const decisionBody = z
  .union(
    [
      z.strictObject({ decision: z.literal('adopt'), taskId: z.string().min(1) }),
      z.strictObject({ decision: z.enum(['resubmit', 'abandon']) }),
    ],
    'The body must be {"decision":"adopt","taskId":"…"}, {"decision":"resubmit"} or {"decision":"abandon"}.',
  )
  .meta({ id: 'Decision' });
const deletedVideo = z
  .object({
    id: z.string(),
    object: z.literal('video.deleted'),
    deleted: z
      .boolean()
      .describe('False when the video was still running: it is cancelled, and stays listed.'),
  })
  .meta({ id: 'DeletedVideo' });
const PAGE_RULE = `must be a whole number from 1 to ${LONGEST_PAGE}`;
const listQuery = z.object({
  limit: z.coerce
    .number(PAGE_RULE)
    .int(PAGE_RULE)
    .min(1, PAGE_RULE)
    .max(LONGEST_PAGE, PAGE_RULE)
    .default(20)
    .describe('How many at most.'),
  after: z.string().optional().describe('The id of the last video of the page before.'),
  order: z.enum(['desc'], 'must be desc').default('desc').describe('Newest first is the only order.'),
});
const preferHeader = z.object({
  prefer: z
    .string()
    .optional()
    .describe('`wait=30` answers when the video has ended, or after 30 s. At most 60.'),
});
const postHeaders = preferHeader.extend({
  'idempotency-key': z
    .string()
    .min(1, KEY_RULE)
    .max(LONGEST_IDEMPOTENCY_KEY_CHARS, KEY_RULE)
    .optional()
    .describe('A repeated POST with the same key is the same video.'),
});
const videoList = z
  .object({
    object: z.literal('list'),
    data: z.array(videoObject),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'VideoList' });

const JSON_ONLY = ['application/json'];

const POSTS = {
  text: ['/v1/videos/text-to-video', 'textToVideo', 'Make a video from a prompt'],
  image: ['/v1/videos/image-to-video', 'imageToVideo', 'Make a video from an image'],
  openai: ['/v1/videos', 'createVideo', 'The same for clients of OpenAI’s interface'],
} as const satisfies Record<BodyKind, [path: string, operationId: string, summary: string]>;

/** What the routes of videos need. */
export interface VideoRouteTools extends ServicesOfGateway {
  client: Client;
  storage: VideoStorage;
  /** The videos of the key that a call has. Throws a 401 or a 429. */
  videosOf(request: FastifyRequest): VideosOfCaller;
  /** What they hold is given back before a wait. */
  largeBodies: Shares;
  /** When the gateway ends, or the client has left. */
  over(reply: FastifyReply): AbortSignal;
}

/** Serves `/v1/videos` and what is below it, in the dialects of the service and of OpenAI. */
export function serveVideos(app: FastifyInstance, tools: VideoRouteTools): void {
  const { storage, videosOf, over, largeBodies } = tools;
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const bodies = documentedBodies(tools);
  const downloads = new Shares(MOST_DOWNLOADS, 'downloads');
  const answer = { response: { 200: videoObject } };
  /** A function of its own: while the caller waits for the video, nothing holds the image. */
  const start = async (kind: BodyKind, request: FastifyRequest, videos: VideosOfCaller) => {
    const isForm = request.isMultipart();
    if (isForm && kind !== 'openai') throw refusal('json_only');
    const { owner } = videos;
    const body = isForm ? readForm(request.body, LARGEST_BODY_BYTES) : request.body;
    if (Object.keys(Object(body)).length > MOST_FIELDS)
      throw badField(undefined, `The body has more than ${MOST_FIELDS} fields.`);
    const given = withoutBytes(body, owner);
    // Only an image makes a body larger; JSON was measured before it was parsed.
    if (isForm && JSON.stringify(given.body).length > LARGEST_BODY_BYTES) throw refusal('body_too_large');
    const wanted = readVideoRequest(kind, given.body, tools);
    await checkNamedImage(storage, given, wanted.request.image_url, owner);
    const { 'idempotency-key': idempotencyKey } = postHeaders.parse(request.headers);
    const storeImage = async () => {
      if (given.image) await storeForCaller(tools, given.image, callerOf(request));
    };
    return videos.start(wanted, idempotencyKey, storeImage);
  };
  for (const kind of ['text', 'image', 'openai'] as const) {
    const [path, operationId, summary] = POSTS[kind];
    const consumes = kind === 'openai' ? [...JSON_ONLY, 'multipart/form-data'] : JSON_ONLY;
    const schema = { consumes, body: bodies[kind], headers: postHeaders, ...answer };
    const bodyLimit = LARGEST_BASE64_CHARS + LARGEST_BODY_BYTES;
    routes.post(
      path,
      { bodyLimit, ...described('Videos', operationId, summary, schema) },
      async (request: FastifyRequest, reply) => {
        const videos = videosOf(request);
        const video = await start(kind, request, videos);
        const waitMs = waitMsOf(request);
        request.body = undefined;
        largeBodies.release(reply.raw);
        // The job has started: an error would make the caller start another.
        return waitMs > 0 ? videos.wait(video.id, waitMs, over(reply)).catch(() => video) : video;
      },
    );
  }

  routes.get(
    '/v1/videos/:id',
    described('Videos', 'getVideo', 'The state of a video', {
      params: idParams,
      querystring: watchQuery,
      headers: preferHeader,
      ...answer,
    }),
    (request, reply) => videosOf(request).wait(request.params.id, waitMsOf(request), over(reply)),
  );

  routes.get(
    '/v1/videos',
    described('Videos', 'listVideos', 'Videos, newest first', {
      querystring: listQuery,
      response: { 200: videoList },
    }),
    async (request) => {
      const videos = videosOf(request);
      const { limit, after } = listQuery.parse(request.query);
      const { videos: data, hasMore } = await videos.list(limit, after);
      return {
        object: 'list' as const,
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: hasMore,
      };
    },
  );

  routes.delete(
    '/v1/videos/:id',
    described('Videos', 'deleteVideo', 'Cancel a video that runs, or delete one that has ended', {
      params: idParams,
      response: { 200: deletedVideo },
    }),
    async (request) => {
      const { id } = request.params;
      const isDeleted = await videosOf(request).delete(id);
      return { id, object: 'video.deleted' as const, deleted: isDeleted };
    },
  );

  routes.get(
    '/v1/videos/:id/content',
    described('Videos', 'getContent', 'The video itself', {
      params: idParams,
      querystring: contentQuery.extend(watchQuery.shape),
      headers: contentHeaders,
      answers: CONTENT_ANSWERS,
    }),
    async (request, reply) => {
      const videos = videosOf(request);
      const found = await videos.find(request.params.id);
      downloads.take(request.countedAs, 1, reply.raw);
      return sendContent(found, storage, request, reply);
    },
  );

  routes.get(
    '/v1/videos/:id/events',
    {
      // A HEAD would wait for the end of the video.
      exposeHeadRoute: false,
      ...described('Videos', 'getEvents', 'Events until the end', {
        params: idParams,
        querystring: watchQuery,
        headers: eventHeaders,
        answers: EVENT_ANSWERS,
      }),
    },
    (request, reply) => sendEvents(videosOf(request), request.params.id, request, reply, over(reply)),
  );

  routes.post(
    '/v1/videos/:id/decision',
    described('Videos', 'decideSubmit', 'Settle a lost submit', {
      params: idParams,
      body: decisionBody,
      consumes: JSON_ONLY,
      ...answer,
    }),
    async (request) => {
      if (request.isMultipart()) throw refusal('json_only');
      return videosOf(request).decide(request.params.id, decisionBody.parse(request.body));
    },
  );

  routes.post(
    '/v1/videos/:id/token',
    described('Videos', 'makeToken', 'A token with which a page may watch the video', {
      params: idParams,
      response: { 200: watchToken },
    }),
    async (request) => {
      const { taskId } = await videosOf(request).find(request.params.id);
      return makeWatchToken(callerOf(request), taskId);
    },
  );
}

/** `Prefer: wait=30`, in milliseconds; 0 without it. A longer wait is cut, as RFC 7240 allows. */
function waitMsOf({ headers }: FastifyRequest): number {
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,9})/i.exec(String(headers.prefer ?? '')) ?? [];
  return Math.min(Number(seconds ?? 0), LONGEST_WAIT_SECONDS) * 1_000;
}
