/** Temporal's runtime is native: it keeps a process from ending, but Node does not list it. */
globalThis.temporalRuntimeIsOpen = () => {
  const loaded = Object.keys(require.cache).find((path) =>
    path.endsWith('@temporalio/worker/lib/runtime.js'),
  );
  return loaded !== undefined && require(loaded).Runtime._instance !== undefined;
};
