/**
 * Removes from node_modules what only development needs: a step of the Dockerfile. `npm ci --omit=dev` would remove too much:
 * Temporal's SDK and the other peers are installed as development packages here, and a worker needs them.
 */
const { execFileSync } = require('node:child_process');
const { readdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const root = join(__dirname, '..');
const read = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));

const { name, version, dependencies, peerDependencies } = read('package.json');
const installed = (peer) => read(`node_modules/${peer}/package.json`).version;
const peers = Object.fromEntries(Object.keys(peerDependencies).map((peer) => [peer, installed(peer)]));
const runtime = { name, version, dependencies: { ...dependencies, ...peers } };
writeFileSync(join(root, 'package.json'), JSON.stringify(runtime));
execFileSync('npm', ['prune', '--ignore-scripts', '--no-audit', '--no-fund'], {
  cwd: root,
  stdio: 'inherit',
});

// The SDK's native core comes for five platforms, with its sources.
const core = join(root, 'node_modules/@temporalio/core-bridge');
const { getPrebuiltTargetName } = require(join(core, 'common.js'));
const isNeeded = (platform) => platform === getPrebuiltTargetName();
for (const platform of readdirSync(join(core, 'releases'))) {
  if (!isNeeded(platform)) rmSync(join(core, 'releases', platform), { recursive: true });
}
for (const sources of ['sdk-core', 'bridge-macros'])
  rmSync(join(core, sources), { recursive: true, force: true });
