import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** As a program that has the AI SDK sees it. */
const PROGRAM = `
import type { Experimental_VideoModelV4 as VideoModelV4 } from '@ai-sdk/provider';
import { videoModel } from 'temporal-videogen/ai-sdk';
export const model: VideoModelV4 = videoModel();
// @ts-expect-error A client alone is no model.
export const mistaken: VideoModelV4 = { close: videoModel().close };
`;

test("the model is a VideoModelV4 by the AI SDK's own types", () => {
  const folder = mkdtempSync(join(tmpdir(), 'videogen-model-types-'));
  try {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(__dirname, 'node_modules/@ai-sdk'), join(folder, 'node_modules/@ai-sdk'));
    symlinkSync(ROOT, join(folder, 'node_modules/temporal-videogen'));
    writeFileSync(join(folder, 'program.mts'), PROGRAM);
    const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'node20', '--types', ''];
    const { stdout } = spawnSync(process.execPath, [compiler, ...options, 'program.mts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
