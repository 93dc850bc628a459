import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import type { OpenedVideoService } from '../service/video-service';
import { type AiSdkServiceOptions, aiSdkService, checkModel } from './ai-sdk-service';
import { messageOf } from './model-call';
import { FAL_QUEUE } from './model-connections';
import type { AiSdkFetch, AiSdkModelSource, AiSdkVideoModel } from './video-model-types';

/** Options of loadAiSdkService. */
export interface AiSdkPackageOptions extends AiSdkServiceOptions {
  /** The provider's package, such as `@ai-sdk/fal`. Install it next to this one. */
  package: string;
  /** The provider's name for the model, such as `luma-dream-machine`. */
  model: string;
  /** Called for every request, so that a rotated key is used at once; the provider's own variable by default. */
  apiKey?: () => string;
  /** Another address of the provider, such as that of a proxy. */
  baseUrl?: string;
  /** Further settings of the provider, such as `project` and `location`. */
  settings?: Record<string, unknown>;
}

/**
 * A video service for a model of a provider's package, which is loaded when the first job needs it.
 *
 * @example
 * ```ts
 * const service = loadAiSdkService({ package: '@ai-sdk/fal', model: 'luma-dream-machine', apiKey: () => readKey() });
 * ```
 */
export function loadAiSdkService(options: AiSdkPackageOptions): OpenedVideoService {
  const { baseUrl, origins = [] } = options;
  return aiSdkService((given) => loadModel(options, given), {
    ...options,
    origins: [...origins, ...(baseUrl === undefined ? [] : [baseUrl])],
  });
}

/**
 * What is wrong with a provider's package or a model of it, in one sentence; undefined when it can be used. Nothing is sent.
 *
 * @example
 * ```ts
 * const problem = await findAiSdkProblem({ package: '@ai-sdk/fal', model: 'luma-dream-machine' });
 * if (problem !== undefined) console.error(problem);
 * ```
 */
export async function findAiSdkProblem(
  options: Pick<AiSdkPackageOptions, 'package' | 'model' | 'settings'>,
): Promise<string | undefined> {
  try {
    await loadModel({ ...options, apiKey: () => 'none' }, { fetch: globalThis.fetch, hide: () => undefined });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** `create` and the name of the provider: `createFal`. Older names of the same function come later in the list. */
async function loadProvider(name: string): Promise<(settings: Record<string, unknown>) => unknown> {
  const exported = await importNamed(name).catch((error: unknown) => {
    if (isMissing(error, name))
      throw new Error(`${name} is not installed: run \`npm install ${name}@latest\` where the worker runs`);
    throw new Error(
      `${name} could not be loaded on Node ${process.versions.node}: ${cleanText(messageOf(error))}; packages of the AI SDK 7 are made for Node 22 and newer`,
    );
  });
  for (const [key, value] of Object.entries(Object(exported)))
    if (/^create[A-Z]/.test(key) && typeof value === 'function') return (settings) => value(settings);
  throw new Error(`${name} exports no function whose name begins with create, as providers of the AI SDK do`);
}

/** From where we are installed; then from the folder of the process, for a `videogen` that is installed elsewhere. */
async function importNamed(name: string): Promise<unknown> {
  try {
    return await import(name);
  } catch (error) {
    if (!isMissing(error, name)) throw error;
    const path = createRequire(join(process.cwd(), 'package.json')).resolve(name);
    return import(pathToFileURL(path).href);
  }
}

/** Another package that this one needs may be missing too: that is another problem. */
function isMissing(error: unknown, name: string): boolean {
  return /MODULE_NOT_FOUND$/.test(String(errorCode(error))) && messageOf(error).includes(`'${name}'`);
}

/** How a package calls its settings for the key and the address, and the address that its video models call whatever they say. */
const PACKAGES: Record<string, { key?: string; address?: string; fixedAddress?: string }> = {
  '@ai-sdk/fal': { fixedAddress: FAL_QUEUE },
  '@ai-sdk/replicate': { key: 'apiToken' },
  '@ai-sdk/alibaba': { address: 'videoBaseURL' },
};

async function loadModel(
  { package: name, model, apiKey, baseUrl, settings }: AiSdkPackageOptions,
  { fetch, hide }: Parameters<AiSdkModelSource>[0],
): Promise<AiSdkVideoModel> {
  const secret = apiKey?.();
  if (secret !== undefined) hide(secret);
  const create = await loadProvider(name);
  const { key = 'apiKey', address = 'baseURL', fixedAddress } = PACKAGES[name] ?? {};
  const isLed = baseUrl !== undefined && fixedAddress !== undefined;
  const provider: unknown = create({
    ...settings,
    ...(baseUrl !== undefined && { [address]: baseUrl }),
    ...(secret !== undefined && { [key]: secret }),
    fetch: isLed ? elsewhere(fetch, fixedAddress, baseUrl) : fetch,
  });
  const { video, videoModel = video }: Record<string, unknown> = Object(provider);
  if (typeof videoModel !== 'function') {
    throw new Error(
      `${name} has no video models in the version that is installed: run \`npm install ${name}@latest\``,
    );
  }
  const made: AiSdkVideoModel = videoModel.call(provider, model);
  checkModel(made, name);
  return made;
}

/** Sends what is meant for one address to another. */
function elsewhere(fetch: AiSdkFetch, from: string, to: string): AiSdkFetch {
  const target = to.replace(/(?<!\/)\/+$/, '');
  return (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    return url.startsWith(`${from}/`) ? fetch(target + url.slice(from.length), init) : fetch(input, init);
  };
}
