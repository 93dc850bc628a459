import type { Emulator, RecordedCall } from '../../src/testing';

/** The POSTs that an emulator got, or those with one prompt. */
export function postsOf(emulator: Emulator, prompt?: string): RecordedCall[] {
  return emulator.calls.filter(
    ({ call, body }) => call === 'submit' && (prompt === undefined || Object(body).prompt === prompt),
  );
}
