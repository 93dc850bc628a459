/** The code of an error, such as ENOENT. Not by `instanceof`: errors of Node may come from another realm. */
export function errorCode(error: unknown): unknown {
  return Reflect.get(Object(error), 'code');
}
