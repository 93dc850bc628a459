/** Temporal's runtime is native: Node does not tell of it, and it keeps a process from ending. */
globalThis.temporalRuntimeIsOpen = () => {
  const loaded = Object.keys(require.cache).find((path) =>
    path.endsWith('@temporalio/worker/lib/runtime.js'),
  );
  return loaded !== undefined && require(loaded).Runtime._instance !== undefined;
};
