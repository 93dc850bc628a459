import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Emulator, EmulatorOptions } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';

const SIZE = 10_000;
let emulator: Emulator;
let link: string;
let video: Buffer;

async function makeLink(options: EmulatorOptions, request: object): Promise<string> {
  emulator = await startEmulator({ jobTimeMs: 0, ...options });
  const taskId = Reflect.get(Object(await call('text-to-video', JSON.stringify(request))), 'task_id');
  return Reflect.get(Object(await call(taskId)), 'video_url');
}

async function call(path: string, body?: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${emulator.apiKey}` };
  const method = body === undefined ? 'GET' : 'POST';
  return (await fetch(`${emulator.url}/v1/videos/${path}`, { method, headers, body })).json();
}

afterEach(() => emulator.close());

describe('a download', () => {
  beforeEach(async () => {
    link = await makeLink({ videoBytes: SIZE }, { prompt: 'A red fox' });
    video = await emulator.video(emulator.generations()[0]?.taskId ?? '');
  });

  const get = async (headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(link, { headers, method });
    const { status, headers: answerHeaders } = response;
    return {
      status,
      header: (name: string) => answerHeaders.get(name),
      body: Buffer.from(await response.arrayBuffer()),
    };
  };

  it('without a range is the whole file, with Accept-Ranges', async () => {
    const { status, header, body } = await get();
    expect([status, header('content-length'), header('accept-ranges')]).toEqual([200, `${SIZE}`, 'bytes']);
    expect(header('content-range')).toBeNull();
    expect(header('etag')).toMatch(/^"[0-9a-f]{64}"$/);
    expect(body.equals(video)).toBe(true);
  });

  it.each<[range: string, first: number, last: number]>([
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, SIZE - 1],
    ['bytes=100-199', 100, 199],
    ['bytes=9999-', SIZE - 1, SIZE - 1],
    ['bytes=9000-20000', 9_000, SIZE - 1],
    ['Bytes=5-6', 5, 6],
  ])('with the range %s is that part', async (range, first, last) => {
    const { status, header, body } = await get({ range });
    expect(status).toBe(206);
    expect(header('content-range')).toBe(`bytes ${first}-${last}/${SIZE}`);
    expect(header('content-length')).toBe(String(last - first + 1));
    expect(header('content-type')).toBe('video/mp4');
    expect(body.equals(video.subarray(first, last + 1))).toBe(true);
  });

  it.each(['bytes=10000-', 'bytes=10000-10001', 'bytes=99999999999999999999-'])(
    'with the range %s, which lies outside the file, is refused with HTTP 416 and the length',
    async (range) => {
      const { status, header, body } = await get({ range });
      expect([status, header('content-range'), body.length]).toEqual([416, `bytes */${SIZE}`, 0]);
    },
  );

  it.each([
    'bytes=',
    'bytes=-',
    'bytes=-500',
    'bytes=5-4',
    'bytes=a-b',
    'bytes=0-1,5-6',
    'bytes 0-1',
    'lines=0-1',
    'bytes=1.5-2',
  ])('with the range %s, which has another form, is the whole file', async (range) => {
    const { status, body } = await get({ range });
    expect([status, body.length]).toEqual([200, SIZE]);
  });

  it('with If-Range resumes an unchanged file and restarts a changed one', async () => {
    const etag = (await get()).header('etag') ?? '';
    const range = 'bytes=4000-';
    expect(await get({ range, 'if-range': etag })).toMatchObject({
      status: 206,
      body: video.subarray(4_000),
    });
    for (const other of ['"another"', `W/${etag}`, 'Sun, 15 Nov 2026 12:00:00 GMT']) {
      expect(await get({ range, 'if-range': other })).toMatchObject({ status: 200, body: video });
    }
    expect((await get({ range: 'bytes=20000-', 'if-range': '"another"' })).status).toBe(200);
  });

  it('by HEAD has the headers of the file and no body', async () => {
    const { status, header, body } = await get({ range: 'bytes=0-1' }, 'HEAD');
    expect([status, header('content-length'), header('content-type')]).toEqual([200, `${SIZE}`, 'video/mp4']);
    expect(header('etag')).toBe((await get()).header('etag'));
    expect(body).toHaveLength(0);
    expect(emulator.calls.at(-2)).toMatchObject({ call: 'download', method: 'HEAD' });
  });

  it('of a range can be cut, and then resumed', async () => {
    emulator.next('download', { kind: 'cut', afterBytes: 300 });
    const { received, complete } = await readUntilClosed(link, { range: 'bytes=1000-' });
    expect(complete).toBe(false);
    expect(received.equals(video.subarray(1_000, 1_300))).toBe(true);
    const rest = await get({ range: 'bytes=1300-' });
    expect(rest.body.equals(video.subarray(1_300))).toBe(true);
  });
});

async function readUntilClosed(url: string, headers: Record<string, string>) {
  const sent = httpRequest(url, { headers }).end();
  const [response]: IncomingMessage[] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  response?.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
  await new Promise((resolve) => response?.once('close', resolve));
  return { received: Buffer.concat(chunks), complete: response?.complete };
}

describe('while a video is made', () => {
  const LARGE = { prompt: 'A red fox', resolution: '1080p', duration: 10 };

  it('polls of its task are answered all the time', async () => {
    const file = fetch(await makeLink({}, LARGE)).then(
      async (answer) => (await answer.arrayBuffer()).byteLength,
    );
    const taskId = emulator.generations()[0]?.taskId ?? '';
    let polls = 0;
    let bytes: number | undefined;
    void file.then((length) => {
      bytes = length;
    });
    while (bytes === undefined) {
      expect(await call(taskId)).toMatchObject({ status: 'succeeded' });
      polls++;
    }
    // The file is whole.
    expect(bytes).toBeGreaterThan(200_000);
    // One or two if the event loop was blocked. How long each takes depends on the machine.
    expect(polls).toBeGreaterThan(10);
  });

  it('the emulator can be closed, which stops the work', async () => {
    const url = await makeLink({}, LARGE);
    const unfinished = emulator.video(emulator.generations()[0]?.taskId ?? '');
    const download = expect(fetch(url)).rejects.toThrow();
    const ended = expect(unfinished).rejects.toThrow('aborted');
    setImmediate(() => void emulator.close());
    await Promise.all([download, ended]);
  });
});
