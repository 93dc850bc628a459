import * as alibabaPackage from '@ai-sdk/alibaba';
import * as falPackage from '@ai-sdk/fal';
import * as googlePackage from '@ai-sdk/google';
import * as vertexPackage from '@ai-sdk/google-vertex';
import * as replicatePackage from '@ai-sdk/replicate';
import * as xaiPackage from '@ai-sdk/xai';
import type { AiSdkModelSource } from '../../../src/ai-sdk/video-model-types';
import type { VideoRequest } from '../../../src/contract/request';
import { FAL_QUEUE, type ImitatedService } from './servers';
import { PROVIDERS, type ProviderName } from './what-runs';

/** A package of the AI SDK, unmodified, and the service that it calls here. */
export interface Provider {
  /** What the package says of itself. */
  version: string;
  /** A model that calls the imitated service, by the options that everybody has. */
  modelAt(service: Pick<ImitatedService, 'apiKey' | 'baseUrl' | 'origin'>): AiSdkModelSource;
  /** What jobs ask for, besides a prompt. */
  asked: Omit<VideoRequest, 'prompt'>;
  /** What arrives of it. */
  arrives: Omit<VideoRequest, 'prompt'>;
  /** What the package says that its model does not support. */
  warnings: RegExp[];
}

const FIVE_SECONDS = { resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 7 } as const;
/** Veo makes videos of 4, 6 or 8 seconds. */
const SIX_SECONDS = { ...FIVE_SECONDS, duration: 6 } as const;
const { seed: _, ...WITHOUT_SEED } = FIVE_SECONDS;

/** The package has the address of its service built in, so only the `fetch` around ours knows where it calls here. */
export const originsOf = (name: ProviderName, { origin }: Pick<ImitatedService, 'origin'>): string[] =>
  name === 'fal' ? [origin] : [];

export const PACKAGES: Record<ProviderName, Provider> = {
  fal: {
    version: falPackage.VERSION,
    // Its `baseURL` is for images: the address of the queue is built in.
    modelAt:
      ({ apiKey, origin }) =>
      ({ fetch }) =>
        falPackage
          .createFal({
            apiKey,
            fetch: (input, init) => fetch(String(input).replace(FAL_QUEUE, origin), init),
          })
          .video(PROVIDERS.fal.model),
    asked: SIX_SECONDS,
    arrives: SIX_SECONDS,
    warnings: [],
  },
  replicate: {
    version: replicatePackage.VERSION,
    modelAt:
      ({ apiKey: apiToken, baseUrl: baseURL }) =>
      ({ fetch }) =>
        replicatePackage.createReplicate({ apiToken, baseURL, fetch }).video(PROVIDERS.replicate.model),
    asked: FIVE_SECONDS,
    arrives: FIVE_SECONDS,
    warnings: [],
  },
  google: {
    version: googlePackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: baseURL }) =>
      ({ fetch }) =>
        googlePackage.createGoogle({ apiKey, baseURL, fetch }).video(PROVIDERS.google.model),
    asked: SIX_SECONDS,
    arrives: SIX_SECONDS,
    warnings: [],
  },
  xai: {
    version: xaiPackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: baseURL }) =>
      ({ fetch }) =>
        xaiPackage.createXai({ apiKey, baseURL, fetch }).video(PROVIDERS.xai.model),
    asked: FIVE_SECONDS,
    arrives: WITHOUT_SEED,
    warnings: [/seed/],
  },
  alibaba: {
    version: alibabaPackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: videoBaseURL }) =>
      ({ fetch }) =>
        alibabaPackage.createAlibaba({ apiKey, videoBaseURL, fetch }).video(PROVIDERS.alibaba.model),
    asked: FIVE_SECONDS,
    arrives: FIVE_SECONDS,
    warnings: [],
  },
  'google-vertex': {
    version: vertexPackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: baseURL }) =>
      ({ fetch }) =>
        vertexPackage.createGoogleVertex({ apiKey, baseURL, fetch }).video(PROVIDERS['google-vertex'].model),
    asked: SIX_SECONDS,
    arrives: SIX_SECONDS,
    warnings: [],
  },
};

/** The task id of a job whose task has this id at the service, as the page says. */
export const taskIdOf = (
  name: ProviderName,
  id: string,
  { origin }: Pick<ImitatedService, 'origin'>,
): string => PROVIDERS[name].taskId.replace('ID', id).replace('https://api.replicate.com', origin);
