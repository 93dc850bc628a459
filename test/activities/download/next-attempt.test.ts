import type { VideoService } from '../../../src/service';
import { openVideoBytes } from '../../support/open-video-bytes';
import { failureOf } from '../activity-world';
import { createMemoryWorld, cutAfter, inspectedVideo, TASK } from './memory-world';

let video: Buffer;
beforeAll(async () => {
  video = await inspectedVideo();
});

describe('the next attempt', () => {
  it('resumes what the one before left', async () => {
    const offsets: (number | undefined)[] = [];
    let hasRecovered = false;
    const open: VideoService['open'] = async (_link, { from } = {}) => {
      offsets.push(from?.offset);
      const body = openVideoBytes(video, from && { from });
      return hasRecovered ? body : cutAfter(offsets.length === 1 ? 5_000 : 0, body);
    };
    const world = createMemoryWorld(video, { service: { open } });
    const first = world.download();
    await failureOf(first);
    const note = first.beats.at(-1);
    hasRecovered = true;
    offsets.splice(0);
    const second = world.download({}, { attempt: 2, heartbeatDetails: note });
    expect((await second.result).video.bytes).toBe(video.length);
    expect([offsets, second.beats]).toEqual([[5_000], [note]]);
    expect(world.linesOf('downloading').at(-1)).toEqual({ taskId: TASK, bytes: 5_000 });
  });
});
