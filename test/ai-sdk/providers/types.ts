import type {
  Experimental_VideoModelV3 as VideoModelV3,
  Experimental_VideoModelV4 as VideoModelV4,
} from '@ai-sdk/provider';
import { aiSdkService, videoModel } from '../../../src/ai-sdk';

/** Compiled and never run: whatever the AI SDK calls a video model is one for us. */
export function compiles(four: VideoModelV4, three: VideoModelV3): void {
  aiSdkService(() => four);
  aiSdkService(async ({ fetch }) => (fetch === globalThis.fetch ? four : three));
  // @ts-expect-error The name of a model is for a gateway to resolve, not for us.
  aiSdkService('fal-ai/veo3');
  // @ts-expect-error A model by itself: its requests could not be seen.
  aiSdkService(four);
}

/** The other way: our model is one for the AI SDK. */
export const model: VideoModelV4 = videoModel();
// @ts-expect-error It says version 4.
export const modelOfVersionThree: VideoModelV3 = videoModel();
