import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Delivery, deliver } from '../../src/ai-sdk/deliver-video';
import type { StoredVideo } from '../../src/contract/job';
import { createFileStorage, type VideoStorage } from '../../src/storage';

const CONTENT = Buffer.from('not a real video, but its bytes');
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-deliver-'));
  await writeFile(join(folder, 'fox.mp4'), CONTENT);
});
afterEach(() => rmSync(folder, { recursive: true }));

const stored = (facts: Partial<StoredVideo> = {}): StoredVideo => ({
  uri: pathToFileURL(join(folder, 'fox.mp4')).href,
  bytes: CONTENT.length,
  sha256: createHash('sha256').update(CONTENT).digest('hex'),
  contentType: 'video/mp4',
  ...facts,
});

const delivered = (
  video: StoredVideo,
  { delivery = 'bytes', maxVideoBytes = 1_000, storage = createFileStorage(folder) } = {} as {
    delivery?: Delivery;
    maxVideoBytes?: number;
    storage?: VideoStorage;
  },
) => deliver([video], { delivery, maxVideoBytes, storage: () => storage });

test('a video is handed over as the bytes that are stored', async () => {
  const [video] = await delivered(stored());
  expect(video).toEqual({ type: 'binary', data: new Uint8Array(CONTENT), mediaType: 'video/mp4' });
});

test.each<[what: string, content: string]>([
  ['longer', `${CONTENT} and more`],
  ['shorter', 'not a real video'],
  ['another', CONTENT.toString().toUpperCase()],
])('a file that has become %s is not handed over', async (_how, content) => {
  await writeFile(join(folder, 'fox.mp4'), content);
  await expect(delivered(stored())).rejects.toMatchObject({
    isRetryable: false,
    message: expect.stringMatching(/^The file file:.*fox[.]mp4 is no longer the video of the job/),
  });
});

test('a process that cannot read the storage says where the video is and what to set', async () => {
  const video = stored({ uri: 's3://films/fox.mp4' });
  await expect(delivered(video)).rejects.toThrow(
    /stored at s3:\/\/films\/fox[.]mp4, which this process cannot read: set VIDEOGEN_STORAGE/,
  );
  expect(await delivered(video, { delivery: 'stored' })).toEqual([
    { type: 'uploaded', mediaType: 'video/mp4' },
  ]);
});

test('a video that is too large for the memory is refused before it is read, and the sentence says where it is', async () => {
  const storage = { ...createFileStorage(folder), open: () => Promise.reject(new Error('it was read')) };
  await expect(delivered(stored(), { maxVideoBytes: 30, storage })).rejects.toThrow(
    /file:.*fox[.]mp4 has 31 bytes, more than the 30 that are allowed: raise maxVideoBytes/,
  );
  expect(await delivered(stored({ bytes: 1e12 }), { delivery: 'stored' })).toHaveLength(1);
});

test('a link is one of the storage, and a storage without links says so', async () => {
  const link = async (key: string) => `https://bucket.example/${key}`;
  const storage = { ...createFileStorage(folder), link };
  expect(await delivered(stored(), { delivery: 'link', storage })).toEqual([
    { type: 'url', url: expect.stringContaining('https://bucket.example/'), mediaType: 'video/mp4' },
  ]);
  await expect(delivered(stored(), { delivery: 'link' })).rejects.toThrow(/makes no link: only S3 does/);
});
