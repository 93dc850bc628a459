import * as alibabaPackage from '@ai-sdk/alibaba';
import * as falPackage from '@ai-sdk/fal';
import * as googlePackage from '@ai-sdk/google';
import * as vertexPackage from '@ai-sdk/google-vertex';
import * as replicatePackage from '@ai-sdk/replicate';
import * as xaiPackage from '@ai-sdk/xai';
import { aiSdkService } from '../../../src/ai-sdk';
import type { AiSdkModelSource } from '../../../src/ai-sdk/video-model-types';
import type { VideoRequest } from '../../../src/contract/request';
import type { OpenedVideoService } from '../../../src/service';
import type { EmulatorOptions } from '../../../src/testing';
import { FAL_QUEUE, type ImitatedService, OPERATION, startImitatedService } from './servers';
import { PROVIDERS, type ProviderName } from './what-runs';

/** A package of the AI SDK, unmodified. */
interface Package {
  /** What the package says of itself. */
  version: string;
  /** A model that calls the imitated service, by the options that everybody has. */
  modelAt(service: Pick<ImitatedService, 'apiKey' | 'baseUrl' | 'url'>): AiSdkModelSource;
  /** What jobs ask for, besides a prompt. */
  asked: Omit<VideoRequest, 'prompt'>;
  /** The field of it that the package does not support. */
  unsupported?: keyof VideoRequest;
  /** It takes the bytes of an image alone. */
  takesImageBytes?: true;
}

const FIVE_SECONDS = { resolution: '720p', aspect_ratio: '16:9', duration: 5, seed: 7 } as const;
/** Veo makes videos of 4, 6 or 8 seconds. */
const SIX_SECONDS = { ...FIVE_SECONDS, duration: 6 } as const;

export const PACKAGES: Record<ProviderName, Package> = {
  fal: {
    version: falPackage.VERSION,
    // Its `baseURL` is for images: the address of the queue is built in.
    modelAt:
      ({ apiKey, url }) =>
      ({ fetch }) =>
        falPackage
          .createFal({
            apiKey,
            fetch: (input, init) => fetch(String(input).replace(FAL_QUEUE, url), init),
          })
          .video(PROVIDERS.fal.model),
    asked: SIX_SECONDS,
  },
  replicate: {
    version: replicatePackage.VERSION,
    modelAt:
      ({ apiKey: apiToken, baseUrl: baseURL }) =>
      ({ fetch }) =>
        replicatePackage.createReplicate({ apiToken, baseURL, fetch }).video(PROVIDERS.replicate.model),
    asked: FIVE_SECONDS,
  },
  google: {
    version: googlePackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: baseURL }) =>
      ({ fetch }) =>
        googlePackage.createGoogle({ apiKey, baseURL, fetch }).video(PROVIDERS.google.model),
    asked: SIX_SECONDS,
    takesImageBytes: true,
  },
  xai: {
    version: xaiPackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: baseURL }) =>
      ({ fetch }) =>
        xaiPackage.createXai({ apiKey, baseURL, fetch }).video(PROVIDERS.xai.model),
    asked: FIVE_SECONDS,
    unsupported: 'seed',
  },
  alibaba: {
    version: alibabaPackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: videoBaseURL }) =>
      ({ fetch }) =>
        alibabaPackage.createAlibaba({ apiKey, videoBaseURL, fetch }).video(PROVIDERS.alibaba.model),
    asked: FIVE_SECONDS,
  },
  'google-vertex': {
    version: vertexPackage.VERSION,
    modelAt:
      ({ apiKey, baseUrl: baseURL }) =>
      ({ fetch }) =>
        vertexPackage
          .createGoogleVertex({
            apiKey,
            baseURL,
            fetch: (input, init) => fetch(withOperation(String(input), init?.body), init),
          })
          .video(PROVIDERS['google-vertex'].model),
    asked: SIX_SECONDS,
    takesImageBytes: true,
  },
};

/** The emulator finds the task of a poll by its address. */
function withOperation(address: string, body: unknown): string {
  const { operationName }: { operationName?: string } = JSON.parse(String(body));
  if (operationName === undefined) return address;
  return `${address}?${new URLSearchParams({ [OPERATION]: operationName })}`;
}

/** A package, and the service that it calls. */
export interface StartedProvider extends Package {
  name: ProviderName;
  imitated: ImitatedService;
  service: OpenedVideoService;
  /** Replaces the key of the next calls. */
  useKey(apiKey: string): void;
  /** The task id of a job whose task has this id at the service, as the page says. */
  taskIdOf(id: string): string;
  close(): Promise<void>;
}

export async function startProvider(name: ProviderName, options?: EmulatorOptions): Promise<StartedProvider> {
  const imitated = await startImitatedService(name, options);
  let { apiKey } = imitated;
  const service = aiSdkService((given) => PACKAGES[name].modelAt({ ...imitated, apiKey })(given), {
    downloadAllow: ['127.0.0.1'],
    // The address is built into the package, so only the `fetch` around ours knows where it calls here.
    origins: name === 'fal' ? [imitated.url] : [],
  });
  return {
    ...PACKAGES[name],
    name,
    imitated,
    service,
    useKey: (given) => {
      apiKey = given;
    },
    taskIdOf: (id) =>
      PROVIDERS[name].taskId.replace('ID', id).replace('https://api.replicate.com', imitated.url),
    close: async () => {
      await service.close();
      await imitated.close();
    },
  };
}
