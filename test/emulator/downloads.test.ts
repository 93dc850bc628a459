import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { fetchFile, start } from './service-client';

const SIZE = 10_000;

async function startDownload() {
  const { emulator, makeLink } = await start({ videoBytes: SIZE });
  const link = await makeLink();
  const get = (headers: Record<string, string> = {}, method = 'GET') => fetchFile(link, { headers, method });
  return { emulator, link, get, video: await emulator.video(emulator.generations()[0]?.taskId ?? '') };
}

it('a download without a range is the whole file, with Accept-Ranges', async () => {
  const { get, video } = await startDownload();
  const { status, header, bytes } = await get();
  expect([status, header('content-length'), header('accept-ranges')]).toEqual([200, `${SIZE}`, 'bytes']);
  expect(header('content-range')).toBeNull();
  expect(header('etag')).toMatch(/^"[0-9a-f]{64}"$/);
  expect(bytes.equals(video)).toBe(true);
});

it.each<[range: string, first: number, last: number]>([
  ['bytes=0-0', 0, 0],
  ['bytes=0-', 0, SIZE - 1],
  ['bytes=100-199', 100, 199],
  ['bytes=9999-', SIZE - 1, SIZE - 1],
  ['bytes=9000-20000', 9_000, SIZE - 1],
  ['Bytes=5-6', 5, 6],
])('a download with the range %s is that part', async (range, first, last) => {
  const { get, video } = await startDownload();
  const { status, header, bytes } = await get({ range });
  expect(status).toBe(206);
  expect(header('content-range')).toBe(`bytes ${first}-${last}/${SIZE}`);
  expect(header('content-length')).toBe(String(last - first + 1));
  expect(header('content-type')).toBe('video/mp4');
  expect(bytes.equals(video.subarray(first, last + 1))).toBe(true);
});

it.each(['bytes=10000-', 'bytes=10000-10001', 'bytes=99999999999999999999-'])(
  'a download with the range %s, which lies outside the file, is refused with HTTP 416 and the length',
  async (range) => {
    const { status, header, bytes } = await (await startDownload()).get({ range });
    expect([status, header('content-range'), bytes.length]).toEqual([416, `bytes */${SIZE}`, 0]);
  },
);

it.each(['bytes=', 'bytes=-500', 'bytes=5-4', 'bytes=a-b', 'bytes=0-1,5-6', 'bytes 0-1', 'lines=0-1'])(
  'a download with the range %s, which has another form, is the whole file',
  async (range) => {
    const { status, bytes } = await (await startDownload()).get({ range });
    expect([status, bytes.length]).toEqual([200, SIZE]);
  },
);

it('a download with If-Range resumes an unchanged file and restarts a changed one', async () => {
  const { get, video } = await startDownload();
  const etag = (await get()).header('etag') ?? '';
  const range = 'bytes=4000-';
  expect(await get({ range, 'if-range': etag })).toMatchObject({ status: 206, bytes: video.subarray(4_000) });
  for (const other of ['"another"', `W/${etag}`, 'Sun, 15 Nov 2026 12:00:00 GMT'])
    expect(await get({ range, 'if-range': other })).toMatchObject({ status: 200, bytes: video });
  expect((await get({ range: 'bytes=20000-', 'if-range': '"another"' })).status).toBe(200);
});

it('a download by HEAD has the headers of the file and no body', async () => {
  const { emulator, get } = await startDownload();
  const { status, header, bytes } = await get({ range: 'bytes=0-1' }, 'HEAD');
  expect([status, header('content-length'), header('content-type')]).toEqual([200, `${SIZE}`, 'video/mp4']);
  expect(header('etag')).toBe((await get()).header('etag'));
  expect(bytes).toHaveLength(0);
  expect(emulator.calls.at(-2)).toMatchObject({ call: 'download', method: 'HEAD' });
});

it('a download of a range can be cut, and then resumed', async () => {
  const { emulator, link, get, video } = await startDownload();
  emulator.next('download', { kind: 'cut', afterBytes: 300 });
  const sent = httpRequest(link, { headers: { range: 'bytes=1000-' } }).end();
  const [response]: IncomingMessage[] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  response?.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
  await new Promise((resolve) => response?.once('close', resolve));
  expect(response?.complete).toBe(false);
  expect(Buffer.concat(chunks).equals(video.subarray(1_000, 1_300))).toBe(true);
  expect((await get({ range: 'bytes=1300-' })).bytes.equals(video.subarray(1_300))).toBe(true);
});

describe('while a video is made', () => {
  const startLarge = async () => {
    const world = await start({ videoBytes: undefined });
    const link = await world.makeLink({ prompt: 'A red fox', resolution: '1080p', duration: 10 });
    return { ...world, link, taskId: world.emulator.generations()[0]?.taskId ?? '' };
  };

  it('polls of its task are answered all the time', async () => {
    const { link, taskId, viewOf } = await startLarge();
    let bytes: number | undefined;
    const file = fetchFile(link).then((fetched) => {
      bytes = fetched.bytes.length;
    });
    let polls = 0;
    while (bytes === undefined) {
      expect(await viewOf(taskId)).toMatchObject({ status: 'succeeded' });
      polls++;
    }
    await file;
    // The file is whole.
    expect(bytes).toBeGreaterThan(200_000);
    // One or two if the event loop was blocked. How long each takes depends on the machine.
    expect(polls).toBeGreaterThan(10);
  });

  it('the emulator can be closed, which stops the work', async () => {
    const { emulator, link, taskId } = await startLarge();
    const ended = expect(emulator.video(taskId)).rejects.toThrow('aborted');
    const download = expect(fetch(link)).rejects.toThrow();
    setImmediate(() => void emulator.close());
    await Promise.all([download, ended]);
  });
});
