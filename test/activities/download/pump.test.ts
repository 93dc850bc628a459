import { PassThrough, Readable } from 'node:stream';
import { pump } from '../../../activities/download/video-download';

const later = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

it.each([
  ['at once', () => undefined],
  ['later', later],
])('every chunk of a stream is written, in order, when writing finishes %s', async (_when, wait) => {
  const chunks = ['a', 'b', 'c'].map((text) => Buffer.from(text));
  const written: string[] = [];
  await pump(Readable.from(chunks, { objectMode: false }), async (chunk) => {
    await wait();
    written.push(String(chunk));
  });
  expect(written.join('')).toBe('abc');
});

it('a stream is paused while a write is pending', async () => {
  let atOnce = 0;
  let most = 0;
  await pump(Readable.from(['a', 'b', 'c', 'd'].map((text) => Buffer.from(text))), async () => {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await later();
    atOnce -= 1;
  });
  expect(most).toBe(1);
});

it.each<[what: string, write: () => Promise<void> | undefined]>([
  [
    'at once',
    () => {
      throw new Error('no room');
    },
  ],
  ['later', () => later().then(() => Promise.reject(new Error('no room')))],
])('a write that fails %s destroys the stream, even at its end', async (_when, write) => {
  const stream = new PassThrough();
  stream.end('a');
  await expect(pump(stream, write)).rejects.toThrow('no room');
  expect(stream.destroyed).toBe(true);
});

it('a stream that breaks, or closes before its end, is an error', async () => {
  const broken = new PassThrough();
  const pumpingBroken = pump(broken, () => undefined);
  broken.destroy(new Error('cut'));
  await expect(pumpingBroken).rejects.toThrow('cut');

  const closed = new PassThrough();
  const pumpingClosed = pump(closed, () => undefined);
  closed.destroy();
  await expect(pumpingClosed).rejects.toThrow('closed before its end');
});

it.each<[how: string, end: (stream: PassThrough) => unknown]>([
  ['ends', (stream) => stream.end()],
  ['breaks', (stream) => stream.destroy(new Error('cut'))],
])('pumping a stream that %s finishes only after the last write', async (_how, end) => {
  const stream = new PassThrough();
  let isWritten = false;
  const pumping = pump(stream, async () => {
    end(stream);
    await later();
    isWritten = true;
  });
  stream.write('a');
  await pumping.catch(() => undefined);
  expect(isWritten).toBe(true);
});
