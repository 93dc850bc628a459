import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/cli/run';
import { freePort } from '../../src/temporal-server/loopback-port';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { H264Stream } from '../../src/testing/video/h264';
import { Mosaic } from '../../src/testing/video/mosaic';
import { runHere } from '../cli/cli-here';
import { FakeTerminal } from '../cli/fake-terminal';
import { describeServiceContract } from '../support/service-contract';
import { eventually } from '../temporal-server/eventually';
import { FOX, fetchFile, serviceClient, start, TEXT, taskIdOf } from './service-client';

const KEY = 'sk-secret-0123456789';
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

describe('a download', () => {
  const SIZE = 10_000;

  async function startDownload() {
    const { emulator, makeLink } = await start({ videoBytes: SIZE });
    const link = await makeLink();
    const get = (headers: Record<string, string> = {}) => fetchFile(link, { headers });
    return { emulator, link, get, video: await emulator.video(emulator.generations()[0]?.taskId ?? '') };
  }

  it('is refused with HTTP 403 without the signature of its task, even with the key', async () => {
    const { emulator, link } = await startDownload();
    const headers = { authorization: `Bearer ${emulator.apiKey}` };
    for (const wrong of [`${link}0`, link.replace(/\?.*/, ''), link.replace(/task_/, 'task_0')])
      expect((await fetchFile(wrong, { headers })).status).toBe(403);
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
});
