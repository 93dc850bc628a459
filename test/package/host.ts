import { copyFile, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exports as entryPoints, name, peerDependencies, peerDependenciesMeta } from '../../package.json';
import { ROOT, run, tarball } from './run';

/** For tests that install: two busy cores needed half a minute with nothing in npm's cache. */
export const INSTALL_TIMEOUT_MS = 5 * 60_000;

export const SYSTEMS = ['cjs', 'esm'] as const;
export type System = (typeof SYSTEMS)[number];
const PACKAGE_TYPES: Record<System, string> = { cjs: 'commonjs', esm: 'module' };

/** What programs may import. */
export const SPECIFIERS = Object.entries(entryPoints)
  .filter(([, target]) => target.endsWith('.js'))
  .map(([path]) => path.replace('.', name));

const INSTALL = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];

const TEMPORAL_PEERS = Object.entries(peerDependencies).filter(([peer]) => peer.startsWith('@temporalio/'));

/** The lower end of the range that package.json names for Temporal's packages. */
export const lowestPeers = (): string[] =>
  TEMPORAL_PEERS.map(([peer, range]) => `${peer}@${range.replace('^', '')}`);

/** What a program that uses every entry point installs by itself, because the others do not need it. */
const optionalPeers = (): string[] =>
  Object.entries(peerDependencies)
    .filter(([peer]) => peer in peerDependenciesMeta && !peer.startsWith('@aws-sdk/'))
    .map(([peer, range]) => `${peer}@${range}`);

/**
 * A project of somebody else's: empty, with the packed package installed as its users install it. A folder for each
 * module system has the ten lines; both share what was installed.
 */
export async function createHost(further: string[] = optionalPeers()): Promise<string> {
  const host = await realpath(await mkdtemp(join(tmpdir(), 'videogen-host-')));
  await writeJson(join(host, 'package.json'), { private: true });
  await run('npm', [...INSTALL, '--prefix', host, tarball(), '@types/node@20', ...further], { cwd: host });
  for (const system of SYSTEMS) {
    const folder = join(host, system);
    await mkdir(folder);
    await writeJson(join(folder, 'package.json'), { private: true, type: PACKAGE_TYPES[system] });
    await copyFile(join(ROOT, 'examples/ten-lines/main.ts'), join(folder, 'main.ts'));
  }
  return host;
}

/** A newer Node than the oldest that we support: its program, as npm has it. */
export async function installNode(version: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const node = `node-${process.platform}-${process.arch}`;
  await run('npm', [...INSTALL, '--no-save', '--prefix', folder, `${node}@${version}`], { cwd: folder });
  return join(folder, 'node_modules', node, 'bin/node');
}

const writeJson = (file: string, value: unknown) => writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
