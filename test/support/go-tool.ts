import { createHash } from 'node:crypto';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readServerOptions } from '../../src/config/temporal-config';
import { executableName, runTool } from '../../src/temporal-server/child-process';
import { buildOnce, requireOnSearchPath } from './build-once';

/** For `beforeAll`: the largest tool took two minutes on two cores with empty caches. */
export const GO_TOOL_TIMEOUT_MS = 15 * 60_000;

export interface GoTool {
  /** A folder next to this file whose go.mod and go.sum pin the tool and its dependencies. */
  recipe: string;
  module: string;
  program: string;
  /** The file of a program of ours in that folder, which is then built instead. */
  source?: string;
  /** The name of the executable, if the last part of `program` says too little. */
  name?: string;
  /** For those that take longer than the tools of the suite. */
  timeoutMs?: number;
  /** For those that are measured. The build takes a third longer. */
  isOptimized?: boolean;
}

/** Builds a tool once, into the cache folder of Temporal's servers. */
export async function buildGoTool(
  {
    recipe,
    module,
    program,
    source,
    name = lastPart(program),
    timeoutMs = GO_TOOL_TIMEOUT_MS,
    isOptimized = false,
  }: GoTool,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const pins = join(__dirname, recipe);
  const { cacheFolder, searchPath } = readServerOptions(env);
  const goMod = await readFile(join(pins, 'go.mod'), 'utf8');
  const version = goMod.split(`${module} v`)[1]?.split(/\s/)[0];
  if (version === undefined) throw new Error(`${join(pins, 'go.mod')} pins no ${module}: require it there.`);
  const file = executableName(name);
  const change = source === undefined ? '' : `-${await digestOf(join(pins, source))}`;
  const cached = `${name}-${version}${change}-${process.platform}-${process.arch}`;
  const built = await buildOnce(cacheFolder, cached, async (folder) => {
    const go = await requireOnSearchPath('go', searchPath);
    const copy = join(folder, 'module');
    await cp(pins, copy, { recursive: true });
    const built = source === undefined ? program : '.';
    const args = ['-mod=readonly', '-ldflags=-s -w', ...(isOptimized ? [] : ['-gcflags=all=-N -l'])];
    await runTool(go, ['build', ...args, '-o', join(folder, file), built], {
      cwd: copy,
      searchPath,
      // A go.work above the cache folder would exclude our module.
      env: { GOWORK: 'off' },
      timeoutMs,
    });
    await rm(copy, { recursive: true });
  });
  return join(built, file);
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

async function digestOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 8);
}
