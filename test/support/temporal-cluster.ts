import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { buildGoTool, type GoTool } from './go-tool';

/** A build of Temporal's server takes six minutes on two idle cores with empty caches. */
const BUILD_TIMEOUT_MS = 40 * 60_000;

const RECIPE = 'temporal-cluster';
const SERVER = { recipe: RECIPE, module: 'go.temporal.io/server', timeoutMs: BUILD_TIMEOUT_MS };
const UI = { ...SERVER, module: 'github.com/temporalio/ui-server/v2' };

/** The programs of a Temporal server that is deployed, unlike the dev server. */
const PROGRAMS = {
  'temporal-server': { ...SERVER, program: 'go.temporal.io/server/cmd/server' },
  'temporal-sql-tool': { ...SERVER, program: 'go.temporal.io/server/cmd/tools/sql' },
  'ui-server': { ...UI, program: 'github.com/temporalio/ui-server/v2/cmd/server' },
} satisfies Record<string, GoTool>;

export type ClusterProgram = keyof typeof PROGRAMS;

/** Finds a program in the cache folder of Temporal's servers, or builds it there with Go. */
export async function findClusterProgram(name: ClusterProgram): Promise<string> {
  return await buildGoTool({ ...PROGRAMS[name], name, isOptimized: true });
}

/** The sources of a module that the recipe pins, such as the schemas of the server. */
export function sourcesOf(module: string): string {
  const cwd = join(__dirname, RECIPE);
  const env = { ...process.env, GOWORK: 'off' };
  execFileSync('go', ['mod', 'download', module], { cwd, env, stdio: 'ignore' });
  return execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd, env, encoding: 'utf8' }).trim();
}
