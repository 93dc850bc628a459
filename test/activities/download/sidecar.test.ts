import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { writeSidecar } from '../../../activities/download/download-video';
import { hasControls } from '../../../src/contract/clean-text';
import { createFileStorage, type VideoStorage } from '../../../src/storage';

const MIB = 1024 * 1024;
const sidecar = {
  namespace: 'default',
  workflowId: 'job-1',
  taskId: 'task-1',
  video: { uri: 'file:///fox.mp4', bytes: 1, sha256: '0', contentType: 'video/mp4' },
  warnings: [],
};

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-sidecar-'));
  storage = createFileStorage(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const written = async () => JSON.parse(await readFile(join(folder, 'fox.mp4.json'), 'utf8'));

it('a sidecar of the same task is replaced without a warning', async () => {
  await writeFile(join(folder, 'fox.mp4.json'), '{"taskId":"task-1"}');
  expect(await writeSidecar(storage, 'fox.mp4', sidecar)).toBeUndefined();
  expect(await written()).toEqual(sidecar);
});

it('a sidecar of another task stays, with a warning', async () => {
  await writeFile(join(folder, 'fox.mp4.json'), '{"taskId":"task-2"}');
  const warning = await writeSidecar(storage, 'fox.mp4', sidecar);
  expect(warning).toBe('fox.mp4.json exists already and was not overwritten');
  expect(await written()).toEqual({ taskId: 'task-2' });
});

it('a folder with the name of the sidecar is a warning', async () => {
  await mkdir(join(folder, 'fox.mp4.json'));
  const warning = await writeSidecar(storage, 'fox.mp4', sidecar);
  expect(warning).toMatch(/^fox\.mp4\.json could not be written: .* is not a regular file/);
});

it('a name that is too long for the sidecar is a warning', async () => {
  const key = `${'x'.repeat(249)}.mp4`;
  const warning = await writeSidecar(storage, key, sidecar);
  expect(warning).toContain(`${key}.json could not be written: ENAMETOOLONG`);
});

it('a huge file with the name of the sidecar is not overwritten, and only its beginning is read', async () => {
  let readBytes = 0;
  const huge = Readable.from(
    (function* () {
      for (let chunk = 0; chunk < 100; chunk += 1) {
        readBytes += MIB;
        yield Buffer.alloc(MIB, ' ');
      }
    })(),
  );
  const full: VideoStorage = { ...storage, read: async () => huge };
  const warning = await writeSidecar(full, 'fox.mp4', sidecar);
  expect(warning).toBe('fox.mp4.json exists already and was not overwritten');
  expect(readBytes).toBeLessThan(25 * MIB);
  expect(huge.destroyed).toBe(true);
});

it('any error of the storage is a warning in one short line', async () => {
  const broken: VideoStorage = {
    ...storage,
    write: () => Promise.reject(new Error(`no\u001b[2J room\n${'x'.repeat(10_000)}`)),
  };
  const warning = (await writeSidecar(broken, 'fox.mp4', sidecar)) ?? '';
  expect(warning).toMatch(/^fox\.mp4\.json could not be written: no/);
  expect(hasControls(warning)).toBe(false);
  expect(warning.length).toBeLessThan(1_000);
});
