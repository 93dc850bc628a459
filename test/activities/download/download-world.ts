import { createHash } from 'node:crypto';
import { type ActivityWorld, createActivityWorld } from '../activity-world';

export const VIDEO_BYTES = 300_000;

export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** A new world for each test, with one task whose video is ready. No result, failure or log may contain a secret. */
export function useDownloadWorld() {
  const opened: { world?: ActivityWorld; taskId?: string } = {};
  beforeEach(async () => {
    const world = await createActivityWorld({ videoBytes: VIDEO_BYTES });
    const { taskId } = await world.run(world.activities.submitVideo, { request: { prompt: 'A red fox' } })
      .result;
    Object.assign(opened, { world, taskId });
  });
  afterEach(async () => {
    const { world } = opened;
    expect(world?.emulator.scriptIsSpent()).toBe(true);
    expect(world?.everythingReported()).not.toContain(world?.emulator.linkSignature);
    expect(world?.everythingReported()).not.toContain(world?.emulator.apiKey);
    await world?.close();
  });
  return {
    get world(): ActivityWorld {
      if (!opened.world) throw new Error('the world exists only inside tests');
      return opened.world;
    },
    get taskId(): string {
      return opened.taskId ?? '';
    },
  };
}
