import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** The packages, and the folders of ours, whose code Node has loaded when a script of the compiled modules ends. */
function loadedBy(script: string): { packages: string[]; folders: string[] } {
  const output = execFileSync(
    process.execPath,
    ['-e', `${script}; process.stdout.write(JSON.stringify(Object.keys(require.cache)))`],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: 20 * 1024 * 1024 },
  );
  const files: string[] = JSON.parse(output).filter((file: string) => !file.endsWith('.json'));
  const matches = (pattern: RegExp) =>
    [...new Set(files.flatMap((file) => pattern.exec(file)?.[1] ?? []))].sort();
  return {
    packages: matches(/^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    folders: matches(/^.*\/dist\/(activities|workflows|src\/[^/]+)\//),
  };
}

describe('a worker that starts', () => {
  it("loads zod and a digest beside Temporal's SDK, and no OpenTelemetry, no client of HTTP, S3, videos or YAML, until it needs one", () => {
    const storage = mkdtempSync(join(tmpdir(), 'videogen-loaded-'));
    const env = JSON.stringify({
      VIDEO_API_BASE_URL: 'http://127.0.0.1:1',
      VIDEO_API_KEY: 'k',
      VIDEOGEN_STORAGE: storage,
    });
    const sdk = loadedBy(
      "require('@temporalio/worker'); require('@temporalio/envconfig'); require('@temporalio/plugin')",
    );
    const { packages, folders } = loadedBy(`
      require('./dist/src/cli/worker');
      require('./dist/src/worker/video-work').prepareWork({ env: ${env} }).storage.probe();
    `);
    expect(packages.filter((name) => !sdk.packages.includes(name))).toEqual(['@noble/hashes', 'zod']);
    expect(folders).toEqual([
      'activities',
      'src/cli',
      'src/client',
      'src/config',
      'src/contract',
      'src/encryption',
      'src/media',
      'src/service',
      'src/storage',
      'src/temporal-server',
      'src/worker',
    ]);
    rmSync(storage, { recursive: true });
  });
});

it('the help loads the parser of arguments alone', () => {
  const { packages, folders } = loadedBy("require('./dist/src/cli/run')");
  expect(packages).toEqual(['commander']);
  // Of the client, the states that a list may have.
  expect(folders).toEqual(['src/cli', 'src/client', 'src/config', 'src/contract']);
});
