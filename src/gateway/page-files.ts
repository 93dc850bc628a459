import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SIZES, shapeOf } from '../client/video-size';
import { FAILURES } from '../contract/failure-table';
import { ASPECT_RATIOS, MAX_DURATION_SECONDS, RESOLUTIONS } from '../contract/request';
import { LARGEST_IMAGE_BYTES } from '../storage/images';
import { prefixOf } from './task-names';
import { LONGEST_SHOWN_PROMPT_CHARS } from './video-requests';

/** What the page needs to know about the gateway that serves it. */
export interface PageOptions {
  /** Of the Temporal UI, such as http://localhost:8233. Without it the page links to no workflow. */
  temporalUiUrl: string | undefined;
  namespace: string;
}

/** The build copies the folder, so it is next to this file in src and in dist. */
const FOLDER = join(__dirname, 'page');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Only our own files run, and they talk to this gateway alone. Videos and stills are fetched with the key and shown as blobs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob:",
  'media-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

/** Choices, limits and failures of the contract, so that the page repeats none of them. */
const CHOICES = {
  resolutions: RESOLUTIONS,
  aspectRatios: ASPECT_RATIOS,
  maxDurationSeconds: MAX_DURATION_SECONDS,
  // The page asks before it uploads: a server that refuses a body early resets the connection.
  largestImageBytes: LARGEST_IMAGE_BYTES,
  longestShownPromptChars: LONGEST_SHOWN_PROMPT_CHARS,
  sizes: Object.fromEntries(SIZES.map((size) => [size, shapeOf(size)])),
  failures: Object.fromEntries(
    Object.entries(FAILURES).map(([type, { meaning, advice }]) => [type, { meaning, advice }]),
  ),
};

/** Serves the page at `/`, `/docs`, the other files of its folder by their names, and `/page.json`. */
export function servePage(app: FastifyInstance, options: PageOptions): void {
  for (const name of readdirSync(FOLDER)) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const content = readFileSync(join(FOLDER, name));
    const path = `/${name.replace(/^index\.html$|\.html$/, '')}`;
    app.get(path, { schema: { hide: true } }, (_request, reply) => send(reply, type, content));
  }
  app.get('/page.json', { schema: { hide: true } }, (request, reply) => {
    const content = JSON.stringify({ ...CHOICES, ...workflowLinkFor(request, options) });
    return send(reply, 'application/json; charset=utf-8', content);
  });
}

/** The address of a workflow in the Temporal UI, up to the id of the video. Only who has a key learns it. */
function workflowLinkFor(
  { caller }: FastifyRequest,
  { temporalUiUrl, namespace }: PageOptions,
): { workflowUrl?: string } {
  if (temporalUiUrl === undefined || caller === null) return {};
  const base = temporalUiUrl.replace(/\/+$/, '');
  const prefix = encodeURIComponent(prefixOf(caller.name));
  return { workflowUrl: `${base}/namespaces/${encodeURIComponent(namespace)}/workflows/${prefix}` };
}

/** Every load asks: a new version of the gateway must not meet half of an old page. */
function send(reply: FastifyReply, type: string, content: string | Buffer): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', 'content-security-policy': POLICY });
  return reply.type(type).send(content);
}
