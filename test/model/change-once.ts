/** Bundled code with one change. A place that is not there, or not alone, would change nothing or too much. */
export function changeOnce(code: string, from: string | RegExp, to: string): string {
  const parts = code.split(from);
  if (parts.length !== 2) throw new Error(`${from} is ${parts.length - 1} times in the bundle, not once`);
  return parts.join(to);
}
