/** What the figures were measured on, in words that name no machine. */
const { readFileSync } = require('node:fs');
const { arch, cpus, platform, totalmem } = require('node:os');
const { join } = require('node:path');

const ROOT = join(__dirname, '../..');
const GIB = 1024 ** 3;

const versionOf = (name) => JSON.parse(readFileSync(join(ROOT, `node_modules/${name}/package.json`))).version;

/** A CPU model without trademarks, clock and numbers of the single chip. */
const plainModel = (model) =>
  model
    .replace(/\((?:R|TM)\)/gi, '')
    .replace(/@.*$|\bCPU\b|\bProcessor\b|\b\d+-Core\b/gi, '')
    .replace(/\s+/g, ' ')
    .trim();

/** Cores, memory and CPU model in general words. */
exports.describeMachine = () => ({
  cores: cpus().length,
  memoryGib: Math.round(totalmem() / GIB),
  cpu: plainModel(cpus()[0]?.model ?? '') || arch(),
  system: `${platform()} ${arch()}`,
});

/** The versions that every section shares. A section adds those of its peers. */
exports.sharedVersions = () => ({
  Node: process.versions.node,
  'Temporal SDK': versionOf('@temporalio/worker'),
  undici: versionOf('undici'),
});
