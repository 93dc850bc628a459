import type { AiSdkCallOptions } from '../../src/ai-sdk/video-model-types';

/** A call as `ai` makes it, with everything that a caller left out. */
export function callOf(given: Partial<AiSdkCallOptions> & { webhookUrl?: string } = {}) {
  return {
    prompt: 'A red fox',
    n: 1,
    aspectRatio: undefined,
    resolution: undefined,
    duration: undefined,
    fps: undefined,
    seed: undefined,
    image: undefined,
    frameImages: undefined,
    inputReferences: undefined,
    generateAudio: undefined,
    providerOptions: {},
    ...given,
  };
}
