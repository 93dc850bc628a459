import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { createVideoActivities, type VideoActivities } from '../../../activities';
import { noiseVideo } from '../../../src/emulator';
import { seededRandom } from '../../../src/emulator/seeded-random';
import { createVideoService, type VideoService } from '../../../src/service';
import { cutAt, resetAt, serve } from '../../support/hostile-answers';
import { type Answer, type HostileServer, startHostileServer } from '../../support/hostile-server';
import { type HostileSink, SINKS } from '../../support/hostile-sinks';
import { atLength } from '../../support/nightly';
import { S3_SERVER_TIMEOUT_MS } from '../../support/s3-server';
import { REPLAY, SEED } from '../../support/seed';
import { runActivity } from '../activity-world';
import { sha256 } from './download-world';

const KIB = 1024;
const MIB = KIB * KIB;

/** The first cut is inside the bytes that show the container, the second right after them. */
const FIRST_CUTS = [4_000, 4_100];

const random = seededRandom(`cuts ${SEED}`);
const randomCuts = (count: number, length: number) =>
  Array.from({ length: count }, () => 1 + Math.floor(random() * (length - 1)));

let home: HostileServer;
let service: VideoService;
beforeAll(async () => {
  home = await startHostileServer();
  service = createVideoService({ baseUrl: home.url, apiKey: () => 'the-key-of-the-service' });
});
afterAll(async () => {
  await service.close();
  await home.close();
});

describe.each([
  ['files', SINKS.files, 300 * KIB, atLength(25, 50)],
  ['S3', SINKS.S3, 300 * KIB, atLength(25, 50)],
  ['S3 in parts', SINKS.S3, 9 * MIB, atLength(5, 10)],
] as const)('downloaded to %s, a video', (_where, startSink, length, cuts) => {
  let sink: HostileSink;
  let bytes: Buffer;
  let activities: VideoActivities;
  beforeAll(async () => {
    bytes = await noiseVideo({ prompt: 'A red fox' }, length);
    sink = await startSink();
    activities = createVideoActivities({ service, storage: sink.storage });
  }, S3_SERVER_TIMEOUT_MS);
  afterAll(() => sink.close());

  /** Runs one attempt, which stores the complete video and nothing else, and returns the ranges it asked for. */
  async function ranges(...answers: Answer[]): Promise<(string | undefined)[]> {
    const taskId = `task-${randomUUID()}`;
    const requests = home.add(taskId, { bytes, answers });
    const folder = `of-${taskId}`;
    const { video } = await runActivity(activities.downloadVideo, {
      taskId,
      storage: `${folder}/video.{ext}`,
    });
    expect(video).toMatchObject({ bytes: bytes.length, sha256: sha256(bytes) });
    const stored = await sink.storage.read(`${folder}/video.mp4`);
    expect(stored && (await buffer(stored)).equals(bytes)).toBe(true);
    expect((await sink.everythingIn(folder)).sort()).toEqual(['video.mp4', 'video.mp4.json']);
    // Without the ETag, a range could return the rest of another video.
    for (const { range, ifRange } of requests.videos) expect(ifRange).toBe(range && '"one"');
    return requests.videos.map(({ range }) => range);
  }

  describe(`that is cut once, ${REPLAY},`, () => {
    const offsets = [...FIRST_CUTS, ...randomCuts(cuts, length)];

    test.each(offsets)('after %d bytes, resumes there', async (offset) => {
      const asked = await ranges(cutAt(offset / length), serve);
      expect(asked).toStrictEqual([undefined, `bytes=${Math.floor((offset / length) * length)}-`]);
    });

    test.each(offsets.slice(0, 8))('after %d bytes by a reset, resumes where it got to', async (offset) => {
      const asked = await ranges(resetAt(offset / length), serve);
      expect(asked).toHaveLength(2);
      const [, from = '0'] = /^bytes=(\d+)-$/.exec(asked[1] ?? '') ?? [];
      expect(Number(from)).toBeLessThanOrEqual(offset);
    });
  });
});
