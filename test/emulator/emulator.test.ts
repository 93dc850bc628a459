import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import type { VideoRequest } from '../../src/contract/request';
import { describeMismatches } from '../../src/media/compare-with-request';
import { freePort } from '../../src/temporal-server/loopback-port';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { H264Stream } from '../../src/testing/video/h264';
import { noiseVideo, pictureVideo } from '../../src/testing/video/make-video';
import { Mosaic } from '../../src/testing/video/mosaic';
import { runHere } from '../cli/cli-here';
import { FakeTerminal } from '../cli/fake-terminal';
import { inspect } from '../media/inspect';
import { describeServiceContract } from '../support/service-contract';
import { eventually } from '../temporal-server/eventually';
import { clock, FOX, fetchFile, serviceClient, start, TEXT, taskIdOf } from './service-client';

const KEY = 'sk-secret-0123456789';
const IMAGE = '/v1/videos/image-to-video';
const FOX_IMAGE = { ...FOX, image_url: 'https://example.com/fox.png' };
const portOf = ({ url }: { url: string }) => Number(new URL(url).port);

describe('the service of the emulator', () => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await startEmulator({ jobTimeMs: 500, videoBytes: 64 * 1024 });
  });
  afterAll(() => emulator.close());

  describeServiceContract(() => emulator);
});

test('a request of more than two mebibytes is refused with HTTP 400 and recorded', async () => {
  const { emulator, ask } = await start();
  expect(await ask('POST', TEXT, { body: JSON.stringify('x'.repeat(2 ** 21)) })).toMatchObject({
    status: 400,
    headers: { 'content-type': 'application/json' },
    body: { error: { code: 'invalid_request', message: 'the request is too large' } },
  });
  expect(emulator.generations()).toHaveLength(0);
  expect(emulator.calls).toMatchObject([{ call: 'submit', path: TEXT, authorized: true, status: 400 }]);
});

test('a submit may be a form, as clients of OpenAI send it, and what is neither form nor JSON is refused', async () => {
  const { emulator } = await start();
  const post = (body: FormData | string) =>
    fetch(`${emulator.url}${TEXT}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${emulator.apiKey}` },
      body,
    });
  const form = new FormData();
  form.append('prompt', 'A red fox in a form');
  expect((await post(form)).status).toBe(200);
  expect(emulator.generations()).toMatchObject([{ request: { prompt: 'A red fox in a form' } }]);
  const refused = await post('a fox');
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('the body is neither JSON nor a form'),
  ]);
});

describe('a task', () => {
  it('is queued, then running with its progress, then succeeded after its job time', async () => {
    const { makeTask, viewOf } = await start();
    const taskId = await makeTask();
    const answers: unknown[] = [];
    for (clock.nowMs of [0, 99, 100, 999, 1_000, 10_000_000]) answers.push(await viewOf(taskId));
    const video_url = expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:\d+\/files\/task_[^/]+\.mp4\?signature=\w+$/,
    );
    expect(answers).toEqual([
      { task_id: taskId, status: 'queued', progress: 0 },
      { task_id: taskId, status: 'queued', progress: 9 },
      { task_id: taskId, status: 'running', progress: 10 },
      { task_id: taskId, status: 'running', progress: 99 },
      { task_id: taskId, status: 'succeeded', video_url },
      { task_id: taskId, status: 'succeeded', video_url },
    ]);
  });

  it('says what it cost when it has ended, if the emulator charges', async () => {
    const { emulator, makeTask, viewOf } = await start({ charge: 0.25 });
    const taskId = await makeTask();
    expect(await viewOf(taskId)).not.toHaveProperty('cost_usd');
    emulator.next('submit', { kind: 'failed-task', code: 'c', message: 'm' });
    const failed = await makeTask();
    clock.nowMs = 1_000;
    expect(await viewOf(taskId)).toMatchObject({ status: 'succeeded', cost_usd: 0.25 });
    expect(await viewOf(failed)).toMatchObject({ status: 'failed', cost_usd: 0 });
  });
});

describe('a download', () => {
  const SIZE = 10_000;

  async function startDownload() {
    const { emulator, makeLink } = await start({ videoBytes: SIZE });
    const link = await makeLink();
    const get = (headers: Record<string, string> = {}) => fetchFile(link, { headers });
    return { emulator, link, get, video: await emulator.video(emulator.generations()[0]?.taskId ?? '') };
  }

  it('needs no key, and is the whole file with Accept-Ranges', async () => {
    const { get, video } = await startDownload();
    const { status, header, bytes } = await get();
    expect([status, header('content-type'), header('content-length')]).toEqual([200, 'video/mp4', `${SIZE}`]);
    expect(header('accept-ranges')).toBe('bytes');
    expect(header('etag')).toMatch(/^"[0-9a-f]{64}"$/);
    expect(bytes.equals(video)).toBe(true);
  });

  it('is refused with HTTP 403 without the signature of its task, even with the key', async () => {
    const { emulator, link } = await startDownload();
    const headers = { authorization: `Bearer ${emulator.apiKey}` };
    for (const wrong of [`${link}0`, link.replace(/\?.*/, ''), link.replace(/task_/, 'task_0')])
      expect((await fetchFile(wrong, { headers })).status).toBe(403);
  });

  it.each<[range: string, status: number, first: number, last: number]>([
    ['bytes=0-0', 206, 0, 0],
    ['bytes=9999-', 206, SIZE - 1, SIZE - 1],
    ['bytes=9000-20000', 206, 9_000, SIZE - 1],
    // Of another form.
    ['bytes=-500', 200, 0, SIZE - 1],
    ['bytes=5-4', 200, 0, SIZE - 1],
    ['bytes=0-1,5-6', 200, 0, SIZE - 1],
  ])('with the range %s is a %i with the bytes from %i to %i', async (range, status, first, last) => {
    const { get, video } = await startDownload();
    const answer = await get({ range });
    expect(answer.status).toBe(status);
    expect(answer.header('content-range')).toBe(status === 206 ? `bytes ${first}-${last}/${SIZE}` : null);
    expect(answer.header('content-type')).toBe('video/mp4');
    expect(answer.bytes.equals(video.subarray(first, last + 1))).toBe(true);
  });

  it('with If-Range resumes an unchanged file and restarts a changed one', async () => {
    const { get, video } = await startDownload();
    const etag = (await get()).header('etag') ?? '';
    const range = 'bytes=4000-';
    expect(await get({ range, 'if-range': etag })).toMatchObject({
      status: 206,
      bytes: video.subarray(4_000),
    });
    for (const other of ['"another"', `W/${etag}`, 'Sun, 15 Nov 2026 12:00:00 GMT'])
      expect(await get({ range, 'if-range': other })).toMatchObject({ status: 200, bytes: video });
    expect((await get({ range: 'bytes=20000-', 'if-range': '"another"' })).status).toBe(200);
  });
});

describe('the record', () => {
  it('lists the calls in order, with their times by the machine’s clock', async () => {
    const { emulator, submit, makeLink } = await start();
    const before = Date.now();
    await submit(FOX_IMAGE, 'k-1');
    await fetchFile(await makeLink(FOX_IMAGE));
    const times = [before, ...emulator.calls.map(({ atMs }) => atMs), Date.now()];
    expect(times).toEqual([...times].sort((a, b) => a - b));
    const { taskId } = emulator.generations()[1] ?? {};
    const answered = { status: 200, atMs: expect.any(Number) };
    const posted = { call: 'submit', method: 'POST', path: IMAGE, authorized: true, body: FOX_IMAGE };
    const contentType = 'application/json';
    expect(emulator.calls).toEqual([
      { ...posted, idempotencyKey: 'k-1', contentType, ...answered },
      { ...posted, contentType, ...answered },
      { call: 'status', method: 'GET', path: `/v1/videos/${taskId}`, authorized: true, ...answered },
      { call: 'download', method: 'GET', path: `/files/${taskId}.mp4`, authorized: false, ...answered },
    ]);
  });

  it('never contains a key, right or wrong, or the signature of a link', async () => {
    const { emulator, ask, makeLink } = await start({ apiKey: KEY });
    const link = await makeLink();
    await fetchFile(link, { headers: { authorization: `Bearer ${KEY}` } });
    await ask('GET', '/', { headers: { authorization: 'Bearer wrong-key' } });
    expect(link).toContain(emulator.linkSignature);
    expect(JSON.stringify(emulator.calls)).not.toMatch(
      new RegExp(`${KEY}|wrong-key|${emulator.linkSignature}`),
    );
  });
});

describe('the emulator', () => {
  it('refuses paths that cannot be read, and answers the next call', async () => {
    const { emulator, submit } = await start();
    const headers = { authorization: `Bearer ${emulator.apiKey}` };
    for (const path of ['//', '//%', '/%zz', '/v1/videos/%ff']) {
      const [answer] = await once(request({ port: portOf(emulator), path, headers }).end(), 'response');
      answer.resume();
      expect([400, 404]).toContain(answer.statusCode);
      expect((await submit()).status).toBe(200);
    }
  });

  it('closes every connection when it is closed, also twice: hanging, stalled and idle ones', async () => {
    const { emulator, submit, poll, makeLink } = await start();
    const link = await makeLink();
    emulator.next('submit', { kind: 'hang' });
    emulator.next('download', { kind: 'stall', afterBytes: 10 });
    const idle = connect(portOf(emulator), '127.0.0.1');
    await once(idle, 'connect');
    const idleClosed = once(idle, 'close');
    const hanging = expect(submit()).rejects.toThrow();
    const stalled = await fetch(link);
    const aborted = expect(stalled.arrayBuffer()).rejects.toThrow();
    await Promise.all([emulator.close(), emulator.close()]);
    await Promise.all([hanging, aborted, idleClosed]);
    await expect(poll('a')).rejects.toThrow();
  });
});

describe('a video', () => {
  const SNOW_FOX: VideoRequest = {
    prompt: 'A red fox in the snow',
    resolution: '480p',
    duration: 1,
    seed: 7,
  };

  it('is the same for the same request, in whatever order its fields come, and differs for another', async () => {
    const { emulator, makeTask } = await start();
    const elsewhere = await start();
    const fox = { ...FOX, seed: 7, duration: 5 };
    const video = await emulator.video(await makeTask(fox));
    const reordered = await emulator.video(await makeTask({ duration: 5, seed: 7, ...FOX }));
    const there = await elsewhere.emulator.video(await elsewhere.makeTask(fox));
    expect([reordered.equals(video), there.equals(video)]).toEqual([true, true]);
    for (const change of [{ seed: 8 }, { prompt: 'A blue fox' }, { duration: 6 }, { resolution: '480p' }])
      expect((await emulator.video(await makeTask({ ...fox, ...change }))).equals(video)).toBe(false);
  });

  // Rounding shows at 480 lines; the other resolutions have the same ratios.
  it.each([
    ['480p', '16:9', '854x480'],
    ['480p', '9:16', '480x854'],
    ['480p', '21:9', '1120x480'],
    ['720p', '9:16', '720x1280'],
    ['1080p', '21:9', '2520x1080'],
  ] as const)('has the requested form: %s in %s is %s', async (resolution, aspect_ratio, size) => {
    const form = { ...FOX, resolution, aspect_ratio, duration: 3 };
    const inspection = await inspect(await noiseVideo(form, 100_000));
    if (inspection.kind === 'no-video') throw new Error(inspection.reason);
    const { width, height, ...facts } = inspection.facts;
    expect([`${width}x${height}`, facts]).toEqual([
      size,
      { container: 'mp4', codec: 'avc', durationSeconds: 3 },
    ]);
    expect(describeMismatches(form, inspection.facts)).toEqual([]);
  });

  it('has the set size, or a few thousand bytes if that is more', async () => {
    const smallest = (await noiseVideo(FOX, 0)).length;
    expect(smallest).toBeGreaterThan(100);
    expect(smallest).toBeLessThan(10_000);
    for (const bytes of [smallest, smallest + 1, smallest + 9, 10_000, 5_000_003]) {
      const video = await noiseVideo(FOX, bytes);
      expect(video).toHaveLength(bytes);
      expect(await inspect(video)).toMatchObject({ kind: 'video', facts: { width: 1280, height: 720 } });
    }
  });

  it('is the same at another time, and has its tables first, so that it plays while it loads', async () => {
    const fox = await pictureVideo(SNOW_FOX);
    expect(fox.indexOf('moov')).toBeLessThan(fox.indexOf('mdat'));
    // The dates in an MP4 file are in seconds.
    jest.useFakeTimers({ now: Date.now() + 60_000, doNotFake: ['setImmediate', 'setTimeout', 'nextTick'] });
    try {
      expect(fox.equals(await pictureVideo({ ...SNOW_FOX }))).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('has no bytes in a picture that would start another part of the stream', () => {
    const picture = new Mosaic(64, 48);
    const stream = new H264Stream(picture);
    for (let frame = 0; frame < 20; frame++) {
      picture.paint((column, row) => (column * row + frame) & 3);
      const unit = stream.next().data.subarray(4);
      for (const last of [0, 1, 2]) expect(unit.includes(Buffer.from([0, 0, last]))).toBe(false);
    }
  });
});

describe('videogen emulator', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'videogen-emulator-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  interface Running extends ReturnType<typeof serviceClient> {
    url: string;
    terminal: FakeTerminal;
  }

  async function whileRunning(
    options: string[],
    use: (running: Running) => Promise<void>,
    apiKey?: string,
  ): Promise<void> {
    const terminal = new FakeTerminal({ VIDEO_API_KEY: apiKey });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const ending = run(['emulator', '--port', `${port}`, '--job-time', '1h', ...options], terminal);
    await eventually('the emulator is up', () => terminal.listeners > 0);
    try {
      await use({ ...serviceClient({ url, apiKey: apiKey ?? 'emulator-key' }), url, terminal });
    } finally {
      terminal.interrupt();
      expect(await ending).toBe(0);
    }
  }

  const FAILING_SUBMIT = ['--fault', 'submit:server-error'];

  it('answers with the configured key and faults until Ctrl-C', async () => {
    let submitAfterwards: (() => Promise<unknown>) | undefined;
    const use = async ({ url, terminal, ask, submit }: Running) => {
      expect(terminal.stderr).toContain(`The emulated video service is at ${url}. Ctrl-C ends it.`);
      expect(terminal.stderr).not.toContain('sk-emulated');
      const headers = { authorization: 'Bearer sk-wrong' };
      expect((await ask('POST', '/v1/videos/text-to-video', { headers })).status).toBe(401);
      expect((await submit()).status).toBe(500);
      expect(taskIdOf(await submit())).toMatch(/^task_/);
      submitAfterwards = submit;
    };
    await whileRunning(FAILING_SUBMIT, use, 'sk-emulated');
    await expect(submitAfterwards?.()).rejects.toThrow();
  });

  it('says in one sentence that its port is in use', async () => {
    const server = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const { code, out, err } = await runHere(['emulator', '--port', `${port}`]);
    await new Promise((resolve) => server.close(resolve));
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(
      /^The emulator cannot listen on 127\.0\.0\.1:\d+ \(listen EADDRINUSE: address already in use[^\n]+\.\n$/,
    );
  });

  it.each<[string[], RegExp]>([
    [['--job-time', '5'], /^--job-time is "5": give a length of time such as 5s\.\n$/],
    [['--fault', 'submit:explode'], /^--fault is "submit:explode": give CALL:KIND .*\.\n$/],
    [['--charge='], /^--charge is "": give an amount in dollars, such as 0\.25\.\n$/],
    [['--charge=-1'], /^--charge is "-1": give an amount in dollars, such as 0\.25\.\n$/],
  ])('refuses %j before it listens', async (args, sentence) => {
    const port = `${await freePort()}`;
    const end = await runHere(['emulator', '--port', port, ...args]);
    expect(end).toEqual({ code: 2, out: '', err: expect.stringMatching(sentence) });
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow('fetch failed');
  });

  it('prints a line for each call with the task that it made, so that a lost task can be found', () =>
    whileRunning(['--fault', 'submit:reset'], async ({ submit, terminal }) => {
      await expect(submit()).rejects.toThrow();
      await submit();
      const lines = () => terminal.stderr.split('\n').filter((line) => line.startsWith('POST'));
      await eventually('both lines are printed', () => lines().length === 2);
      expect(lines()).toEqual([
        expect.stringMatching(/^POST \/v1\/videos\/text-to-video: no answer, created task_[0-9a-f-]+$/),
        expect.stringMatching(/^POST \/v1\/videos\/text-to-video: 200, created task_[0-9a-f-]+$/),
      ]);
    }));

  it('remembers the tasks in its file over a restart, also after a crash that cut its last line off', async () => {
    const file = join(folder, 'tasks.jsonl');
    const taskIds: string[] = [];
    for (let start = 1; start <= 3; start++) {
      await whileRunning(['--tasks-file', file], async ({ submit, poll }) => {
        for (const taskId of taskIds) expect((await poll(taskId)).status).toBe(200);
        taskIds.push(taskIdOf(await submit({ prompt: 'two\nlines' })));
      });
      appendFileSync(file, '{"taskId":"task_cut","requ');
    }
  });
});
