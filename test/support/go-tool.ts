import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readServerOptions } from '../../src/config/temporal-config';
import { buildOnce } from '../../src/temporal-server/build-once';
import { executableName, requireOnSearchPath } from '../../src/temporal-server/executable-file';
import { runTool } from '../../src/temporal-server/run-tool';

/** For `beforeAll`: the largest tool took two minutes on two cores with empty caches. */
export const GO_TOOL_TIMEOUT_MS = 15 * 60_000;

export interface GoTool {
  /** A folder beside this file whose go.mod and go.sum pin the tool and its dependencies. */
  recipe: string;
  module: string;
  program: string;
  /** The name of the executable, if the last part of `program` says too little. */
  name?: string;
  /** For those that take longer than the tools of the suite. */
  timeoutMs?: number;
}

/** Builds a tool once, into the cache folder of Temporal's servers. */
export async function buildGoTool(
  { recipe, module, program, name = lastPart(program), timeoutMs = GO_TOOL_TIMEOUT_MS }: GoTool,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const pins = join(__dirname, recipe);
  const { cacheFolder, searchPath } = readServerOptions(env);
  const goMod = await readFile(join(pins, 'go.mod'), 'utf8');
  const version = goMod.split(`${module} v`)[1]?.split(/\s/)[0];
  if (version === undefined) throw new Error(`${join(pins, 'go.mod')} pins no ${module}: require it there.`);
  const file = executableName(name);
  const cached = `${name}-${version}-${process.platform}-${process.arch}`;
  const built = await buildOnce(cacheFolder, cached, async (folder) => {
    const go = await requireOnSearchPath('go', searchPath);
    const copy = join(folder, 'module');
    await mkdir(copy);
    for (const pin of ['go.mod', 'go.sum']) await copyFile(join(pins, pin), join(copy, pin));
    await runTool(go, ['build', '-mod=readonly', '-ldflags=-s -w', '-o', join(folder, file), program], {
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
