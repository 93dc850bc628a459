import { ConfigError } from '../../src/config/service-config';

/** The message of the ConfigError, which must be one line with the variable, the problem and the fix. */
export function refusal(read: () => unknown, { without }: { without?: string } = {}): string {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).toMatch(/^[A-Z]+_[A-Z0-9_]+\b[^\n\r]+: [a-z][^\n\r]+\.$/);
    if (without !== undefined) expect(error.message).not.toContain(without);
    return error.message;
  }
  throw new Error('it was accepted');
}
