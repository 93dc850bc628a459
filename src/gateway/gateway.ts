import multipart from '@fastify/multipart';
import swagger from '@fastify/swagger';
import type { Client } from '@temporalio/client';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { VideoClient } from '../client/video-client';
import { LARGEST_IMAGE_BYTES } from '../contract/image-reference';
import type { VideoStorage } from '../storage';
import { callerOf, readIdempotencyKey, readWaitMs } from './caller';
import { sendContent } from './content';
import { sendEvents } from './events';
import type { KeyRing } from './gateway-keys';
import { errorBody, toHttpError } from './http-errors';
import { fileTooLarge, largestBodyWithImage, serveImages, settleImage, withoutBytes } from './images';
import { type KeyLimits, LimitKeeper } from './key-limits';
import { servePage } from './serve-page';
import { VideoBoard } from './video-board';
import { videoObject } from './video-object';
import {
  openAiRequestSchema,
  readImageRequest,
  readOpenAiRequest,
  readServiceRequest,
  serviceRequestSchema,
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
  /** Where unexpected errors go. */
  log: (line: string) => void;
}

/** The service takes 2 MiB, which is what Temporal takes too. */
const LARGEST_BODY_BYTES = 2 * 1024 * 1024;
const LONGEST_PAGE = 100;
const MOST_FORM_FIELDS = 50;

/** No page of another site may read, frame or guess the content of an answer. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
};

const idParams = z.object({ id: z.string().describe('The id that the POST answered.') });
const decisionBody = z
  .union([
    z.strictObject({ decision: z.literal('adopt'), taskId: z.string().min(1) }),
    z.strictObject({ decision: z.literal('resubmit') }),
    z.strictObject({ decision: z.literal('abandon') }),
  ])
  .meta({ id: 'Decision' });
const deleted = z.object({ id: z.string(), object: z.literal('video.deleted'), deleted: z.boolean() });
const videoList = z.object({
  object: z.literal('list'),
  data: z.array(videoObject),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

/** Every route may refuse a key, a body or a rate, or be without Temporal. */
const ERRORS = {
  400: errorBody,
  401: errorBody,
  404: errorBody,
  409: errorBody,
  413: errorBody,
  415: errorBody,
  429: errorBody,
  500: errorBody,
  503: errorBody,
};

/** The interface of the video service, served from Temporal. */
export async function buildGateway(tools: GatewayTools): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: LARGEST_BODY_BYTES,
    // Answers name it, and so do the lines of the log.
    requestIdHeader: false,
    forceCloseConnections: 'idle',
  }).withTypeProvider<ZodTypeProvider>();
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());

  // Bodies are read by `readServiceRequest` and its like, whose sentences name the field and the fix.
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(serializerCompiler);
  // Clients of OpenAI's interface send forms. A text field is as long as a JSON body may be.
  await app.register(multipart, {
    attachFieldsToBody: 'keyValues',
    limits: {
      fieldSize: LARGEST_BODY_BYTES,
      fields: MOST_FORM_FIELDS,
      files: 1,
      fileSize: LARGEST_IMAGE_BYTES,
      parts: MOST_FORM_FIELDS + 1,
    },
    onFile: async (part) => {
      await part.toBuffer().catch((error) => {
        throw part.file.truncated ? fileTooLarge(part.fieldname) : error;
      });
    },
  });
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'temporal-videogen gateway', version: '1' },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
      security: [{ key: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });

  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
    // Nobody without a key can have the gateway read an image.
    const { bodyLimit } = request.routeOptions;
    const isForm = /^multipart\//i.test(request.headers['content-type'] ?? '');
    if (isForm || Number(bodyLimit) > LARGEST_BODY_BYTES) callerOf(request.headers.authorization, tools.keys);
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, tools));
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({
      error: {
        code: 'no_such_path',
        message: 'There is nothing here.',
        type: 'invalid_request_error',
        param: null,
      },
    }),
  );

  const board = new VideoBoard(tools.client);
  const limits = new LimitKeeper(tools.client, tools.limits);
  const videosOf = (request: FastifyRequest): VideosOfCaller => {
    const caller = callerOf(request.headers.authorization, tools.keys);
    limits.countRequest(caller);
    const baseUrl = tools.publicUrl ?? `${request.protocol}://${request.host}`;
    return new VideosOfCaller(caller, baseUrl, { ...tools, board, limits });
  };

  const create =
    (read: (body: unknown, requestFields: readonly string[]) => Wanted) =>
    async (request: FastifyRequest) => {
      const videos = videosOf(request);
      const { caller } = videos;
      const given = withoutBytes(request.body, caller);
      const wanted = read(given.body, tools.requestFields);
      await settleImage(tools.storage, given, { imageUrl: wanted.request.image_url, caller });
      const video = await videos.start(wanted, readIdempotencyKey(request.headers['idempotency-key']));
      const waitMs = readWaitMs(request.headers.prefer);
      return waitMs > 0 ? videos.wait(video.id, waitMs, closing.signal) : video;
    };

  const posts = {
    '/v1/videos/text-to-video': {
      body: serviceRequestSchema,
      read: readServiceRequest,
      summary: 'Make a video from a prompt',
    },
    '/v1/videos/image-to-video': {
      body: serviceRequestSchema,
      read: readImageRequest,
      summary: 'Make a video from an image',
    },
    '/v1/videos': {
      body: openAiRequestSchema,
      read: readOpenAiRequest,
      summary: 'The same for clients of OpenAI’s interface',
    },
  };
  for (const [path, { body, read, summary }] of Object.entries(posts)) {
    const schema = { summary, body, response: { 200: videoObject, ...ERRORS } };
    app.post(path, { schema, bodyLimit: largestBodyWithImage(LARGEST_BODY_BYTES) }, create(read));
  }

  app.get(
    '/v1/videos/:id',
    {
      schema: {
        summary: 'The state of a video',
        params: idParams,
        response: { 200: videoObject, ...ERRORS },
      },
    },
    async (request) => {
      const waitMs = readWaitMs(request.headers.prefer);
      return videosOf(request).wait(request.params.id, waitMs, closing.signal);
    },
  );

  const listQuery = z.object({
    limit: z.coerce.number().int().min(1).max(LONGEST_PAGE).default(20),
    after: z.string().optional(),
    order: z.enum(['desc']).default('desc'),
  });
  app.get(
    '/v1/videos',
    {
      schema: {
        summary: 'Videos, newest first',
        querystring: listQuery,
        response: { 200: videoList, ...ERRORS },
      },
    },
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

  app.delete(
    '/v1/videos/:id',
    { schema: { summary: 'Cancel a video', params: idParams, response: { 200: deleted, ...ERRORS } } },
    async (request) => {
      const { id } = request.params;
      await videosOf(request).cancel(id);
      return { id, object: 'video.deleted' as const, deleted: true };
    },
  );

  app.get(
    '/v1/videos/:id/content',
    { schema: { summary: 'The video itself', params: idParams, produces: ['video/mp4'] } },
    async (request, reply) =>
      sendContent(await videosOf(request).find(request.params.id), tools.storage, request, reply),
  );

  app.get(
    '/v1/videos/:id/events',
    { schema: { summary: 'Events until the end', params: idParams, produces: ['text/event-stream'] } },
    (request, reply) => sendEvents(videosOf(request), request.params.id, request, reply, closing.signal),
  );

  app.post(
    '/v1/videos/:id/decision',
    {
      schema: {
        summary: 'Settle a lost submit',
        params: idParams,
        body: decisionBody,
        response: { 200: videoObject, ...ERRORS },
      },
    },
    async (request) => {
      const videos = videosOf(request);
      const { id } = request.params;
      const { job } = await videos.find(id);
      await job.decideSubmit(decisionBody.parse(request.body));
      videos.forget(id);
      return videos.show(await videos.find(id));
    },
  );

  await serveImages(app, {
    storage: tools.storage,
    callerOf: (request) => videosOf(request).caller,
  });
  servePage(app, { ...tools, namespace: tools.client.options.namespace });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  app.get('/livez', { schema: { hide: true } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { schema: { hide: true } }, async () => {
    await tools.client.workflowService.getSystemInfo({});
    return { status: 'ok' };
  });
  return app;
}

function sendError(
  error: unknown,
  { id, method, url }: FastifyRequest,
  reply: FastifyReply,
  { log }: GatewayTools,
): FastifyReply {
  const known = error instanceof z.ZodError ? undefined : toHttpError(error);
  if (known) {
    if (known.retryAfterSeconds !== undefined) reply.header('retry-after', known.retryAfterSeconds);
    return reply.code(known.status).send(known.body);
  }
  if (error instanceof z.ZodError) {
    const { path, message } = error.issues[0] ?? { path: [], message: 'is wrong' };
    const param = path.join('.') || null;
    const text = param === null ? message : `${param}: ${message}`;
    return reply
      .code(400)
      .send({ error: { code: 'invalid_request', message: text, type: 'invalid_request_error', param } });
  }
  // A query may have the signature of a link in it.
  const [path] = url.split('?', 1);
  log(`${id} ${method} ${path}: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
  return reply.code(500).send({
    error: {
      code: 'unexpected',
      message: `Something unexpected happened: the log of the gateway has it under ${id}.`,
      type: 'server_error',
      param: null,
    },
  });
}
