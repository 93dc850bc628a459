import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cleanText } from '../contract/clean-text';
import { errorCode } from '../contract/error-code';
import type { OpenedVideoService } from '../service/video-service';
import { type AiSdkServiceOptions, aiSdkService, checkModel } from './ai-sdk-service';
import { FAL_QUEUE } from './model-connections';
import { messageOf } from './sdk-errors';
import type { AiSdkFetch, AiSdkVideoModel } from './video-model-types';

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
  const { package: name, model, apiKey, baseUrl, settings: _, ...rest } = options;
  for (const [option, value, example] of [
    ['package', name, '@ai-sdk/fal'],
    ['model', model, 'luma-dream-machine'],
  ]) {
    if (typeof value === 'string' && value.trim() !== '') continue;
    throw new TypeError(`loadAiSdkService: ${option} must be a name, such as ${example}.`);
  }
  return aiSdkService(({ fetch }) => loadModel(options, fetch), {
    ...rest,
    origins: [...(rest.origins ?? []), ...(baseUrl === undefined ? [] : [baseUrl])],
    secrets: () => [...(rest.secrets?.() ?? []), ...(apiKey ? [apiKey()] : [])],
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
    await loadModel({ ...options, apiKey: () => 'none' }, globalThis.fetch);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** `create` and the name of the provider: `createFal`. Older names of the same function come later in the list. */
const CREATE = /^create[A-Z]/;

async function loadProvider(name: string): Promise<(settings: Record<string, unknown>) => unknown> {
  const exported: object = Object(await importPackage(name));
  for (const [key, value] of Object.entries(exported)) {
    if (CREATE.test(key) && typeof value === 'function') return (settings) => value(settings);
  }
  throw new Error(
    `${cleanText(name)} exports no function whose name begins with create, as providers of the AI SDK do`,
  );
}

/** Node loads a package once. One that could not be loaded may be installed meanwhile. */
async function importPackage(name: string): Promise<unknown> {
  try {
    return await importNamed(name);
  } catch (error) {
    const shown = cleanText(name);
    if (isMissing(error, name)) {
      throw new Error(`${shown} is not installed: run \`npm install ${shown}@latest\` where the worker runs`);
    }
    throw new Error(
      `${shown} could not be loaded on Node ${process.versions.node}: ${cleanText(messageOf(error))}; packages of the AI SDK 7 are made for Node 22 and newer`,
    );
  }
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

const MISSING = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'];

/** Another package that this one needs may be missing too: that is another problem. */
function isMissing(error: unknown, name: string): boolean {
  return MISSING.some((code) => code === errorCode(error)) && messageOf(error).includes(`'${name}'`);
}

/** Where a package words its settings in its own way. */
interface PackageRule {
  /** Its settings for the key and the address; `apiKey` and `baseURL` unless it says so. */
  key?: string;
  address?: string;
  /** Its video models call this address, whatever the settings say. */
  fixedAddress?: string;
}

const PACKAGES: Record<string, PackageRule> = {
  '@ai-sdk/fal': { fixedAddress: FAL_QUEUE },
  '@ai-sdk/replicate': { key: 'apiToken' },
  '@ai-sdk/alibaba': { address: 'videoBaseURL' },
};

async function loadModel(
  { package: name, model, apiKey, baseUrl, settings }: AiSdkPackageOptions,
  fetch: AiSdkFetch,
): Promise<AiSdkVideoModel> {
  const create = await loadProvider(name);
  const { key = 'apiKey', address = 'baseURL', fixedAddress } = PACKAGES[name] ?? {};
  const isLed = baseUrl !== undefined && fixedAddress !== undefined;
  const provider: unknown = create({
    ...settings,
    ...(baseUrl !== undefined && { [address]: baseUrl }),
    ...(apiKey && { [key]: apiKey() }),
    fetch: isLed ? elsewhere(fetch, fixedAddress, baseUrl) : fetch,
  });
  const { video, videoModel = video }: Record<string, unknown> = Object(provider);
  if (typeof videoModel !== 'function') {
    throw new Error(
      `${cleanText(name)} has no video models in the version that is installed: run \`npm install ${cleanText(name)}@latest\``,
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
