import { createHash } from 'node:crypto';
import { isBuiltin } from 'node:module';
import { join, resolve } from 'node:path';
import { ConfigError, type Environment } from '../config/service-config';
import { readDataFolder, readTemporalAddress } from '../config/temporal-config';
import { inShell, shown } from '../contract/clean-text';
import { createFileStorage } from '../storage';
import { printLine, type Terminal } from './terminal';

/** Only such a service needs it. */
const load = (): typeof import('../ai-sdk/load-ai-sdk-service') => require('../ai-sdk/load-ai-sdk-service');

/** Where providers expect their key, if not in NAME_API_KEY. */
const KEYS: Record<string, readonly [string, ...string[]]> = {
  '@ai-sdk/fal': ['FAL_KEY', 'FAL_API_KEY'],
  '@ai-sdk/gateway': ['AI_GATEWAY_API_KEY'],
  '@ai-sdk/google': ['GOOGLE_GENERATIVE_AI_API_KEY'],
  '@ai-sdk/replicate': ['REPLICATE_API_TOKEN'],
};

/** A package of npm, the last part of its name, and the model. */
const MODEL = /^((?:@[a-z\d][\w.-]*\/)?([a-z\d][\w.-]*)):(?!\/\/)(.+)$/;
const LONGEST_NAME_CHARS = 40;

/** The name of a service has no colon. */
const isModel = (service: string) => service.includes(':');
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

/**
 * The services that `--service` asks for, by name. For models of the AI SDK, such as `@ai-sdk/fal:veo3`, it writes a file of
 * services, which the rest of this command uses.
 */
export async function useModels(
  service: string | undefined,
  terminal: Terminal,
): Promise<string | undefined> {
  if (service === undefined || !isModel(service)) return service;
  const { env } = terminal;
  const refusal = (problem: string) => new ConfigError(`--service is ${shown(service)}: ${problem}.`);
  const models = [...new Set(service.split(',').map((text) => text.trim()))];
  if (!models.every(isModel)) throw refusal('one of them is not a model: write each as @ai-sdk/fal:veo3');
  const read = await Promise.all(models.map((text) => readModel(text, env)));
  const problems = read.flatMap(({ problem }) => problem ?? []);
  if (problems.length > 0) throw refusal([...new Set(problems)].join('; '));
  const services = Object.fromEntries(read.map(({ name, entry }) => [name, entry]));
  const text = `${JSON.stringify({ services }, null, 2)}\n`;
  const folder = resolve(readDataFolder(env));
  const key = `services/${digestOf(text).slice(0, 16)}.json`;
  const file = join(folder, key);
  // This very file may be set, as the last such command has proposed.
  if (env.VIDEOGEN_SERVICES_FILE && env.VIDEOGEN_SERVICES_FILE !== file)
    throw refusal('VIDEOGEN_SERVICES_FILE has services of its own: name one of them, or unset it');
  if (readTemporalAddress(env) !== undefined)
    throw refusal(
      'the workers of the configured Temporal server have services of their own: name one of them',
    );
  await createFileStorage(folder)
    .write(key, text, 'application/json')
    .catch((error: unknown) => {
      throw refusal(`VIDEOGEN_DATA, the folder ${folder}, cannot be written (${String(error)})`);
    });
  env.VIDEOGEN_SERVICES_FILE = file;
  const names = read.map(({ name }) => name).join(',');
  printLine(
    terminal,
    `The service is ${names}. For other commands about the job: export VIDEOGEN_SERVICES_FILE=${inShell(file)}`,
  );
  return names;
}

/** `@ai-sdk/fal:veo3` as an entry of the file, and what is wrong with it. Nothing is sent. */
async function readModel(text: string, env: Environment) {
  const [, name = '', provider = '', model = ''] = MODEL.exec(text) ?? [];
  const [usual, ...others] = KEYS[name] ?? [`${provider.toUpperCase().replace(/\W/g, '_')}_API_KEY`];
  const variable = others.find((other) => env[other]) ?? usual;
  return {
    name: nameOf(name, provider, model),
    entry: { aiSdk: { package: name, model }, key: { env: variable } },
    problem:
      model === '' || isBuiltin(name)
        ? 'write a model as @ai-sdk/fal:veo3'
        : ((await load().findAiSdkProblem({ package: name, model })) ??
          (env[variable] ? undefined : `${variable} is not set: put the key of the service there`)),
  };
}

/** `fal-veo3`; two models never have one name. */
function nameOf(name: string, provider: string, model: string): string {
  const short = `${provider}-${model}`.replace(/[^\w.-]+/g, '-').slice(0, LONGEST_NAME_CHARS);
  const isWhole = `@ai-sdk/${short}` === `${name}-${model}`;
  return isWhole ? short : `${short}-${digestOf(`${name}:${model}`).slice(0, 8)}`;
}
