import type { ServiceProfile } from './profile';

/** Sizes by resolution and aspect ratio, also for requests that name only one of them: the first row with it counts. */
function sizes(rows: Record<string, string>): Record<string, string> {
  const all = Object.entries(rows).reverse();
  const parts = all.flatMap(([row, size]) => row.split(' ').map((part) => [part, size]));
  return { ...rows, ...Object.fromEntries(parts) };
}

const RUNWAY_TEXT = { '720p 16:9': '1280:720', '720p 9:16': '720:1280' };
const RUNWAY_IMAGE = {
  ...RUNWAY_TEXT,
  '720p 4:3': '1104:832',
  '720p 3:4': '832:1104',
  '720p 1:1': '960:960',
  '720p 21:9': '1584:672',
};
const runwayRatio = (rows: Record<string, string>) => ({
  to: 'ratio',
  with: ['aspect_ratio'],
  values: sizes(rows),
  default: '1280:720',
});
const DASHSCOPE = {
  '720p 16:9': '1280*720',
  '720p 9:16': '720*1280',
  '1080p 16:9': '1920*1080',
  '1080p 9:16': '1080*1920',
};

/** The paths of a service that takes both operations at one, with where it is polled, if that is not the default. */
const pathsAt = (submit: string, task?: string) => ({
  textToVideo: submit,
  imageToVideo: submit,
  ...(task !== undefined && { task }),
});

/**
 * Profiles by name. Those with `request` call the service itself; the others only know how it answers, because its paths name a
 * model or its requests are not known well enough.
 */
export const BUILT_IN_PROFILES = {
  ark: {
    name: 'BytePlus Ark',
    paths: pathsAt('/api/v3/contents/generations/tasks', '/api/v3/contents/generations/tasks/{taskId}'),
    cancel: { method: 'DELETE', path: '/api/v3/contents/generations/tasks/{taskId}' },
    requestFields: ['model'],
    request: {
      fields: {
        model: { default: 'seedance-1-0-pro-250528' },
        prompt: { to: 'content[0].text' },
        aspect_ratio: { to: 'ratio' },
      },
      constants: { 'content[0].type': 'text' },
      imageToVideo: {
        fields: { image_url: { to: 'content[1].image_url.url' } },
        constants: { 'content[1].type': 'image_url' },
      },
    },
  },
  dashscope: {
    name: 'DashScope',
    paths: pathsAt('/api/v1/services/aigc/video-generation/video-synthesis', '/api/v1/tasks/{taskId}'),
    headers: { 'X-DashScope-Async': 'enable' },
    requestFields: ['model'],
    request: {
      within: 'parameters',
      fields: { prompt: { to: 'input.prompt' } },
      textToVideo: {
        fields: {
          model: { to: 'model', default: 'wan2.6-t2v' },
          resolution: { to: 'parameters.size', with: ['aspect_ratio'], values: sizes(DASHSCOPE) },
        },
      },
      imageToVideo: {
        fields: {
          model: { to: 'model', default: 'wan2.6-i2v' },
          image_url: { to: 'input.img_url' },
          resolution: { values: { '720p': '720P', '1080p': '1080P' } },
          aspect_ratio: { to: null },
        },
      },
    },
  },
  fal: { name: 'fal', refusals: { failed: [422] } },
  higgsfield: {
    name: 'Higgsfield',
    refusals: {
      limited: [{ status: 400, says: 'concurren' }],
      content: [{ states: ['nsfw'], charged: false }],
    },
  },
  kie: { name: 'Kie', refusals: { codes: { 400: 400, 401: 401, 404: 404, 422: 422, 429: 429 } } },
  kling: {
    name: 'Kling',
    paths: {
      textToVideo: '/v1/videos/text2video',
      imageToVideo: '/v1/videos/image2video',
      task: {
        textToVideo: '/v1/videos/text2video/{taskId}',
        imageToVideo: '/v1/videos/image2video/{taskId}',
      },
    },
    requestFields: ['model'],
    request: {
      fields: {
        model: { to: 'model_name' },
        duration: { values: { 5: '5', 10: '10' } },
        resolution: { to: 'mode', values: { '720p': 'std', '1080p': 'pro' } },
        seed: { to: null },
      },
      textToVideo: {
        fields: { aspect_ratio: { values: { '16:9': '16:9', '9:16': '9:16', '1:1': '1:1' } } },
      },
      imageToVideo: { fields: { image_url: { to: 'image' }, aspect_ratio: { to: null } } },
    },
    refusals: { content: [{ codes: [1301] }] },
  },
  luma: {
    name: 'Luma',
    paths: pathsAt('/dream-machine/v1/generations/video', '/dream-machine/v1/generations/{taskId}'),
    cancel: { method: 'DELETE', path: '/dream-machine/v1/generations/{taskId}' },
    requestFields: ['model'],
    request: {
      fields: {
        model: { default: 'ray-2' },
        duration: { values: { 5: '5s', 9: '9s' } },
        resolution: { values: { '720p': '720p', '1080p': '1080p' } },
        seed: { to: null },
      },
      imageToVideo: {
        fields: { image_url: { to: 'keyframes.frame0.url' } },
        constants: { 'keyframes.frame0.type': 'image' },
      },
    },
  },
  runway: {
    name: 'Runway',
    paths: {
      textToVideo: '/v1/text_to_video',
      imageToVideo: '/v1/image_to_video',
      task: '/v1/tasks/{taskId}',
    },
    headers: { 'X-Runway-Version': '2024-11-06' },
    cancel: { method: 'DELETE', path: '/v1/tasks/{taskId}' },
    requestFields: ['model'],
    request: {
      fields: {
        model: { default: 'gen4.5' },
        prompt: { to: 'promptText' },
        duration: { default: 5 },
      },
      textToVideo: { fields: { resolution: runwayRatio(RUNWAY_TEXT) } },
      imageToVideo: {
        fields: { image_url: { to: 'promptImage' }, resolution: runwayRatio(RUNWAY_IMAGE) },
      },
    },
    refusals: { content: [{ codes: ['SAFETY.*'], charged: true }] },
    polling: { min: '5s' },
  },
  openai: {
    name: 'OpenAI videos',
    paths: pathsAt('/v1/videos'),
    requestFields: ['model'],
    request: {
      fields: {
        duration: { to: 'seconds', values: { 4: '4', 8: '8' } },
        resolution: {
          to: 'size',
          with: ['aspect_ratio'],
          values: sizes({ '720p 16:9': '1280x720', '720p 9:16': '720x1280' }),
        },
        seed: { to: null },
      },
      imageToVideo: { fields: { image_url: { to: 'input_reference.image_url' } } },
    },
    video: { path: '/v1/videos/{taskId}/content' },
  },
  minimax: {
    name: 'MiniMax v1',
    paths: pathsAt('/v1/video_generation', '/v1/query/video_generation?task_id={taskId}'),
    requestFields: ['model'],
    request: {
      fields: {
        model: { default: 'MiniMax-Hailuo-02' },
        duration: { values: { 6: 6, 10: 10 } },
        resolution: { values: { '1080p': '1080P' } },
        aspect_ratio: { to: null },
        seed: { to: null },
      },
      imageToVideo: { fields: { image_url: { to: 'first_frame_image' } } },
    },
    refusals: {
      codes: { 1002: 429, 1004: 401, 2013: 400 },
      content: [{ codes: [1026] }, { codes: [1027], stage: 'output' }],
    },
    video: { id: 'file_id', path: '/v1/files/retrieve?file_id={fileId}', link: 'file.download_url' },
  },
  pixverse: {
    name: 'PixVerse',
    read: {
      within: 'Resp',
      taskId: ['video_id', 'id'],
      state: 'status',
      video: 'url',
      code: 'ErrCode',
      message: 'ErrMsg',
    },
    states: { succeeded: [1], running: [5], failed: [7, 8] },
    refusals: { codes: { 10005: 401, 400017: 400, 400018: 404, 500044: 429 }, content: [{ states: [7] }] },
  },
  veo: {
    name: 'Google Veo',
    paths: {
      textToVideo: '/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
      task: '/v1beta/{+taskId}',
    },
    auth: { header: 'x-goog-api-key', scheme: '' },
    request: {
      within: 'parameters',
      fields: {
        prompt: { to: 'instances[0].prompt' },
        image_url: { to: null },
        aspect_ratio: { to: 'parameters.aspectRatio', values: { '16:9': '16:9', '9:16': '9:16' } },
        resolution: { values: { '720p': '720p', '1080p': '1080p' } },
        duration: { to: 'parameters.durationSeconds', values: { 4: 4, 6: 6, 8: 8 } },
      },
    },
  },
  wavespeed: { name: 'WaveSpeed', refusals: { content: [{ codes: [1200] }] } },
  xai: {
    name: 'xAI',
    paths: pathsAt('/v1/videos/generations'),
    requestFields: ['model'],
    request: {
      fields: { model: { default: 'grok-imagine-video' }, seed: { to: null } },
      imageToVideo: { fields: { image_url: { to: 'image.url' } } },
    },
  },
} as const satisfies Record<string, ServiceProfile>;

export type BuiltInProfile = keyof typeof BUILT_IN_PROFILES;

export function builtInProfile(name: string): ServiceProfile | undefined {
  return Object.entries<ServiceProfile>(BUILT_IN_PROFILES).find(([known]) => known === name)?.[1];
}
