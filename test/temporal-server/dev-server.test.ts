import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerUnavailable, startDevServer } from '../../src/temporal-server';

it('says what to do about an executable that is damaged', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'damaged-'));
  const executable = join(folder, 'temporal');
  await writeFile(executable, '');
  await chmod(executable, 0o755);
  const error = await startDevServer({ executable }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ServerUnavailable);
  expect(String(error)).toContain(executable);
  expect(String(error)).toContain('delete it, or set VIDEOGEN_TEMPORAL_CLI');
  await rm(folder, { recursive: true });
});
