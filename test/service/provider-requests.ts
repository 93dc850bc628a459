import type { VideoRequest } from '../../src/contract/request';

/** A request in the words of one service. */
export interface ProviderRequest {
  dialect:
    | 'ark'
    | 'runway'
    | 'fal'
    | 'replicate'
    | 'openai'
    | 'veo'
    | 'luma'
    | 'kling'
    | 'minimax'
    | 'dashscope'
    | 'xai';
  path: string;
  body: object;
  /** What a caller asks for in the interface's words. */
  means: VideoRequest;
}

const prompt = 'A red fox in the snow';
const image = 'https://example.com/fox.png';

/**
 * Requests as the services' client libraries write them: @runwayml/sdk 4.20.1, lumaai 1.19.1, openai 6.49.0, and of the Vercel
 * AI SDK bytedance 1.0.29, fal 3.0.41, replicate 3.0.46, google 4.0.117, alibaba 2.0.58, xai 5.0.12. Those of Kling and MiniMax are
 * in public clients of theirs.
 */
export const PROVIDER_REQUESTS: readonly ProviderRequest[] = [
  {
    dialect: 'ark',
    path: '/api/v3/contents/generations/tasks',
    body: {
      model: 'seedance-1-0-pro-250528',
      content: [{ type: 'text', text: prompt }],
      ratio: '16:9',
      duration: 5,
      seed: 7,
      resolution: '720p',
    },
    means: { prompt, aspect_ratio: '16:9', duration: 5, seed: 7, resolution: '720p' },
  },
  {
    dialect: 'ark',
    path: '/api/v3/contents/generations/tasks',
    body: {
      model: 'seedance-1-0-pro-250528',
      content: [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: image } },
      ],
      duration: 5,
    },
    means: { prompt, image_url: image, duration: 5 },
  },
  {
    dialect: 'runway',
    path: '/v1/text_to_video',
    body: { model: 'gen4.5', promptText: prompt, ratio: '720:1280', duration: 4, seed: 7 },
    means: { prompt, resolution: '720p', aspect_ratio: '9:16', duration: 4, seed: 7 },
  },
  {
    dialect: 'runway',
    path: '/v1/image_to_video',
    body: { model: 'gen4.5', promptText: prompt, promptImage: image, ratio: '960:960', duration: 5 },
    means: { prompt, image_url: image, resolution: '720p', aspect_ratio: '1:1', duration: 5 },
  },
  {
    dialect: 'fal',
    path: '/fal-ai/bytedance/seedance/v1/pro/image-to-video',
    body: { prompt, image_url: image, duration: '5', resolution: '1080p', aspect_ratio: '21:9', seed: 7 },
    means: { prompt, image_url: image, duration: 5, resolution: '1080p', aspect_ratio: '21:9', seed: 7 },
  },
  {
    dialect: 'replicate',
    path: '/v1/models/bytedance/seedance-1-pro/predictions',
    body: { input: { prompt, image, duration: 5, resolution: '480p', aspect_ratio: '4:3', seed: 7 } },
    means: { prompt, image_url: image, duration: 5, resolution: '480p', aspect_ratio: '4:3', seed: 7 },
  },
  {
    dialect: 'openai',
    path: '/v1/videos',
    body: { model: 'sora-2', prompt, seconds: '8', size: '1280x720', input_reference: { image_url: image } },
    means: { prompt, image_url: image, duration: 8, resolution: '720p', aspect_ratio: '16:9' },
  },
  {
    dialect: 'veo',
    path: '/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
    body: {
      instances: [{ prompt }],
      parameters: { aspectRatio: '9:16', resolution: '1080p', durationSeconds: 8, seed: 7 },
    },
    means: { prompt, aspect_ratio: '9:16', resolution: '1080p', duration: 8, seed: 7 },
  },
  {
    dialect: 'luma',
    path: '/dream-machine/v1/generations/video',
    body: {
      model: 'ray-2',
      prompt,
      aspect_ratio: '3:4',
      resolution: '720p',
      duration: '5s',
      keyframes: { frame0: { type: 'image', url: image } },
    },
    means: { prompt, image_url: image, aspect_ratio: '3:4', resolution: '720p', duration: 5 },
  },
  {
    dialect: 'kling',
    path: '/v1/videos/text2video',
    body: { model_name: 'kling-v2-6', prompt, mode: 'pro', duration: '10', aspect_ratio: '1:1' },
    means: { prompt, resolution: '1080p', duration: 10, aspect_ratio: '1:1' },
  },
  {
    dialect: 'kling',
    path: '/v1/videos/image2video',
    body: { model_name: 'kling-v2-6', prompt, image, mode: 'std', duration: '5' },
    means: { prompt, image_url: image, resolution: '720p', duration: 5 },
  },
  {
    dialect: 'minimax',
    path: '/v1/video_generation',
    body: { model: 'MiniMax-Hailuo-02', prompt, first_frame_image: image, duration: 6, resolution: '1080P' },
    means: { prompt, image_url: image, duration: 6, resolution: '1080p' },
  },
  {
    dialect: 'dashscope',
    path: '/api/v1/services/aigc/video-generation/video-synthesis',
    body: { model: 'wan2.6-t2v', input: { prompt }, parameters: { size: '1920*1080', duration: 5, seed: 7 } },
    means: { prompt, resolution: '1080p', aspect_ratio: '16:9', duration: 5, seed: 7 },
  },
  {
    dialect: 'dashscope',
    path: '/api/v1/services/aigc/video-generation/video-synthesis',
    body: {
      model: 'wan2.6-i2v',
      input: { prompt, img_url: image },
      parameters: { resolution: '720P', duration: 5 },
    },
    means: { prompt, image_url: image, resolution: '720p', duration: 5 },
  },
  {
    dialect: 'xai',
    path: '/v1/videos/generations',
    body: {
      model: 'grok-imagine-video',
      prompt,
      duration: 6,
      aspect_ratio: '16:9',
      resolution: '480p',
      image: { url: image },
    },
    means: { prompt, image_url: image, duration: 6, aspect_ratio: '16:9', resolution: '480p' },
  },
];
