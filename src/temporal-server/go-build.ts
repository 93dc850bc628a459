import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from './run-tool';

// Four times what a clean build takes on two cores.
const GO_BUILD_TIMEOUT_MS = 30 * 60_000;

const CLI = 'github.com/temporalio/cli/cmd/temporal';

export interface GoBuild {
  readonly go: string;
  readonly searchPath?: string | undefined;
  /** The folder whose go.mod and go.sum pin the modules. */
  readonly recipe: string;
  readonly signal?: AbortSignal | undefined;
}

/** Builds the Temporal CLI at `target`. */
export async function buildWithGo(
  { go, searchPath, recipe, signal }: GoBuild,
  target: string,
): Promise<void> {
  // Go writes next to go.mod, and an installed package may be read-only.
  const module = `${target}.module`;
  await mkdir(module);
  for (const file of ['go.mod', 'go.sum']) await copyFile(join(recipe, file), join(module, file));
  await runTool(go, ['build', '-mod=readonly', '-ldflags=-s -w', '-o', target, CLI], {
    cwd: module,
    searchPath,
    // A go.work above the cache folder would exclude our module.
    env: { GOWORK: 'off' },
    timeoutMs: GO_BUILD_TIMEOUT_MS,
    signal,
  });
  await rm(module, { recursive: true });
}
