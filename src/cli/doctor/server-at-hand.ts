import type { Environment } from '../../config/service-config';
import { readServerOptions } from '../../config/temporal-config';
import { findOnSearchPath, whyNotExecutable } from '../../temporal-server/executable-file';
import { devServerCache } from '../../temporal-server/find-server';

export type ServerAtHand =
  | { kind: 'found'; path: string }
  /** The one that the settings name cannot be run, and no other is tried then. */
  | { kind: 'unusable'; flaw: string }
  | { kind: 'to-get'; canBuild: boolean };

/** The dev server that `generate` would take, in the order of findDevServer, which would also make one. */
export async function findServerAtHand(env: Environment): Promise<ServerAtHand> {
  const options = readServerOptions(env);
  const { temporalCli, searchPath } = options;
  if (temporalCli !== undefined) {
    const flaw = await whyNotExecutable(temporalCli);
    return flaw === undefined ? { kind: 'found', path: temporalCli } : { kind: 'unusable', flaw };
  }
  const path =
    (await findOnSearchPath('temporal', searchPath)) ?? (await (await devServerCache(options)).find());
  if (path !== undefined) return { kind: 'found', path };
  return { kind: 'to-get', canBuild: (await findOnSearchPath('go', searchPath)) !== undefined };
}
