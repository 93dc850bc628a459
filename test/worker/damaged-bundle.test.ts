import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleFiles, describeBundle, findBundle } from '../../src/worker/own-workflows';

test.each([
  ['truncated', 'export const a'],
  ['empty', ''],
  ['of another build', 'export const b = 1;'],
])('a bundle that is %s is not used', (_kind, damaged) => {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  const { code, description } = bundleFiles(folder);
  writeFileSync(code, 'export const a = 1;');
  writeFileSync(description, describeBundle('export const a = 1;'));
  expect(findBundle(folder)).toBe(join(folder, 'bundle.js'));
  writeFileSync(code, damaged);
  expect(findBundle(folder)).toBeUndefined();
  rmSync(folder, { recursive: true });
});
