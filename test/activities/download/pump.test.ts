import { PassThrough, Readable } from 'node:stream';
import { pump } from '../../../activities/download/video-download';

const later = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

it.each([
  ['at once', () => undefined],
  ['later', later],
])(
  'a stream has been taken whole when it is over, each chunk in its order, though they are taken %s',
  async (_when, wait) => {
    const chunks = ['a', 'b', 'c'].map((text) => Buffer.from(text));
    const taken: string[] = [];
    await pump(Readable.from(chunks, { objectMode: false }), async (chunk) => {
      await wait();
      taken.push(String(chunk));
    });
    expect(taken.join('')).toBe('abc');
  },
);

it('a stream is held back while a chunk is waited for', async () => {
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

it.each<[what: string, take: () => Promise<void> | undefined]>([
  [
    'at once',
    () => {
      throw new Error('no room');
    },
  ],
  ['later', () => later().then(() => Promise.reject(new Error('no room')))],
])('what fails %s ends the stream, though it was at its end', async (_when, take) => {
  const stream = new PassThrough();
  stream.end('a');
  await expect(pump(stream, take)).rejects.toThrow('no room');
  expect(stream.destroyed).toBe(true);
});

it('a stream that breaks, or is closed before its end, is told', async () => {
  const broken = new PassThrough();
  const pouring = pump(broken, () => undefined);
  broken.destroy(new Error('cut'));
  await expect(pouring).rejects.toThrow('cut');

  const closed = new PassThrough();
  const alike = pump(closed, () => undefined);
  closed.destroy();
  await expect(alike).rejects.toThrow('closed before its end');
});

it.each<[how: string, end: (stream: PassThrough) => unknown]>([
  ['ends', (stream) => stream.end()],
  ['breaks', (stream) => stream.destroy(new Error('cut'))],
])('a stream that %s is over when its last chunk has been taken, and not before', async (_how, end) => {
  const stream = new PassThrough();
  let isTaken = false;
  const pouring = pump(stream, async () => {
    end(stream);
    await later();
    isTaken = true;
  });
  stream.write('a');
  await pouring.catch(() => undefined);
  expect(isTaken).toBe(true);
});
