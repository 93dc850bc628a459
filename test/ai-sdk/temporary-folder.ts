import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for the tests of a file. */
export function temporaryFolder(): { folder(): string } {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { folder: () => folder };
}
