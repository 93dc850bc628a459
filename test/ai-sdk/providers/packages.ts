import * as alibaba from '@ai-sdk/alibaba';
import * as fal from '@ai-sdk/fal';
import * as google from '@ai-sdk/google';
import * as vertex from '@ai-sdk/google-vertex';
import * as replicate from '@ai-sdk/replicate';
import * as xai from '@ai-sdk/xai';
import { aiSdkService } from '../../../src/ai-sdk';
import type { AiSdkFetch, AiSdkVideoModel } from '../../../src/ai-sdk/video-model-types';
import type { VideoRequest } from '../../../src/contract/request';
import type { OpenedVideoService } from '../../../src/service';
import type { EmulatorOptions } from '../../../src/testing';
import { FAL_QUEUE, type ImitatedService, OPERATION, startImitatedService } from './servers';
import { PROVIDERS, type ProviderName } from './what-runs';

/** What everybody makes a provider with. */
interface Settings {
  apiKey: string;
  baseURL: string;
  fetch: AiSdkFetch;
}

/** A package of the AI SDK, unmodified. */
interface Package {
  /** What the package says of itself. */
  version: string;
  create(settings: Settings): { video(model: string): AiSdkVideoModel };
  /** Veo makes videos of 4, 6 or 8 seconds. */
  duration?: 6;
  /** The field of a request that the package does not support. */
  unsupported?: keyof VideoRequest;
  /** It takes the bytes of an image alone. */
  takesImageBytes?: true;
}

const PACKAGES: Record<ProviderName, Package> = {
  fal: {
    version: fal.VERSION,
    // Its `baseURL` is for images: the address of the queue is built in.
    create: ({ apiKey, baseURL, fetch }) =>
      fal.createFal({
        apiKey,
        fetch: (input, init) => fetch(String(input).replace(FAL_QUEUE, baseURL), init),
      }),
    duration: 6,
  },
  replicate: {
    version: replicate.VERSION,
    create: ({ apiKey: apiToken, ...more }) => replicate.createReplicate({ apiToken, ...more }),
  },
  google: { version: google.VERSION, create: google.createGoogle, duration: 6, takesImageBytes: true },
  xai: { version: xai.VERSION, create: xai.createXai, unsupported: 'seed' },
  alibaba: {
    version: alibaba.VERSION,
    create: ({ baseURL: videoBaseURL, ...more }) => alibaba.createAlibaba({ videoBaseURL, ...more }),
  },
  'google-vertex': {
    version: vertex.VERSION,
    create: ({ fetch, ...more }) =>
      vertex.createGoogleVertex({
        ...more,
        fetch: (input, init) => fetch(withOperation(String(input), init?.body), init),
      }),
    duration: 6,
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
  /** What jobs ask for, besides a prompt. */
  asked: Omit<VideoRequest, 'prompt'>;
  /** Replaces the key of the next calls. */
  useKey(apiKey: string): void;
  /** The task id of a job whose task has this id at the service, as the page says. */
  taskIdOf(id: string): string;
  close(): Promise<void>;
}

export async function startProvider(name: ProviderName, options?: EmulatorOptions): Promise<StartedProvider> {
  const imitated = await startImitatedService(name, options);
  const { model, taskId } = PROVIDERS[name];
  const { create, duration = 5 } = PACKAGES[name];
  const { baseUrl: baseURL } = imitated;
  let { apiKey } = imitated;
  const service = aiSdkService(({ fetch }) => create({ apiKey, baseURL, fetch }).video(model), {
    downloadAllow: ['127.0.0.1'],
    // The address is built into the package, so only the `fetch` around ours knows where it calls here.
    origins: name === 'fal' ? [imitated.url] : [],
  });
  return {
    ...PACKAGES[name],
    name,
    imitated,
    service,
    asked: { resolution: '720p', aspect_ratio: '16:9', duration, seed: 7 },
    useKey: (given) => {
      apiKey = given;
    },
    taskIdOf: (id) => taskId.replace('ID', id).replace('https://api.replicate.com', imitated.url),
    close: async () => {
      await service.close();
      await imitated.close();
    },
  };
}
