import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readApiKey } from '../../src/config/service-config';
import { readSetting } from '../../src/config/settings';

describe('a file that a setting names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'files-'));
  const pipe = join(folder, 'pipe');
  const huge = join(folder, 'huge');
  execFileSync('mkfifo', [pipe]);
  writeFileSync(huge, 'k'.repeat(2_000_000));

  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['a pipe', pipe, 'not a regular file'],
    ['a device without an end', '/dev/zero', 'not a regular file'],
    ['a folder', folder, 'EISDIR'],
    ['a huge file', huge, 'larger than 20 kB'],
  ])('is refused at once when it is %s', (_kind, file, problem) => {
    expect(() => readApiKey({ VIDEO_API_KEY_FILE: file })).toThrow(
      `VIDEO_API_KEY_FILE names a file that cannot be read (${problem})`,
    );
    expect(() => readSetting('VIDEOGEN_PROFILE', { VIDEOGEN_PROFILE: file })).toThrow(
      `a file that can be read (${problem})`,
    );
  });
});
