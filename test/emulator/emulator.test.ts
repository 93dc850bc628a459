import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import type { Emulator } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { describeServiceContract } from '../support/service-contract';
import { clock, FOX, fetchFile, start, TEXT, taskIdOf } from './service-client';

const KEY = 'sk-secret-0123456789';
const IMAGE = '/v1/videos/image-to-video';
const FOX_IMAGE = { ...FOX, image_url: 'https://example.com/fox.png' };
const portOf = ({ url }: { url: string }) => Number(new URL(url).port);

describe('a generation request', () => {
  it('is recorded with every field', async () => {
    const { emulator, submit } = await start();
    const given = { ...FOX_IMAGE, resolution: '480p', aspect_ratio: '21:9', duration: 1, seed: -7 };
    const answer = await submit(given);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body).toEqual({ task_id: expect.stringMatching(/^task_/), status: 'queued' });
    expect(emulator.generations()).toMatchObject([{ taskId: taskIdOf(answer), request: given }]);
  });

  it.each([
    ['that is broken JSON', '{"prompt":', 'the body is not JSON'],
    ['that is empty', '', 'must be a JSON object'],
    ['of more than two mebibytes', JSON.stringify('x'.repeat(2 ** 21)), 'the request is too large'],
  ])('%s is refused with HTTP 400 and recorded', async (_what, body, problem) => {
    const { emulator, ask } = await start();
    expect(await ask('POST', TEXT, { body })).toMatchObject({
      status: 400,
      headers: { 'content-type': 'application/json' },
      body: { error: { code: 'invalid_request', message: expect.stringContaining(problem) } },
    });
    expect(emulator.generations()).toHaveLength(0);
    expect(emulator.calls).toMatchObject([{ call: 'submit', path: TEXT, authorized: true, status: 400 }]);
  });
});

describe('a task', () => {
  it('is queued, then running with its progress, then succeeded after its job time', async () => {
    const { makeTask, viewOf } = await start();
    const taskId = await makeTask();
    const answers: unknown[] = [];
    for (clock.nowMs of [0, 99, 100, 500, 999, 1_000, 10_000_000]) answers.push(await viewOf(taskId));
    const video_url = expect.stringMatching(
      /^http:\/\/127\.0\.0\.1:\d+\/files\/task_[^/]+\.mp4\?signature=\w+$/,
    );
    expect(answers).toEqual([
      { task_id: taskId, status: 'queued', progress: 0 },
      { task_id: taskId, status: 'queued', progress: 9 },
      { task_id: taskId, status: 'running', progress: 10 },
      { task_id: taskId, status: 'running', progress: 50 },
      { task_id: taskId, status: 'running', progress: 99 },
      { task_id: taskId, status: 'succeeded', video_url },
      { task_id: taskId, status: 'succeeded', video_url },
    ]);
  });
});

it.each([
  ['succeeded', undefined, 0.25],
  ['failed', { kind: 'failed-task', code: 'c', message: 'm' }, 0],
] as const)('a task that has %s says what it cost, if the emulator charges', async (status, fault, cost) => {
  const { emulator, makeTask, viewOf } = await start({ charge: 0.25 });
  if (fault) emulator.next('submit', fault);
  const taskId = await makeTask(FOX);
  expect(await viewOf(taskId)).not.toHaveProperty('cost_usd');
  clock.nowMs = 1_000;
  expect(await viewOf(taskId)).toMatchObject({ status, cost_usd: cost });
});

describe('the video', () => {
  it('can be downloaded from its link without a key', async () => {
    const { emulator, makeLink } = await start({ videoBytes: 1_000_003 });
    const { status, header, bytes } = await fetchFile(await makeLink());
    expect([status, header('content-type'), header('content-length')]).toEqual([200, 'video/mp4', '1000003']);
    expect(bytes.equals(await emulator.video(emulator.generations()[0]?.taskId ?? ''))).toBe(true);
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp');
  });

  it.each([
    ['a wrong signature', (link: string) => `${link}0`],
    ['no signature', (link: string) => link.replace(/\?.*/, '')],
    ['another task', (link: string) => link.replace(/task_/, 'task_0')],
  ])('is refused with HTTP 403 to a link with %s, even with the key', async (_what, change) => {
    const { emulator, makeLink } = await start();
    const headers = { authorization: `Bearer ${emulator.apiKey}` };
    expect((await fetchFile(change(await makeLink()), { headers })).status).toBe(403);
  });

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
  it.each(['//', '//%', '/%zz', '/v1/videos/%ff'])(
    'refuses the path %s, and answers the next call',
    async (path) => {
      const { emulator, submit } = await start();
      const headers = { authorization: `Bearer ${emulator.apiKey}` };
      const [answer] = await once(request({ port: portOf(emulator), path, headers }).end(), 'response');
      answer.resume();
      expect([400, 404]).toContain(answer.statusCode);
      expect((await submit()).status).toBe(200);
    },
  );

  it('listens on the given port, unless it is in use', async () => {
    const { emulator } = await start();
    const port = portOf(emulator);
    await expect(startEmulator({ port })).rejects.toMatchObject({ cause: { code: 'EADDRINUSE' } });
    await emulator.close();
    expect((await start({ port })).emulator.url).toBe(`http://127.0.0.1:${port}`);
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

let emulator: Emulator;
beforeAll(async () => {
  emulator = await startEmulator({ jobTimeMs: 500, videoBytes: 64 * 1024 });
});
afterAll(() => emulator.close());

describe('the emulator', () => describeServiceContract(() => emulator));
