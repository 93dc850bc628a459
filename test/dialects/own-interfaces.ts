import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { EmulatedCall } from '../../src/testing/faults';
import { PROVIDER_REQUESTS, type ProviderRequest } from '../service/provider-requests';

/**
 * How real services are called, as their own client libraries or those of the Vercel AI SDK call them:
 * test/service/provider-requests.ts names the source of each, and has requests that are read whole. Written without a look at
 * our profiles, so that each can be wrong by itself.
 */

/** What a submit asks for, where the path of a service says it. */
type AskedFor = 'text' | 'image';

/** A call of the real service. The first group of its path is the id of the task. */
interface OwnRoute {
  method: string;
  path: RegExp;
  call: EmulatedCall;
  /** The service has other paths for the other operation, and other tasks there. */
  of?: AskedFor;
  /** The parameter that has the id, if the path does not. */
  idIn?: string;
  /** The answer to this poll has no link. Another call gets it. */
  withoutVideo?: true;
  /** A header without which the service refuses the call. */
  needs?: readonly [name: string, value: string];
}

/** How the real service is called: its paths, its key and its own requests, next to the interface's. */
interface OwnInterface {
  routes: readonly OwnRoute[];
  /** The key in the headers of a call; by default that of `Authorization: Bearer`. */
  keyIn?(headers: IncomingHttpHeaders): string | undefined;
  /** Where the prompt is in the body of a submit, and where the image, if it takes one by its link: keys joined by dots. */
  prompt: string;
  image?: string;
}

type OwnName = ProviderRequest['dialect'];

const RUNWAY_VERSION = ['x-runway-version', '2024-11-06'] as const;

/** Polls, files and contents of openai, xai and minimax have the interface's own paths, or those of its dialect. */
export const OWN_INTERFACES: Readonly<Record<OwnName, OwnInterface>> = {
  ark: {
    routes: [
      { method: 'POST', path: /^\/api\/v3\/contents\/generations\/tasks$/, call: 'submit' },
      { method: 'GET', path: /^\/api\/v3\/contents\/generations\/tasks\/([^/]+)$/, call: 'status' },
      { method: 'DELETE', path: /^\/api\/v3\/contents\/generations\/tasks\/([^/]+)$/, call: 'cancel' },
    ],
    prompt: 'content.0.text',
    image: 'content.1.image_url.url',
  },
  /** With its model gen4.5. */
  runway: {
    routes: [
      { method: 'POST', path: /^\/v1\/text_to_video$/, call: 'submit', of: 'text', needs: RUNWAY_VERSION },
      { method: 'POST', path: /^\/v1\/image_to_video$/, call: 'submit', of: 'image', needs: RUNWAY_VERSION },
      { method: 'GET', path: /^\/v1\/tasks\/([^/]+)$/, call: 'status', needs: RUNWAY_VERSION },
      { method: 'DELETE', path: /^\/v1\/tasks\/([^/]+)$/, call: 'cancel', needs: RUNWAY_VERSION },
    ],
    prompt: 'promptText',
    image: 'promptImage',
  },
  /** Seedance 1.0 pro. The answer to a poll has no link: it is in the result. */
  fal: {
    keyIn: ({ authorization }) => /^Key (.+)$/.exec(authorization ?? '')?.[1],
    routes: [
      {
        method: 'POST',
        path: /^\/fal-ai\/bytedance\/seedance\/v1\/pro\/text-to-video$/,
        call: 'submit',
        of: 'text',
      },
      {
        method: 'POST',
        path: /^\/fal-ai\/bytedance\/seedance\/v1\/pro\/image-to-video$/,
        call: 'submit',
        of: 'image',
      },
      {
        method: 'GET',
        path: /^\/fal-ai\/bytedance\/requests\/([^/]+)\/status$/,
        call: 'status',
        withoutVideo: true,
      },
      { method: 'GET', path: /^\/fal-ai\/bytedance\/requests\/([^/]+)$/, call: 'retrieve' },
      { method: 'PUT', path: /^\/fal-ai\/bytedance\/requests\/([^/]+)\/cancel$/, call: 'cancel' },
    ],
    prompt: 'prompt',
    image: 'image_url',
  },
  replicate: {
    routes: [
      { method: 'POST', path: /^\/v1\/models\/[^/]+\/[^/]+\/predictions$/, call: 'submit' },
      { method: 'GET', path: /^\/v1\/predictions\/([^/]+)$/, call: 'status' },
      { method: 'POST', path: /^\/v1\/predictions\/([^/]+)\/cancel$/, call: 'cancel' },
    ],
    prompt: 'input.prompt',
    image: 'input.image',
  },
  openai: {
    routes: [{ method: 'POST', path: /^\/v1\/videos$/, call: 'submit' }],
    prompt: 'prompt',
    image: 'input_reference.image_url',
  },
  /** Its images must be uploaded with the request, so it takes none by their links. */
  veo: {
    keyIn: (headers) => headers['x-goog-api-key']?.toString(),
    routes: [
      { method: 'POST', path: /^\/v1beta\/models\/[^/:]+:predictLongRunning$/, call: 'submit' },
      { method: 'GET', path: /^\/v1beta\/(models\/[^/]+\/operations\/[^/]+)$/, call: 'status' },
    ],
    prompt: 'instances.0.prompt',
  },
  luma: {
    routes: [
      { method: 'POST', path: /^\/dream-machine\/v1\/generations\/video$/, call: 'submit' },
      { method: 'GET', path: /^\/dream-machine\/v1\/generations\/([^/]+)$/, call: 'status' },
      { method: 'DELETE', path: /^\/dream-machine\/v1\/generations\/([^/]+)$/, call: 'cancel' },
    ],
    prompt: 'prompt',
    image: 'keyframes.frame0.url',
  },
  /** Tasks from text and from images have paths of their own, and are found only there. */
  kling: {
    routes: [
      { method: 'POST', path: /^\/v1\/videos\/text2video$/, call: 'submit', of: 'text' },
      { method: 'POST', path: /^\/v1\/videos\/image2video$/, call: 'submit', of: 'image' },
      { method: 'GET', path: /^\/v1\/videos\/text2video\/([^/]+)$/, call: 'status', of: 'text' },
      { method: 'GET', path: /^\/v1\/videos\/image2video\/([^/]+)$/, call: 'status', of: 'image' },
    ],
    prompt: 'prompt',
    image: 'image',
  },
  minimax: {
    routes: [
      { method: 'POST', path: /^\/v1\/video_generation$/, call: 'submit' },
      { method: 'GET', path: /^\/v1\/query\/video_generation$/, call: 'status', idIn: 'task_id' },
    ],
    prompt: 'prompt',
    image: 'first_frame_image',
  },
  dashscope: {
    routes: [
      {
        method: 'POST',
        path: /^\/api\/v1\/services\/aigc\/video-generation\/video-synthesis$/,
        call: 'submit',
        needs: ['x-dashscope-async', 'enable'],
      },
      { method: 'GET', path: /^\/api\/v1\/tasks\/([^/]+)$/, call: 'status' },
    ],
    prompt: 'input.prompt',
    image: 'input.img_url',
  },
  xai: {
    routes: [{ method: 'POST', path: /^\/v1\/videos\/generations$/, call: 'submit' }],
    prompt: 'prompt',
    image: 'image.url',
  },
};

/** The request in the words of the service: a known one whole, and of any other what a task needs. */
export function readOwn(name: OwnName, body: unknown): unknown {
  const known = PROVIDER_REQUESTS.find(
    (given) => given.dialect === name && isDeepStrictEqual(given.body, body),
  );
  if (known) return known.means;
  const { prompt, image } = OWN_INTERFACES[name];
  const image_url = image && valueAt(body, image);
  return { prompt: valueAt(body, prompt), ...(image_url !== undefined && { image_url }) };
}

const valueAt = (body: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => Reflect.get(Object(value), key), body);
