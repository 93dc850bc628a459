import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isExecutableFile } from '../../src/temporal-server/executable-file';
import { downloadWithSdk } from '../../src/temporal-server/sdk-download';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sdk-download-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A fake SDK on a machine with internet: it writes the files that the SDK would download, and starts nothing. */
async function sdkThatDownloads(files: readonly string[]): Promise<string> {
  const module = join(folder, 'sdk.cjs');
  await writeFile(
    module,
    `const { writeFileSync } = require('node:fs');
     exports.TestWorkflowEnvironment = {
       createLocal: async ({ server: { executable } }) => {
         for (const file of ${JSON.stringify(files)}) {
           writeFileSync(executable.downloadDir + '/' + file, executable.type + ' ' + executable.version, { mode: 0o755 });
         }
         return { teardown: async () => process.stdout.write('noise of a server') };
       },
     };`,
  );
  return module;
}

test('only the executable that the SDK downloaded remains', async () => {
  const target = join(folder, 'temporal');

  const sdk = await sdkThatDownloads(['temporal-cli-v1.9.1']);

  await downloadWithSdk('createLocal', target, { sdk, version: 'v1.9.1' });

  expect(await readFile(target, 'utf8')).toBe('cached-download v1.9.1');
  expect(await isExecutableFile(target)).toBe(true);
  expect((await readdir(folder)).sort()).toEqual(['sdk.cjs', 'temporal']);
});

test.each([[[]], [['one', 'two']]])('a download of %j is refused', async (files: string[]) => {
  const sdk = await sdkThatDownloads(files);

  await expect(downloadWithSdk('createLocal', join(folder, 'temporal'), { sdk })).rejects.toThrow(
    `the SDK left ${files.length} executables`,
  );
});
