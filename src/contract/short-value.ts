import { sha256 } from './sha256';

/** Characters of JSON. */
const LONGEST_VALUE = 200;

/** A value that is compared and not used, with a digest in place of what is long. What is short stays as it is. */
export function shortValue(value: unknown): unknown {
  const json = JSON.stringify(value) ?? '';
  return json.length <= LONGEST_VALUE ? value : `sha256:${sha256(json)}`;
}
