import { copyFile, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exports as entryPoints, name, peerDependencies, peerDependenciesMeta } from '../../package.json';
import { ROOT, run, tarball } from './run';

/** For tests that install: it took half a minute on two busy cores with an empty npm cache. */
export const INSTALL_TIMEOUT_MS = 5 * 60_000;

export const SYSTEMS = ['cjs', 'esm'] as const;
export type System = (typeof SYSTEMS)[number];
const PACKAGE_TYPES: Record<System, string> = { cjs: 'commonjs', esm: 'module' };

/** The specifiers that programs can import. */
export const SPECIFIERS = Object.entries(entryPoints)
  .filter(([, target]) => target.endsWith('.js'))
  .map(([path]) => path.replace('.', name));

const INSTALL = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];

const TEMPORAL_PEERS = Object.entries(peerDependencies).filter(([peer]) => peer.startsWith('@temporalio/'));

/** What users install beside the package: the peers of each age, of which npm adds the required ones by itself. */
export const PEERS = {
  oldest: TEMPORAL_PEERS.map(([peer, range]) => `${peer}@${range.replace('^', '')}`),
  // A program needs the optional ones to import every entry point.
  newest: Object.entries(peerDependencies)
    .filter(([peer]) => peer in peerDependenciesMeta && !peer.startsWith('@aws-sdk/'))
    .map(([peer, range]) => `${peer}@${range}`),
};

/**
 * An empty project with the packed package installed as users install it. It has one folder per module system with the
 * ten-line example; both share the installed packages.
 */
export async function createHost(packages: readonly string[]): Promise<string> {
  const host = await realpath(await mkdtemp(join(tmpdir(), 'videogen-host-')));
  await writeJson(join(host, 'package.json'), { private: true });
  await run('npm', [...INSTALL, '--prefix', host, tarball(), '@types/node@20', ...packages], { cwd: host });
  for (const system of SYSTEMS) {
    const folder = join(host, system);
    await mkdir(folder);
    await writeJson(join(folder, 'package.json'), { private: true, type: PACKAGE_TYPES[system] });
    await copyFile(join(ROOT, 'examples/ten-lines/main.ts'), join(folder, 'main.ts'));
  }
  return host;
}

/** Installs another version of Node from npm, and returns its executable. */
export async function installNode(version: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const node = `node-${process.platform}-${process.arch}`;
  await run('npm', [...INSTALL, '--no-save', '--prefix', folder, `${node}@${version}`], { cwd: folder });
  return join(folder, 'node_modules', node, 'bin/node');
}

const writeJson = (file: string, value: unknown) => writeFile(file, `${JSON.stringify(value, null, 2)}\n`);
