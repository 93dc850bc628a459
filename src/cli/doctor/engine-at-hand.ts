import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, readEngineOptions } from '../../config';
import { EngineCache } from '../../engine/engine-cache';
import { findOnSearchPath, whyNotExecutable } from '../../engine/executable-file';
import { packageRoot } from '../../engine/package-root';

export type EngineAtHand =
  | { kind: 'found'; path: string }
  /** The one that the settings name cannot be run, and no other is tried then. */
  | { kind: 'unusable'; flaw: string }
  | { kind: 'to-get'; canBuild: boolean };

/** The dev server that `generate` would take, in the order of findDevServer, which would also make one. */
export async function lookForEngine(env: Environment): Promise<EngineAtHand> {
  const { temporalCli, searchPath, cacheFolder } = readEngineOptions(env);
  if (temporalCli !== undefined) {
    const flaw = await whyNotExecutable(temporalCli);
    return flaw === undefined ? { kind: 'found', path: temporalCli } : { kind: 'unusable', flaw };
  }
  const path = (await findOnSearchPath('temporal', searchPath)) ?? (await findInCache(cacheFolder));
  if (path !== undefined) return { kind: 'found', path };
  return { kind: 'to-get', canBuild: (await findOnSearchPath('go', searchPath)) !== undefined };
}

async function findInCache(cacheFolder: string): Promise<string | undefined> {
  const recipe = await readFile(join(packageRoot(), 'src/engine/dev-server/go.mod'), 'utf8');
  const version = /github\.com\/temporalio\/cli v(\S+)/.exec(recipe)?.[1] ?? '';
  return new EngineCache({ cacheFolder, program: 'temporal', version, onProgress: () => undefined }).find();
}
