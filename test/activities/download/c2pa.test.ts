import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createVideoActivities } from '../../../activities';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { noiseVideo } from '../../../src/testing/video/make-video';
import { box } from '../../media/boxes';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

const C2PA = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld();
});
afterAll(() => world.close());

test('C2PA metadata is stored byte for byte as it came', async () => {
  const manifest = box(
    'uuid',
    Buffer.concat([C2PA, Buffer.alloc(4), Buffer.from('manifest\0'), Buffer.alloc(3_000, 7)]),
  );
  const file = Buffer.concat([await noiseVideo({ prompt: 'A red fox' }, 20_000), manifest]);
  const service: VideoService = {
    ...world.service,
    open: async () => ({
      stream: Readable.from([file]),
      contentType: 'video/mp4',
      offset: 0,
      bytes: file.length,
      validator: undefined,
    }),
  };
  const storage = createFileStorage(world.folder);
  const { submitVideo, downloadVideo } = createVideoActivities({ service, storage });
  const { taskId } = await world.run(submitVideo, { request: { prompt: 'A red fox' } }).result;
  const { video } = await world.run(downloadVideo, { taskId }).result;
  expect((await readFile(fileURLToPath(video.uri))).equals(file)).toBe(true);
});
