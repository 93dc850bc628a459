import { inspect } from 'node:util';

/** Gives a JavaScript caller, whom no compiler warns, one sentence with the names that exist. */
export function checkName<Name extends string>(what: string, given: unknown, names: readonly Name[]): Name {
  const known = names.find((name) => name === given);
  if (known !== undefined) return known;
  throw new RangeError(`${what} is ${showValue(given)}: give one of ${names.join(', ')}.`);
}

/** One line, however large the value is. */
export function showValue(given: unknown): string {
  return inspect(given, { depth: 1, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 100 });
}
