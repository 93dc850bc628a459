/** Temporal cannot be reached. The message has the address, the reason and the fix, but no key. */
export class TemporalUnreachable extends Error {
  override readonly name = 'TemporalUnreachable';
}
