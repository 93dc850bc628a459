import { setTimeout as sleep } from 'node:timers/promises';
import type { Picture } from '../../../src/testing/video/picture';
import { type Film, writeMp4 } from '../../../src/testing/video/write-mp4';
import { inspect } from '../../media/inspect';

function blink(picture: Picture, frame: number): void {
  for (let i = 0; i < picture.macroblocks; i++) picture.paint(i, () => (frame % 2 ? 0x808080 : 0x208080));
}

const film = (change: Partial<Film> = {}): Film => ({
  width: 64,
  height: 48,
  frames: 20,
  framesPerSecond: 10,
  draw: blink,
  ...change,
});

describe('a film', () => {
  it('has the given size and length, and its tables first', async () => {
    const file = await writeMp4(film());
    expect(await inspect(file)).toEqual({
      kind: 'video',
      facts: { container: 'mp4', codec: 'avc', width: 64, height: 48, durationSeconds: 2 },
      end: 'checked',
    });
    expect(file.indexOf('moov')).toBeLessThan(file.indexOf('mdat'));
  });

  it('may have any even size', async () => {
    const file = await writeMp4(film({ width: 70, height: 34, frames: 1 }));
    expect(await inspect(file)).toMatchObject({ facts: { width: 70, height: 34, durationSeconds: 0.1 } });
  });

  it('is refused when it is larger than the highest level', async () => {
    await expect(writeMp4(film({ width: 8192, height: 4320 }))).rejects.toThrow('8192 x 4320 is too large');
  });

  it('has the same bytes whenever it is written', async () => {
    const first = await writeMp4(film());
    await sleep(1_100);
    expect((await writeMp4(film())).equals(first)).toBe(true);
  });

  it('stops when it is aborted', async () => {
    const abort = new AbortController();
    const draw = (picture: Picture, frame: number) => {
      blink(picture, frame);
      if (frame === 3) abort.abort();
      expect(frame).toBeLessThanOrEqual(3);
    };
    await expect(writeMp4(film({ draw, signal: abort.signal }))).rejects.toThrow('aborted');
  });
});
