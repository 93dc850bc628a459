import { copyFile, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { peerDependencies, peerDependenciesMeta } from '../../package.json';
import { ROOT, run, tarball } from './run';

/** For `beforeAll`: two busy cores needed half a minute with nothing in npm's cache. */
export const INSTALL_TIMEOUT_MS = 5 * 60_000;

export const MODULE_SYSTEMS = { cjs: 'commonjs', esm: 'module' } as const;
export type ModuleSystem = keyof typeof MODULE_SYSTEMS;

const INSTALL = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];

const TEMPORAL_PEERS = Object.entries(peerDependencies).filter(
  ([name]) => name.startsWith('@temporalio/') && !(name in peerDependenciesMeta),
);

/** The lower end of the range that package.json names for Temporal's packages. */
export const lowestPeers = (): string[] =>
  TEMPORAL_PEERS.map(([name, range]) => `${name}@${range.replace('^', '')}`);

/**
 * A project of somebody else's: empty, with the packed package installed as its users install it. A folder for each
 * module system has the ten lines; both share what was installed.
 */
export async function createHost(further: string[] = []): Promise<string> {
  const host = await realpath(await mkdtemp(join(tmpdir(), 'videogen-host-')));
  await writeJson(join(host, 'package.json'), { private: true });
  await run('npm', [...INSTALL, '--prefix', host, tarball(), '@types/node@20', ...further], { cwd: host });
  for (const [name, type] of Object.entries(MODULE_SYSTEMS)) {
    const folder = join(host, name);
    await mkdir(folder);
    await writeJson(join(folder, 'package.json'), { private: true, type });
    await copyFile(join(ROOT, 'examples/ten-lines/main.ts'), join(folder, 'main.ts'));
  }
  return host;
}

/** A newer Node than the oldest that we support: its program, as npm has it. */
export async function installNode(version: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const name = `node-${process.platform}-${process.arch}`;
  await run('npm', [...INSTALL, '--no-save', '--prefix', folder, `${name}@${version}`], { cwd: folder });
  return join(folder, 'node_modules', name, 'bin/node');
}

const writeJson = (file: string, value: unknown) => writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
