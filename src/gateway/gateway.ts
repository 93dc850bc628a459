import { randomBytes } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { Client } from '@temporalio/client';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { VideoClient } from '../client/video-client';
import { LARGEST_IMAGE_BYTES } from '../contract/image-reference';
import type { VideoStorage } from '../storage';
import { limitForms, limitJson } from './body-limits';
import { takeCallbackUrl } from './callback-url';
import { callerOf, readIdempotencyKey, readWaitMs } from './caller';
import { CONTENT_ANSWERS, contentHeaders, contentQuery, sendContent } from './content';
import { DeletedVideos } from './deleted-videos';
import { EVENT_ANSWERS, eventHeaders, sendEvents } from './events';
import type { KeyRing } from './gateway-keys';
import { guardBrowsers } from './guard-browsers';
import { serveHealth } from './health';
import { serveHooks } from './hooks';
import { errorBody, Refusal } from './http-errors';
import { fileTooLarge, largestBodyWithImage, serveImages, settleImage, withoutBytes } from './images';
import { jobsInTemporal, type KeyLimits, LimitKeeper } from './key-limits';
import { refuseUnknownPaths } from './methods';
import { BODY_ERRORS, describeInterface, LIST_ERRORS, VIDEO_ERRORS } from './openapi';
import { PollHints, pollTaskNow } from './poll-hints';
import { logRequests } from './request-log';
import { answerClientError, sendError } from './send-error';
import { servePage } from './serve-page';
import { VideoBoard } from './video-board';
import { videoObject } from './video-object';
import {
  documentedRequests,
  readFormNumbers,
  readImageRequest,
  readOpenAiRequest,
  readServiceRequest,
  refuseCutTexts,
  type Wanted,
} from './video-requests';
import { VideosOfCaller } from './videos-of-caller';

/** All that the routes need. */
export interface GatewayTools {
  client: Client;
  videos: VideoClient;
  storage: VideoStorage;
  /** Undefined for a gateway without keys. */
  keys: KeyRing | undefined;
  limits: KeyLimits;
  requestFields: readonly string[];
  /** How callers reach it; without it, by the Host header of each call. */
  publicUrl: string | undefined;
  /** For the links of the page; without it the page has none. */
  temporalUiUrl: string | undefined;
  /** Pages of these origins may call the gateway. */
  corsOrigins: readonly string[];
  /** Whether videos are streamed, or redirected to where the storage makes links. */
  content: 'stream' | 'redirect';
  /** Of the webhooks that the video service sends; undefined when it sends none. */
  hookSecret: (() => string) | undefined;
  /** Which lines `log` gets, as JSON: about every answer, or about errors alone. */
  logLines: 'requests' | 'errors';
  log: (line: string) => void;
  /** How long a client may take to send its headers. For tests. */
  headersTimeoutMs?: number;
}

/** The service takes 2 MiB, which is what Temporal takes too. */
const LARGEST_BODY_BYTES = 2 * 1024 * 1024;
const LONGEST_PAGE = 100;
/** Beside those that the service takes beyond its interface. All of them are in memory at once. */
const MOST_FORM_FIELDS = 20;
/** Clients that send slower than this hold a connection for nothing. */
const HEADERS_WITHIN_MS = 15_000;
/** A picture of 20 MB at 170 kB/s. */
const REQUEST_WITHIN_MS = 120_000;
const LARGEST_HEADERS_BYTES = 16 * 1024;

/** Webhooks of the service and links to images have secrets of their own. */
const WITHOUT_A_KEY = new Set(['/v1/hooks', '/v1/hooks/:secret', '/v1/images/:owner/:name']);

/** No page of another site may read, frame or guess the content of an answer. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
};

/** An answer is for the one caller whose key came with the call. */
const PRIVATE_HEADERS = { 'cache-control': 'private, no-store', vary: 'Authorization' };

const idParams = z.object({ id: z.string().describe('The id that the POST answered.') });
const decisionBody = z
  .union([
    z.strictObject({ decision: z.literal('adopt'), taskId: z.string().min(1) }),
    z.strictObject({ decision: z.literal('resubmit') }),
    z.strictObject({ decision: z.literal('abandon') }),
  ])
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
  order: z.enum(['desc']).default('desc').describe('Newest first is the only order.'),
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
    .min(1)
    .max(255)
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

/** The interface of the video service, served from Temporal. */
export async function buildGateway(tools: GatewayTools): Promise<FastifyInstance> {
  const headersTimeout = tools.headersTimeoutMs ?? HEADERS_WITHIN_MS;
  const app = Fastify({
    bodyLimit: LARGEST_BODY_BYTES,
    // Ours alone, so that a caller cannot write into the log. It is unique in all gateways.
    requestIdHeader: false,
    genReqId: () => `req_${randomBytes(12).toString('hex')}`,
    requestTimeout: REQUEST_WITHIN_MS,
    // The secret of a hook may have 200 characters, each of which may be sent as three.
    routerOptions: { maxParamLength: 600 },
    http: {
      headersTimeout,
      maxHeaderSize: LARGEST_HEADERS_BYTES,
      connectionsCheckingInterval: Math.min(headersTimeout, 5_000),
    },
    forceCloseConnections: 'idle',
    // What arrives on an open connection while the gateway closes is answered too.
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
      sendError(error, request, reply, logError);
    },
  }).withTypeProvider<ZodTypeProvider>();
  const hasKeys = tools.keys !== undefined;
  const logError = logRequests(app, { ...tools, lines: tools.logLines });
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  /** When the gateway ends, or the client has left: the response knows, the request is closed once it was read. */
  const over = ({ raw }: FastifyReply): AbortSignal => {
    const left = new AbortController();
    raw.on('close', () => left.abort());
    return AbortSignal.any([left.signal, closing.signal]);
  };

  // Bodies are read by `readServiceRequest` and its like, whose sentences name the field and the fix.
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(serializerCompiler);
  app.removeContentTypeParser('text/plain');
  limitJson(app, LARGEST_BODY_BYTES);
  // Clients of OpenAI's interface send forms. A text field is as long as a JSON body may be.
  const formFields = MOST_FORM_FIELDS + tools.requestFields.length;
  await app.register(multipart, {
    attachFieldsToBody: 'keyValues',
    limits: {
      fieldSize: LARGEST_BODY_BYTES,
      fields: formFields,
      files: 1,
      fileSize: LARGEST_IMAGE_BYTES,
      parts: formFields + 1,
    },
    onFile: async (part) => {
      await part.toBuffer().catch((error) => {
        throw part.file.truncated ? fileTooLarge(part.fieldname) : error;
      });
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
    if (request.url.startsWith('/v1/')) reply.headers(PRIVATE_HEADERS);
  });
  guardBrowsers(app, { ...tools, hasKeys });
  // Before the body is read: without a key nobody makes the gateway parse one.
  app.addHook('onRequest', async ({ routeOptions: { url = '' }, headers }) => {
    if (url.startsWith('/v1/') && !WITHOUT_A_KEY.has(url)) callerOf(headers.authorization, tools.keys);
  });
  limitForms(app, LARGEST_IMAGE_BYTES + LARGEST_BODY_BYTES);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, logError));
  refuseUnknownPaths(app);
  await describeInterface(app, { ...tools, hasKeys });

  const deleted = new DeletedVideos(tools.storage);
  const board = new VideoBoard(tools.client, deleted);
  const limits = new LimitKeeper(jobsInTemporal(tools.client), tools.limits);
  const videosOf = (request: FastifyRequest): VideosOfCaller => {
    const caller = callerOf(request.headers.authorization, tools.keys);
    limits.countRequest(caller);
    const baseUrl = tools.publicUrl ?? `${request.protocol}://${request.host}`;
    return new VideosOfCaller(caller, baseUrl, { ...tools, board, limits, deleted });
  };

  const create =
    (read: (body: unknown, requestFields: readonly string[]) => Wanted, takesForms: boolean) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const videos = videosOf(request);
      const isForm = request.isMultipart();
      if (isForm && !takesForms) throw jsonOnly();
      if (isForm) refuseCutTexts(request.body, LARGEST_BODY_BYTES);
      const { caller } = videos;
      const given = withoutBytes(request.body, caller);
      const { body, options } = takeCallbackUrl(isForm ? readFormNumbers(given.body) : given.body);
      const wanted = { ...read(body, tools.requestFields), options };
      await settleImage(tools.storage, given, { imageUrl: wanted.request.image_url, caller });
      const video = await videos.start(wanted, readIdempotencyKey(request.headers['idempotency-key']));
      const waitMs = readWaitMs(request.headers.prefer);
      // The job has started: an error would make the caller start another.
      return waitMs > 0 ? videos.wait(video.id, waitMs, over(reply)).catch(() => video) : video;
    };

  const documented = documentedRequests(tools.requestFields);
  const posts = {
    '/v1/videos/text-to-video': {
      body: documented.service,
      read: readServiceRequest,
      operationId: 'textToVideo',
      summary: 'Make a video from a prompt',
      consumes: JSON_ONLY,
    },
    '/v1/videos/image-to-video': {
      body: documented.image,
      read: readImageRequest,
      operationId: 'imageToVideo',
      summary: 'Make a video from an image',
      consumes: JSON_ONLY,
    },
    '/v1/videos': {
      body: documented.openAi,
      read: readOpenAiRequest,
      operationId: 'createVideo',
      summary: 'The same for clients of OpenAI’s interface',
      consumes: [...JSON_ONLY, 'multipart/form-data'],
    },
  };
  for (const [path, { read, ...schema }] of Object.entries(posts)) {
    app.post(
      path,
      {
        bodyLimit: largestBodyWithImage(LARGEST_BODY_BYTES),
        schema: { ...schema, tags, headers: postHeaders, response: { 200: videoObject, ...BODY_ERRORS } },
      },
      create(read, schema.consumes.length > 1),
    );
  }

  app.get(
    '/v1/videos/:id',
    {
      schema: {
        tags,
        operationId: 'getVideo',
        summary: 'The state of a video',
        params: idParams,
        headers: preferHeader,
        response: { 200: videoObject, ...VIDEO_ERRORS },
      },
    },
    async (request, reply) => {
      const waitMs = readWaitMs(request.headers.prefer);
      return videosOf(request).wait(request.params.id, waitMs, over(reply));
    },
  );

  app.get(
    '/v1/videos',
    {
      schema: {
        tags,
        operationId: 'listVideos',
        summary: 'Videos, newest first',
        querystring: listQuery,
        response: { 200: videoList, ...LIST_ERRORS },
      },
    },
    async (request) => {
      const videos = videosOf(request);
      const { limit, after } = readListQuery(request.query);
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

  app.delete(
    '/v1/videos/:id',
    {
      schema: {
        tags,
        operationId: 'deleteVideo',
        summary: 'Cancel a video that runs, or delete one that has ended',
        params: idParams,
        response: { 200: deletedVideo, ...VIDEO_ERRORS, 409: errorBody },
      },
    },
    async (request) => {
      const { id } = request.params;
      const isDeleted = await videosOf(request).delete(id);
      return { id, object: 'video.deleted' as const, deleted: isDeleted };
    },
  );

  app.get(
    '/v1/videos/:id/content',
    {
      schema: {
        tags,
        operationId: 'getContent',
        summary: 'The video itself',
        params: idParams,
        querystring: contentQuery,
        headers: contentHeaders,
        response: { ...VIDEO_ERRORS, 416: errorBody },
        answers: CONTENT_ANSWERS,
        answersHead: true,
      },
    },
    async (request, reply) =>
      sendContent(await videosOf(request).find(request.params.id), tools, request, reply),
  );

  app.get(
    '/v1/videos/:id/events',
    {
      // A HEAD would wait for the end of the video.
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: 'getEvents',
        summary: 'Events until the end',
        params: idParams,
        headers: eventHeaders,
        response: VIDEO_ERRORS,
        answers: EVENT_ANSWERS,
      },
    },
    (request, reply) => sendEvents(videosOf(request), request.params.id, request, reply, over(reply)),
  );

  app.post(
    '/v1/videos/:id/decision',
    {
      schema: {
        tags,
        operationId: 'decideSubmit',
        summary: 'Settle a lost submit',
        params: idParams,
        body: decisionBody,
        consumes: JSON_ONLY,
        response: { 200: videoObject, ...BODY_ERRORS, 404: errorBody },
      },
    },
    async (request) => {
      const videos = videosOf(request);
      const { id } = request.params;
      await videos.find(id);
      if (request.isMultipart()) throw jsonOnly();
      const decision = decisionBody.safeParse(request.body);
      if (!decision.success) throw badDecision();
      return videos.decide(id, decision.data);
    },
  );

  await serveImages(app, {
    storage: tools.storage,
    callerOf: (request) => videosOf(request).caller,
  });
  const hints = new PollHints((taskId) => pollTaskNow(tools.client, taskId));
  await serveHooks(app, { hookSecret: tools.hookSecret, hints, logError });
  servePage(app, { ...tools, namespace: tools.client.options.namespace });
  serveHealth(app, tools.client);
  return app;
}

const tags = ['Videos'];
const JSON_ONLY = ['application/json'];

const badDecision = () =>
  new Refusal({
    status: 400,
    code: 'invalid_request',
    message:
      'The body must be {"decision":"adopt","taskId":"…"}, {"decision":"resubmit"} or {"decision":"abandon"}.',
    param: 'decision',
  });

const jsonOnly = () =>
  new Refusal({
    status: 415,
    code: 'json_only',
    message: 'This path takes JSON, with Content-Type: application/json.',
  });

/** `?limit=1&limit=2` and `?limit=1e1` are mistakes, not numbers. */
function readListQuery(query: unknown): z.infer<typeof listQuery> {
  const { limit }: { limit?: unknown } = Object(query);
  if (limit === undefined || /^\d{1,4}$/.test(String(limit))) return listQuery.parse(query);
  throw new Refusal({
    status: 400,
    code: 'invalid_request',
    message: `limit must be a whole number from 1 to ${LONGEST_PAGE}.`,
    param: 'limit',
  });
}
