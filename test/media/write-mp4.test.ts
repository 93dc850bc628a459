import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Film, type Picture, probeVideo, writeMp4 } from '../../src/media';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-media-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function stored(name: string, bytes: Buffer | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

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
  it('has the size and the length that it was given, and its table of contents first', async () => {
    const file = await writeMp4(film());
    expect(await probeVideo(await stored('film.mp4', file))).toEqual({
      container: 'MP4',
      codec: 'avc',
      width: 64,
      height: 48,
      durationSeconds: 2,
    });
    expect(file.indexOf('moov')).toBeLessThan(file.indexOf('mdat'));
  });

  it('may have any even size', async () => {
    const path = await stored('odd.mp4', await writeMp4(film({ width: 70, height: 34, frames: 1 })));
    expect(await probeVideo(path)).toMatchObject({ width: 70, height: 34, durationSeconds: 0.1 });
  });

  it('is refused when it is larger than any level of H.264 that we write', async () => {
    await expect(writeMp4(film({ width: 8192, height: 4320 }))).rejects.toThrow('8192 x 4320 is too large');
  });

  it('is the same bytes whenever it is made', async () => {
    const first = await writeMp4(film());
    await sleep(1_100);
    expect((await writeMp4(film())).equals(first)).toBe(true);
  });

  it('ends when nobody wants it any more', async () => {
    const abort = new AbortController();
    const draw = (picture: Picture, frame: number) => {
      blink(picture, frame);
      if (frame === 3) abort.abort();
      expect(frame).toBeLessThanOrEqual(3);
    };
    await expect(writeMp4(film({ draw, signal: abort.signal }))).rejects.toThrow('aborted');
  });
});

describe('a file that is no video', () => {
  it.each([
    ['is empty', ''],
    ['is a web page', '<!doctype html><p>This link has expired.</p>'],
    [
      'is an MP4 in its first bytes alone',
      Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex'),
    ],
    ['is zeros', Buffer.alloc(100_000)],
    [
      'is a playlist',
      '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n',
    ],
  ])('that %s is none', async (_what, bytes) => {
    expect(await probeVideo(await stored('none.mp4', bytes))).toBeUndefined();
  });

  it('that was cut within its table of contents is none', async () => {
    const file = await writeMp4(film());
    expect(await probeVideo(await stored('cut.mp4', file.subarray(0, 300)))).toBeUndefined();
  });

  it('whose bytes were changed is read or is none, and never an error of the reader', async () => {
    const file = await writeMp4(film({ frames: 2 }));
    for (let at = 0; at < file.indexOf('mdat'); at += 5) {
      const broken = Buffer.from(file);
      broken[at] = 255 - (broken[at] ?? 0);
      await probeVideo(await stored('broken.mp4', broken));
    }
  });

  it('that is not there is an error', async () => {
    await expect(probeVideo(join(folder, 'missing.mp4'))).rejects.toThrow('ENOENT');
  });
});
