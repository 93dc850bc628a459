const { createRequire } = require('node:module');
const { sep } = require('node:path');
const { default: Runtime } = require('jest-runtime');

const IN_A_PACKAGE = `${sep}node_modules${sep}`;

/**
 * Jest loads every package again for every test file, which takes half the time of a quick file. Here a process loads a
 * package once, as Node does, and only our own modules again for each file. Mocked packages stay jest's own affair.
 */
module.exports = class SharedPackages extends Runtime {
  requireModule(from, name, options, isRequireActual) {
    const path = options?.isInternalModule ? undefined : packageFile(from, name);
    if (path === undefined) return super.requireModule(from, name, options, isRequireActual);
    return require(path);
  }
};

/** Undefined for a module of Node or of ours. */
function packageFile(from, name) {
  if (name === undefined || name.startsWith('node:')) return undefined;
  try {
    const path = createRequire(from).resolve(name);
    return path.includes(IN_A_PACKAGE) ? path : undefined;
  } catch {
    // Jest explains best what it does not find.
    return undefined;
  }
}
