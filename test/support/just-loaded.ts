/** What a module is in a process that has just started: a copy of its own, which `load` requires. */
export function justLoaded<T>(load: () => T): T {
  const copies: T[] = [];
  jest.isolateModules(() => copies.push(load()));
  const [copy] = copies;
  if (copy === undefined) throw new Error('nothing was loaded');
  return copy;
}
