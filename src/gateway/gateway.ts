import { randomBytes } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { Client } from '@temporalio/client';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { VideoClient } from '../client/video-client';
import type { VideoStorage } from '../storage';
import { LARGEST_IMAGE_BYTES } from '../storage/images';
import type { VideoLogger } from '../worker/logger';
import { authenticateBy, callerOf } from './authenticate';
import { limitBodies } from './body-limits';
import { type CodecTools, serveCodec } from './codec';
import type { GatewayKeys } from './gateway-keys';
import { guardBrowsers } from './guard-browsers';
import { serveHealth } from './health';
import { serveHooks } from './hooks';
import { refuseUnknownPaths, sendError } from './http-errors';
import { createHttpServer, endUnreadAnswers, MOST_CONNECTIONS } from './http-server';
import { serveImages } from './images';
import { LimitKeeper, Shares } from './key-limits';
import { describeInterface } from './openapi';
import { servePage } from './page-files';
import type { ServicesOfGateway } from './video-requests';
import { LARGEST_BODY_BYTES, serveVideos } from './video-routes';
import { VideoStates } from './video-states';
import { VideosOfCaller } from './videos-of-caller';
import { type GatewayMetrics, logRequests, measureRequests, traceRequests } from './watch-requests';

/** All that the routes need. */
export interface GatewayTools extends ServicesOfGateway {
  client: Client;
  videos: VideoClient;
  storage: VideoStorage;
  /** Undefined for a gateway without keys. */
  keys: GatewayKeys | undefined;
  /** How callers reach it; without it, by the Host header of each call. */
  publicUrl: string | undefined;
  /** For the links of the page; without it the page has none. */
  temporalUiUrl: string | undefined;
  /** Pages of these origins may call the gateway. */
  corsOrigins: readonly string[];
  /** Of the webhooks that the video service sends; undefined when it sends none. */
  hookSecret: (() => string) | undefined;
  /** What decrypts for the Temporal UI; undefined for a gateway that does not. */
  codec?: Pick<CodecTools, 'codec' | 'readers'> | undefined;
  /** Where requests are measured; nowhere if it is undefined. */
  metrics?: GatewayMetrics | undefined;
  logger: VideoLogger;
  /** How long a client may take to send its headers. For tests. */
  headersTimeoutMs?: number;
}

/** Besides those that the service takes beyond its interface. All of them are in memory at once. */
const MOST_FORM_FIELDS = 20;

const MAY_GO_ON_EVERY_MS = 1_000;

/** Webhooks of the service and links to images have secrets of their own. */
const WITHOUT_A_KEY = new Set(['/v1/hooks', '/v1/hooks/:secret', '/v1/images/:owner/:name']);

/** No page of another site may read, frame or guess the content of an answer. It is for the one caller whose key came along. */
const SECURITY_HEADERS = {
  'cache-control': 'private, no-store',
  vary: 'Authorization, Origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
};

/** The interface of the video service, served from Temporal. */
export async function buildGateway(tools: GatewayTools): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: LARGEST_BODY_BYTES,
    // Ours alone, so that a caller cannot write into the log. It is unique in all gateways.
    requestIdHeader: false,
    genReqId: () => `req_${randomBytes(12).toString('hex')}`,
    // The secret of a hook may have 200 characters, each of which may be sent as three.
    routerOptions: { maxParamLength: 600 },
    serverFactory: (listener) => createHttpServer(listener, tools.headersTimeoutMs),
    forceCloseConnections: 'idle',
    // What arrives on an open connection while the gateway closes is answered too.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
      sendError(error, request, reply, logError);
    },
  }).withTypeProvider<ZodTypeProvider>();
  const hasKeys = tools.keys !== undefined;
  authenticateBy(app, tools.keys);
  if (tools.metrics) measureRequests(app, tools.metrics);
  const logError = logRequests(app, tools.logger);
  traceRequests(app);
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  /**
   * When the gateway ends, the client has left, or may no longer ask. The response knows that it left: the request is closed
   * once it was read.
   */
  const over = ({ request, raw }: FastifyReply): AbortSignal => {
    const left = new AbortController();
    const check = setInterval(() => request.mayGoOn() || left.abort(), MAY_GO_ON_EVERY_MS);
    left.signal.addEventListener('abort', () => clearInterval(check));
    raw.once('close', () => left.abort());
    if (raw.destroyed) left.abort();
    return AbortSignal.any([left.signal, closing.signal]);
  };

  // Bodies are read by `readVideoRequest`, whose sentences name the field and the fix.
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(serializerCompiler);
  app.removeContentTypeParser('text/plain');
  // Clients of OpenAI's interface send forms. A text field is as long as a JSON body may be.
  const formFields = MOST_FORM_FIELDS + tools.requestFields.length;
  await app.register(multipart, {
    attachFieldsToBody: 'keyValues',
    // Or its reader would parse a field that says it is JSON, of any shape. As a file it is only not an image.
    isPartAFile: (_name, type = '', file) =>
      file !== undefined || /^application\/(json|octet-stream)/i.test(type),
    limits: {
      fieldSize: LARGEST_BODY_BYTES,
      fields: formFields,
      files: 1,
      fileSize: LARGEST_IMAGE_BYTES,
      parts: formFields + 1,
    },
  });
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
  });
  const codecOrigin = tools.codec && tools.temporalUiUrl && new URL(tools.temporalUiUrl).origin;
  endUnreadAnswers(app);
  guardBrowsers(app, { ...tools, hasKeys, codecOrigin });
  const limits = new LimitKeeper(tools.client);
  // Whoever follows many events, or waits for many videos, leaves connections to the other keys.
  const answers = new Shares(
    { ofKey: MOST_CONNECTIONS / 2, inAll: MOST_CONNECTIONS },
    'requests in progress',
  );
  // Before the body is read: without a key, or beyond its limits, nobody makes the gateway parse one.
  app.addHook('onRequest', async (request, { raw }) => {
    const { url = '' } = request.routeOptions;
    if (!url.startsWith('/v1/') || WITHOUT_A_KEY.has(url)) return;
    const { limits: ofKey } = callerOf(request);
    limits.countRequest({ name: request.countedAs, limits: ofKey });
    answers.take(request.countedAs, 1, raw);
  });
  const largeBodies = limitBodies(app);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, logError));
  refuseUnknownPaths(app);
  await describeInterface(app, { ...tools, hasKeys });

  const states = new VideoStates(tools.client, tools.storage);
  const videosOf = (request: FastifyRequest): VideosOfCaller => {
    const caller = callerOf(request);
    const baseUrl = tools.publicUrl ?? `${request.protocol}://${request.host}`;
    return new VideosOfCaller(caller, baseUrl, { ...tools, states, limits });
  };

  serveVideos(app, { ...tools, videosOf, over, largeBodies });
  await serveImages(app, tools);
  await serveHooks(app, { ...tools, logError });
  if (tools.codec) await serveCodec(app, { ...tools, ...tools.codec });
  const { namespace } = tools.client.options;
  servePage(app, { temporalUiUrl: tools.temporalUiUrl, namespace });
  serveHealth(app, tools);
  return app;
}
