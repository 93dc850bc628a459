import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container } from '../../src/contract/video-facts';
import { FfmpegFailed, firstFrame, lastFrame } from '../../src/media';
import { FFMPEG_TIMEOUT_MS, findFfmpeg, makeWith } from '../support/ffmpeg';
import { sha256Of } from '../support/images';
import { brightness, readPng } from '../support/png';
import { type Form, makeVideo } from './make-video';

let folder: string;
let ffmpeg: string;
const signal = new AbortController().signal;
beforeAll(async () => {
  ffmpeg = await findFfmpeg();
  folder = await mkdtemp(join(tmpdir(), 'videogen-frames-'));
}, FFMPEG_TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true }));

const tools = () => ({ ffmpeg, cwd: folder, signal });

const SOURCE = (frames: number) => ['-f', 'lavfi', '-i', `color=black:s=64x48:r=10:d=${frames / 10}`];
/** Each picture is a little brighter than the one before: 0, 10, 20 … of 255. */
const BRIGHTER = ['-vf', 'format=rgb24,geq=r=10*N:g=10*N:b=10*N'];
const SOUND = ['-f', 'lavfi', '-i', 'sine=d=4'];
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-qp', '0', '-pix_fmt', 'yuv444p'];
/** One keyframe, and pictures in another order than they are shown. */
const B_FRAMES = ['-c:v', 'libx264', '-qp', '0', '-pix_fmt', 'yuv444p', '-bf', '3', '-g', '250'];
const VP9 = ['-c:v', 'libvpx-vp9', '-lossless', '1', '-deadline', 'realtime', '-cpu-used', '8'];

/** Its arguments, and how many pictures it has. */
const VIDEOS: Record<string, { container: Container; args: string[]; frames: number }> = {
  'with one keyframe and B-frames': {
    container: 'mp4',
    args: [...SOURCE(20), ...BRIGHTER, ...B_FRAMES],
    frames: 20,
  },
  'of one picture': { container: 'mp4', args: [...SOURCE(1), ...BRIGHTER, ...H264], frames: 1 },
  'whose sound is longer than its pictures': {
    container: 'mp4',
    args: [...SOURCE(12), ...SOUND, ...BRIGHTER, ...H264, '-c:a', 'aac'],
    frames: 12,
  },
  'whose pictures come at uneven times, the last of them for no time': {
    container: 'mp4',
    args: [...SOURCE(15), '-vf', `${BRIGHTER[1]},setpts=N*N`, '-fps_mode', 'passthrough', ...H264],
    frames: 15,
  },
  'as WebM': { container: 'webm', args: [...SOURCE(9), ...SOUND, ...BRIGHTER, ...VP9], frames: 9 },
};

it.each(Object.entries(VIDEOS))(
  'the first and the very last picture are those of a video %s',
  async (name, of) => {
    const { container, args, frames } = of;
    const path = join(folder, `${name.replaceAll(/\W+/g, '-')}.${container}`);
    await makeWith(ffmpeg, ...args, path);
    const [first, last] = [
      await firstFrame({ path, container }, tools()),
      await lastFrame({ path, container }, tools()),
    ];
    expect([first, last].map(({ width, height }) => `${width}x${height}`)).toEqual(['64x48', '64x48']);
    const shown = [first, last].map(({ png }) => Math.round(brightness(readPng(png)) / 10));
    expect(shown).toEqual([0, frames - 1]);
    // The same file always makes the same bytes.
    expect((await lastFrame({ path, container }, tools())).png.equals(last.png)).toBe(true);
  },
);

it.each<[Form, Container]>([
  ['MP4 that ends with its tables', 'mp4'],
  ['MP4 of fragments', 'mp4'],
  ['QuickTime', 'mov'],
  ['Matroska of a live recording', 'mkv'],
  ['MPEG transport stream', 'ts'],
])(
  'the pictures of a film as %s are those of the same film as an MP4 that begins with its tables',
  async (form, container) => {
    const pictures = async (as: Form, asContainer: Container) => {
      const path = join(folder, `film.${asContainer}`);
      await writeFile(path, await makeVideo(as));
      const video = { path, container: asContainer };
      return [await firstFrame(video, tools()), await lastFrame(video, tools())].map(({ png }) =>
        sha256Of(readPng(png).rgb),
      );
    };
    const expected = await pictures('MP4 that begins with its tables', 'mp4');
    expect(expected[0]).not.toBe(expected[1]);
    expect(await pictures(form, container)).toEqual(expected);
  },
);

it('a picture is shown as it is meant to be: a rotated video gives an upright one', async () => {
  const turned = join(folder, 'turned.mp4');
  const film = await makeVideo('MP4 that begins with its tables');
  // By a quarter: rows of a matrix in the header of the track.
  const matrixAt = film.indexOf('tkhd') + 44;
  for (const [index, value] of [0, 65_536, 0, -65_536, 0].entries())
    film.writeInt32BE(value, matrixAt + 4 * index);
  await writeFile(turned, film);
  const { width, height } = await lastFrame({ path: turned, container: 'mp4' }, tools());
  expect([width, height]).toEqual([48, 64]);
});

describe('a hostile file', () => {
  const reasonOf = async (promise: Promise<unknown>) => {
    const error: unknown = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof FfmpegFailed)) throw new Error(`it was read: ${String(error)}`);
    return error.message;
  };

  it('opens no other file and no address, whatever it says it is', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(String(request.url));
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const good = join(folder, 'good.mp4');
    await makeWith(ffmpeg, ...SOURCE(2), ...BRIGHTER, ...H264, good);
    const texts = [
      `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${address}/1.ts\n#EXTINF:1,\nfile:${good}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile 'file:${good}'\nfile '${address}/2.mp4'\n`,
      // Nothing but the other file, in the words that ffmpeg takes for safe.
      `ffconcat version 1.0\nfile 'good.mp4'\n`,
      `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ngood.mp4\n#EXT-X-ENDLIST\n`,
      `<?xml version="1.0"?><MPD><BaseURL>${address}/3</BaseURL></MPD>`,
    ];
    try {
      for (const text of texts) {
        for (const container of ['mp4', 'webm', 'ts'] as const) {
          const path = join(folder, 'hostile');
          await writeFile(path, text);
          const reason = await reasonOf(lastFrame({ path, container }, tools()));
          expect(reason).not.toContain(folder);
        }
      }
      expect(asked).toEqual([]);
    } finally {
      server.close();
    }
  });

  it('gets no picture of more pixels than it may have', async () => {
    const path = join(folder, 'large.mp4');
    await makeWith(ffmpeg, ...SOURCE(2), ...BRIGHTER, ...H264, path);
    const read = (mostPixels: number) => lastFrame({ path, container: 'mp4' }, { ...tools(), mostPixels });
    expect(await reasonOf(read(64 * 48 - 1))).toMatch(/^ffmpeg ended with code|no picture/);
    expect(await read(64 * 64)).toMatchObject({ width: 64, height: 48 });
  });

  it('that is cut anywhere gives a picture or a reason, and no more', async () => {
    const path = join(folder, 'whole.mp4');
    await makeWith(ffmpeg, ...SOURCE(4), ...BRIGHTER, ...H264, '-movflags', 'faststart', path);
    const whole = await readFile(path);
    for (const share of [0.2, 0.6, 0.95]) {
      const cut = join(folder, 'cut.mp4');
      await writeFile(cut, whole.subarray(0, Math.floor(share * whole.length)));
      const ended = await lastFrame({ path: cut, container: 'mp4' }, tools()).catch(
        (error: unknown) => error,
      );
      expect(ended instanceof FfmpegFailed || readPng(Object(ended).png).width === 64).toBe(true);
    }
  });
});

it('ends with the worker that started it, even when that is killed', async () => {
  const path = join(folder, 'slow.mp4');
  await makeWith(ffmpeg, '-f', 'lavfi', '-i', 'color=black:s=64x48:r=10:d=600', ...H264, path);
  const [slow, pidFile] = [join(folder, 'slow'), join(folder, 'pid')];
  // As fast as it plays: ten minutes.
  await writeFile(slow, `#!/bin/sh\necho $$ > ${pidFile}\nexec ${ffmpeg} -re "$@"\n`, { mode: 0o755 });
  const worker = spawn(process.execPath, [
    ...['--require', join(__dirname, '../support/run-typescript.cjs'), '--eval'],
    `const { lastFrame } = require(${JSON.stringify(join(__dirname, '../../src/media/frames.ts'))});
    const tools = { ffmpeg: ${JSON.stringify(slow)}, cwd: ${JSON.stringify(folder)}, signal: new AbortController().signal };
    lastFrame({ path: ${JSON.stringify(path)}, container: 'mp4' }, tools);`,
  ]);
  const pid = await until(async () => Number(await readFile(pidFile, 'utf8').catch(() => '')) || undefined);
  worker.kill('SIGKILL');
  await until(async () => ((await isRunning(pid)) ? undefined : true));
});

async function until<T>(found: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const value = await found();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** One that has ended may wait for somebody to ask how. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  if (stat !== '') return !stat.includes(') Z ');
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
