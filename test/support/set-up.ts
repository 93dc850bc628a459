import './documented-answers';

/** Temporal's runtime is native: it keeps a process from ending, but Node does not list it. */
Object.assign(globalThis, {
  temporalRuntimeIsOpen: () => require.cache[RUNTIME]?.exports.Runtime._instance !== undefined,
});

const RUNTIME = require.resolve('@temporalio/worker/lib/runtime');
