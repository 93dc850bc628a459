import { z } from 'zod';
import type { VideoRequest } from '../../src/contract/request';
import { ASPECT_RATIOS, RESOLUTIONS } from '../../src/contract/request';
import type { DialectName } from './index';
import { link, type OwnInterface, readOwn, text, whole } from './own-call';

/**
 * How real services are called, as their own client libraries or those of the Vercel AI SDK call them:
 * test/service/provider-requests.ts names the source of each. Written without a look at our profiles, so that each can be wrong by
 * itself.
 */

type Frame = Pick<VideoRequest, 'resolution' | 'aspect_ratio'>;

const ratio = z.enum(ASPECT_RATIOS);
const resolution = z.enum(RESOLUTIONS);
const frames = <Name extends string>(table: Record<Name, Frame>) => ({
  schema: z.enum(Object.keys(table) as [Name, ...Name[]]),
  of: (name: Name | undefined): Frame => (name === undefined ? {} : table[name]),
});

const ark: OwnInterface = {
  routes: [
    { method: 'POST', path: /^\/api\/v3\/contents\/generations\/tasks$/, call: 'submit' },
    { method: 'GET', path: /^\/api\/v3\/contents\/generations\/tasks\/([^/]+)$/, call: 'status' },
    { method: 'DELETE', path: /^\/api\/v3\/contents\/generations\/tasks\/([^/]+)$/, call: 'cancel' },
  ],
  read: (body) => {
    const part = z.union([
      z.strictObject({ type: z.literal('text'), text }),
      z.strictObject({
        type: z.literal('image_url'),
        image_url: z.strictObject({ url: link }),
        role: z.literal('first_frame').optional(),
      }),
    ]);
    const schema = z.strictObject({
      model: text,
      content: z.array(part).min(1),
      resolution: resolution.optional(),
      ratio: ratio.optional(),
      duration: whole.optional(),
      seed: whole.optional(),
    });
    return readOwn(body, schema, ({ content, model: _, ratio: aspect_ratio, ...same }) => ({
      prompt: content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n'),
      image_url: content.flatMap((one) => (one.type === 'image_url' ? [one.image_url.url] : []))[0],
      aspect_ratio,
      ...same,
    }));
  },
};

const RUNWAY_VERSION = ['x-runway-version', '2024-11-06'] as const;
const runwayText = frames({
  '1280:720': { resolution: '720p', aspect_ratio: '16:9' },
  '720:1280': { resolution: '720p', aspect_ratio: '9:16' },
});
const runwayImage = frames({
  '1280:720': { resolution: '720p', aspect_ratio: '16:9' },
  '720:1280': { resolution: '720p', aspect_ratio: '9:16' },
  '1104:832': { resolution: '720p', aspect_ratio: '4:3' },
  '832:1104': { resolution: '720p', aspect_ratio: '3:4' },
  '960:960': { resolution: '720p', aspect_ratio: '1:1' },
  '1584:672': { resolution: '720p', aspect_ratio: '21:9' },
});

/** With its model gen4.5, which needs a ratio and a duration. */
const runway: OwnInterface = {
  routes: [
    { method: 'POST', path: /^\/v1\/text_to_video$/, call: 'submit', of: 'text', needs: RUNWAY_VERSION },
    { method: 'POST', path: /^\/v1\/image_to_video$/, call: 'submit', of: 'image', needs: RUNWAY_VERSION },
    { method: 'GET', path: /^\/v1\/tasks\/([^/]+)$/, call: 'status', needs: RUNWAY_VERSION },
    { method: 'DELETE', path: /^\/v1\/tasks\/([^/]+)$/, call: 'cancel', needs: RUNWAY_VERSION },
  ],
  read: (body, of) => {
    const shared = {
      model: z.literal('gen4.5'),
      promptText: text,
      duration: whole.min(2).max(10),
      seed: whole.optional(),
    };
    const toRequest = (
      frame: Frame,
      { promptText, duration, seed }: { promptText: string; duration: number; seed?: number | undefined },
    ) => ({
      prompt: promptText,
      duration,
      seed,
      ...frame,
    });
    return of === 'image'
      ? readOwn(
          body,
          z.strictObject({ ...shared, ratio: runwayImage.schema, promptImage: link }),
          ({ ratio: name, promptImage, ...rest }) => ({
            ...toRequest(runwayImage.of(name), rest),
            image_url: promptImage,
          }),
        )
      : readOwn(body, z.strictObject({ ...shared, ratio: runwayText.schema }), ({ ratio: name, ...rest }) =>
          toRequest(runwayText.of(name), rest),
        );
  },
};

/** Seedance 1.0 pro. The answer to a poll has no link: it is in the result. */
const fal: OwnInterface = {
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
  read: (body, of) => {
    const shared = {
      prompt: text,
      resolution: resolution.optional(),
      duration: z.string().regex(/^\d+$/, 'must be seconds as text').optional(),
      seed: whole.optional(),
    };
    const schema =
      of === 'image'
        ? z.strictObject({ ...shared, image_url: link, aspect_ratio: ratio.optional() })
        : z.strictObject({ ...shared, image_url: z.undefined().optional(), aspect_ratio: ratio.optional() });
    return readOwn(body, schema, ({ duration, ...same }) => ({
      ...same,
      duration: duration === undefined ? undefined : Number(duration),
    }));
  },
};

const replicate: OwnInterface = {
  routes: [
    { method: 'POST', path: /^\/v1\/models\/[^/]+\/[^/]+\/predictions$/, call: 'submit' },
    { method: 'GET', path: /^\/v1\/predictions\/([^/]+)$/, call: 'status' },
    { method: 'POST', path: /^\/v1\/predictions\/([^/]+)\/cancel$/, call: 'cancel' },
  ],
  read: (body) => {
    const input = z.strictObject({
      prompt: text,
      image: link.optional(),
      resolution: resolution.optional(),
      aspect_ratio: ratio.optional(),
      duration: whole.optional(),
      seed: whole.optional(),
    });
    return readOwn(body, z.strictObject({ input }), ({ input: { image, ...same } }) => ({
      ...same,
      image_url: image,
    }));
  },
};

const openAiSize = frames({
  '1280x720': { resolution: '720p', aspect_ratio: '16:9' },
  '720x1280': { resolution: '720p', aspect_ratio: '9:16' },
});

const openai: OwnInterface = {
  routes: [{ method: 'POST', path: /^\/v1\/videos$/, call: 'submit' }],
  read: (body) => {
    const schema = z.strictObject({
      prompt: text,
      model: z.enum(['sora-2', 'sora-2-pro']).optional(),
      seconds: z.enum(['4', '8', '12']).optional(),
      size: openAiSize.schema.optional(),
      input_reference: z.strictObject({ image_url: link }).optional(),
    });
    return readOwn(body, schema, ({ prompt, seconds, size, input_reference }) => ({
      prompt,
      image_url: input_reference?.image_url,
      duration: seconds === undefined ? undefined : Number(seconds),
      ...openAiSize.of(size),
    }));
  },
};

/** Its images must be uploaded with the request, so it takes none by their links. */
const veo: OwnInterface = {
  keyIn: (headers) => headers['x-goog-api-key']?.toString(),
  routes: [
    { method: 'POST', path: /^\/v1beta\/models\/[^/:]+:predictLongRunning$/, call: 'submit' },
    { method: 'GET', path: /^\/v1beta\/(models\/[^/]+\/operations\/[^/]+)$/, call: 'status' },
  ],
  read: (body) => {
    const schema = z.strictObject({
      instances: z.tuple([z.strictObject({ prompt: text })]),
      parameters: z
        .strictObject({
          aspectRatio: z.enum(['16:9', '9:16']).optional(),
          resolution: z.enum(['720p', '1080p']).optional(),
          durationSeconds: z.union([z.literal(4), z.literal(6), z.literal(8)]).optional(),
          seed: whole.optional(),
        })
        .optional(),
    });
    return readOwn(body, schema, ({ instances: [{ prompt }], parameters = {} }) => ({
      prompt,
      aspect_ratio: parameters.aspectRatio,
      resolution: parameters.resolution,
      duration: parameters.durationSeconds,
      seed: parameters.seed,
    }));
  },
};

const luma: OwnInterface = {
  routes: [
    { method: 'POST', path: /^\/dream-machine\/v1\/generations\/video$/, call: 'submit' },
    { method: 'GET', path: /^\/dream-machine\/v1\/generations\/([^/]+)$/, call: 'status' },
    { method: 'DELETE', path: /^\/dream-machine\/v1\/generations\/([^/]+)$/, call: 'cancel' },
  ],
  read: (body) => {
    const image = z.strictObject({ type: z.literal('image'), url: link });
    const schema = z.strictObject({
      model: z.enum(['ray-2', 'ray-flash-2']),
      prompt: text,
      aspect_ratio: ratio.optional(),
      resolution: z.enum(['720p', '1080p']).optional(),
      duration: z.enum(['5s', '9s']).optional(),
      keyframes: z.strictObject({ frame0: image }).optional(),
    });
    return readOwn(body, schema, ({ model: _, keyframes, duration, ...same }) => ({
      ...same,
      image_url: keyframes?.frame0.url,
      duration: duration === undefined ? undefined : Number.parseInt(duration, 10),
    }));
  },
};

const KLING_MODES = { std: '720p', pro: '1080p' } as const;

/** Tasks from text and from images have paths of their own, and are found only there. */
const kling: OwnInterface = {
  routes: [
    { method: 'POST', path: /^\/v1\/videos\/text2video$/, call: 'submit', of: 'text' },
    { method: 'POST', path: /^\/v1\/videos\/image2video$/, call: 'submit', of: 'image' },
    { method: 'GET', path: /^\/v1\/videos\/text2video\/([^/]+)$/, call: 'status', of: 'text' },
    { method: 'GET', path: /^\/v1\/videos\/image2video\/([^/]+)$/, call: 'status', of: 'image' },
  ],
  read: (body, of) => {
    const shared = {
      prompt: text,
      model_name: text.optional(),
      mode: z.enum(['std', 'pro']).optional(),
      duration: z.enum(['5', '10']).optional(),
    };
    const toRequest = ({
      prompt,
      mode,
      duration,
    }: {
      prompt: string;
      mode?: 'std' | 'pro' | undefined;
      duration?: string | undefined;
    }) => ({
      prompt,
      resolution: mode && KLING_MODES[mode],
      duration: duration === undefined ? undefined : Number(duration),
    });
    return of === 'image'
      ? readOwn(body, z.strictObject({ ...shared, image: link }), ({ image, ...rest }) => ({
          ...toRequest(rest),
          image_url: image,
        }))
      : readOwn(
          body,
          z.strictObject({ ...shared, aspect_ratio: z.enum(['16:9', '9:16', '1:1']).optional() }),
          ({ aspect_ratio, ...rest }) => ({ ...toRequest(rest), aspect_ratio }),
        );
  },
};

const minimax: OwnInterface = {
  routes: [
    { method: 'POST', path: /^\/v1\/video_generation$/, call: 'submit' },
    { method: 'GET', path: /^\/v1\/query\/video_generation$/, call: 'status', idIn: 'task_id' },
  ],
  read: (body) => {
    const schema = z.strictObject({
      model: text,
      prompt: text,
      first_frame_image: link.optional(),
      duration: z.union([z.literal(6), z.literal(10)]).optional(),
      resolution: z.enum(['1080P']).optional(),
    });
    return readOwn(body, schema, ({ prompt, first_frame_image, duration, resolution: size }) => ({
      prompt,
      image_url: first_frame_image,
      duration,
      resolution: size && '1080p',
    }));
  },
};

const dashscopeSize = frames({
  '1280*720': { resolution: '720p', aspect_ratio: '16:9' },
  '720*1280': { resolution: '720p', aspect_ratio: '9:16' },
  '1920*1080': { resolution: '1080p', aspect_ratio: '16:9' },
  '1080*1920': { resolution: '1080p', aspect_ratio: '9:16' },
});

/** Its wan2.6 models: those for images take a resolution, the others a size. */
const dashscope: OwnInterface = {
  routes: [
    {
      method: 'POST',
      path: /^\/api\/v1\/services\/aigc\/video-generation\/video-synthesis$/,
      call: 'submit',
      needs: ['x-dashscope-async', 'enable'],
    },
    { method: 'GET', path: /^\/api\/v1\/tasks\/([^/]+)$/, call: 'status' },
  ],
  read: (body) => {
    const times = { duration: whole.optional(), seed: whole.optional() };
    const ofText = z.strictObject({
      model: text.regex(/-t2v$/),
      input: z.strictObject({ prompt: text }),
      parameters: z.strictObject({ ...times, size: dashscopeSize.schema.optional() }).optional(),
    });
    const ofImage = z.strictObject({
      model: text.regex(/-i2v$/),
      input: z.strictObject({ prompt: text, img_url: link }),
      parameters: z.strictObject({ ...times, resolution: z.enum(['720P', '1080P']).optional() }).optional(),
    });
    const hasImage = z
      .object({ input: z.object({ img_url: z.unknown() }).required() })
      .safeParse(body).success;
    return hasImage
      ? readOwn(body, ofImage, ({ input, parameters: { resolution: size, ...same } = {} }) => ({
          ...same,
          prompt: input.prompt,
          image_url: input.img_url,
          resolution: size && (size === '720P' ? '720p' : '1080p'),
        }))
      : readOwn(body, ofText, ({ input, parameters: { size, ...same } = {} }) => ({
          ...same,
          prompt: input.prompt,
          ...dashscopeSize.of(size),
        }));
  },
};

const xai: OwnInterface = {
  routes: [{ method: 'POST', path: /^\/v1\/videos\/generations$/, call: 'submit' }],
  read: (body) => {
    const schema = z.strictObject({
      model: text,
      prompt: text,
      image: z.strictObject({ url: link }).optional(),
      duration: whole.optional(),
      aspect_ratio: ratio.optional(),
      resolution: resolution.optional(),
    });
    return readOwn(body, schema, ({ model: _, image, ...same }) => ({ ...same, image_url: image?.url }));
  },
};

/** Polls, files and contents of openai, xai and minimax have the interface's own paths, or those of its dialect. */
export const OWN_INTERFACES: Partial<Record<DialectName, OwnInterface>> = {
  ark,
  runway,
  fal,
  replicate,
  openai,
  veo,
  luma,
  kling,
  minimax,
  dashscope,
  xai,
};
