import { createHash } from 'node:crypto';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readServerOptions } from '../../src/config/temporal-config';
import { buildOnce } from '../../src/temporal-server/build-once';
import { executableName, requireOnSearchPath } from '../../src/temporal-server/executable-file';
import { runTool } from '../../src/temporal-server/run-tool';

/** For `beforeAll`: the largest tool took two minutes on two cores with empty caches. */
export const GO_TOOL_TIMEOUT_MS = 15 * 60_000;

/** A quarter less processor time for the build; how quick a tool is matters less. */
const WITHOUT_OPTIMIZING = '-gcflags=all=-N -l';

export interface GoTool {
  /** A folder beside this file whose go.mod and go.sum pin the tool and its dependencies. */
  recipe: string;
  module: string;
  program: string;
  /** The file of a program of ours in that folder, which is then built instead. */
  source?: string;
}

/** Builds a tool once, into the cache folder of Temporal's servers. */
export async function buildGoTool(
  { recipe, module, program, source }: GoTool,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const pins = join(__dirname, recipe);
  const { cacheFolder, searchPath } = readServerOptions(env);
  const goMod = await readFile(join(pins, 'go.mod'), 'utf8');
  const version = goMod.split(`${module} v`)[1]?.split(/\s/)[0];
  if (version === undefined) throw new Error(`${join(pins, 'go.mod')} pins no ${module}: require it there.`);
  const name = program.slice(program.lastIndexOf('/') + 1);
  const file = executableName(name);
  const change = source === undefined ? '' : `-${await digestOf(join(pins, source))}`;
  const cached = `${name}-${version}${change}-${process.platform}-${process.arch}`;
  const built = await buildOnce(cacheFolder, cached, async (folder) => {
    const go = await requireOnSearchPath('go', searchPath);
    const copy = join(folder, 'module');
    await cp(pins, copy, { recursive: true });
    const built = source === undefined ? program : '.';
    const args = ['-mod=readonly', '-ldflags=-s -w', WITHOUT_OPTIMIZING, '-o', join(folder, file)];
    await runTool(go, ['build', ...args, built], {
      cwd: copy,
      searchPath,
      // A go.work above the cache folder would exclude our module.
      env: { GOWORK: 'off' },
      timeoutMs: GO_TOOL_TIMEOUT_MS,
    });
    await rm(copy, { recursive: true });
  });
  return join(built, file);
}

async function digestOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
    .slice(0, 8);
}
