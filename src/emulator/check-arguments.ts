import { inspect } from 'node:util';

/** A caller without a compiler gets one sentence with the names that exist. */
export function checkName<Name extends string>(what: string, given: unknown, names: readonly Name[]): Name {
  const known = names.find((name) => name === given);
  if (known !== undefined) return known;
  throw new RangeError(`${what} is ${shownValue(given)}: give one of ${names.join(', ')}.`);
}

/** One line, however large the value is. */
export function shownValue(given: unknown): string {
  return inspect(given, { depth: 1, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 100 });
}
