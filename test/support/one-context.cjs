require('./compile-once.cjs');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/**
 * Runs every test file in the context of the process, so that the packages which files share (shared-packages.cjs) have the
 * same Error, Array and Object as the tests. When a file ends, its globals, its environment and what jest did to `process` are put back.
 */
module.exports = class OneContext {
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.found = {
      env: { ...process.env },
      globals: Object.getOwnPropertyDescriptors(globalThis),
      process: Object.getOwnPropertyDescriptors(process),
    };
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.fakeTimersModern = null;
    putBack(globalThis, this.found.globals);
    putBack(process, this.found.process);
    for (const name of Object.keys(process.env)) if (!(name in this.found.env)) delete process.env[name];
    Object.assign(process.env, this.found.env);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Jest stops loading modules for a file whose environment has no context any more. */
  getVmContext() {
    return this.fakeTimersModern && globalThis;
  }
};

function putBack(object, found) {
  for (const key of Reflect.ownKeys(object)) {
    if (!Object.hasOwn(found, key)) delete object[key];
  }
  for (const key of Reflect.ownKeys(found)) {
    const now = Object.getOwnPropertyDescriptor(object, key);
    const was = found[key];
    if (was.configurable && (now?.value !== was.value || now?.get !== was.get))
      Object.defineProperty(object, key, was);
  }
}
