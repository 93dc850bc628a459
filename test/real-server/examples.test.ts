import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storyboard } from '../../examples/trailer/storyboard';
import { FAILURES } from '../../src/contract/failure-table';
import type { Emulator } from '../../src/testing';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { startEmulator } from '../../src/testing/emulator';
import { type RunningProcess, untilPrinted } from '../support/child-processes';
import { readFilm } from '../support/example-film';
import { compileExamples, ExampleRuns, type ExampleService, startExampleService } from '../support/examples';
import { captureLogs } from '../support/logs';
import { untilProgress } from '../support/world';

// Several programs at once, each of which bundles its workflows first.
jest.setTimeout(180_000);

let env: VideoTestEnvironment;
let runs: ExampleRuns;
/** Without any settings. Each starts its own server while other tests run. */
let embedded: { trailer: ReturnType<ExampleRuns['run']>; service: RunningProcess };
beforeAll(async () => {
  captureLogs();
  compileExamples();
  runs = new ExampleRuns();
  embedded = {
    trailer: runs.run('trailer/run.js', ['fox']),
    service: runs.start('express-service/main.js', [], { PORT: '0' }),
  };
  env = await createVideoTestEnvironment({ server: 'dev' });
});
afterAll(async () => {
  await runs.remove();
  await env.teardown();
});

describe('the trailer', () => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await startEmulator({ jobTimeMs: 0, videoBytes: 64 * 1024 });
    await writeFile(join(runs.folder, 'profile.json'), '{ "polling": { "min": "1s", "max": "1s" } }');
  });
  afterAll(() => emulator.close());

  const run = (name: string) =>
    runs.run('trailer/run.js', [name], {
      TEMPORAL_ADDRESS: env.temporal.address,
      VIDEO_API_BASE_URL: emulator.url,
      VIDEO_API_KEY: emulator.apiKey,
      VIDEOGEN_PROFILE: join(runs.folder, 'profile.json'),
    });

  it('fails with the failed shot, the reason, and where the others are', async () => {
    emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
    const { code, out, err } = await run('lacking');
    const [{ taskId, request } = {}] = emulator.generations();
    const item = storyboard.findIndex(({ prompt }) => prompt === request?.prompt) + 1;
    expect({ code, out }).toEqual({ code: FAILURES.GenerationFailed.exitCode, out: '' });
    expect(err).toContain(`(task ${taskId}): code season, no foxes today; item ${item} failed`);
    expect(err).toMatch(/with 4 stored and 1 failed of 5, listed in file:\S+results\.jsonl/);
  });

  it('is one film of all shots in order, and a poster, without any setup', async () => {
    const { code, out, err } = await embedded.trailer;
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('Making fox of 5 shots.') });
    expect(out).toBe('videos/trailers/fox/trailer.mp4\nvideos/trailers/fox/poster.html\n');
    const folder = join(runs.folder, 'videos/trailers/fox');
    const film = await readFilm(join(folder, 'trailer.mp4'));
    const shots = await Promise.all(
      storyboard.map((_, index) => readFilm(join(folder, `fox-shots-${index + 1}.mp4`))),
    );
    expect(film.pictures.map(({ data }) => data)).toEqual(
      shots.flatMap(({ pictures }) => pictures.map(({ data }) => data)),
    );
    // Ten pictures a second, with no gap between the shots.
    expect(film.pictures.map(({ at }) => at.toFixed(2))).toEqual(
      film.pictures.map((_, index) => (index / 10).toFixed(2)),
    );
    const seconds = storyboard.reduce((sum, { duration = 0 }) => sum + duration, 0);
    expect(film).toMatchObject({ tracks: 1, seconds: expect.closeTo(seconds) });

    const page = await readFile(join(folder, 'poster.html'), 'utf8');
    expect(page.match(/<video src="[^"#]+/g)).toEqual(
      storyboard.map((_, index) => `<video src="fox-shots-${index + 1}.mp4`),
    );
    expect(page.match(/(?<=<figcaption>)[^<]+/g)).toEqual(storyboard.map(({ prompt }) => prompt));
  });
});

describe('the Express service', () => {
  const request = { prompt: 'A red fox in the snow', duration: 5 };
  let service: ExampleService;
  beforeAll(async () => {
    service = await startExampleService(env, runs);
  });
  afterAll(() => service.close());

  /** Starts a video whose submit is lost, so that it waits for a decision. */
  const startHeld = async (id: string) => {
    service.emulator.next('submit', { kind: 'reset' });
    await service.post('/videos', request, id);
    await untilProgress(service.videos.handle(`web-video-${id}`), ({ phase }) => phase === 'needs-decision');
  };

  it('generates one video for a repeated request, and streams its progress until it is stored', async () => {
    const { post, get, events, emulator } = service;
    const answers = [await post('/videos', request, 'fox'), await post('/videos', request, 'fox')];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(answers.map(({ headers }) => headers.get('location'))).toEqual(['/videos/fox', '/videos/fox']);
    expect(await answers[0]?.json()).toEqual({ id: 'fox' });

    const sent = await events('fox');
    const end = sent.pop();
    expect(new Set(sent.map(({ event }) => event))).toEqual(new Set(['progress']));
    expect(sent.at(-1)?.data).toMatchObject({ phase: 'succeeded' });
    const [generation, ...others] = emulator.generations();
    expect(others).toEqual([]);
    expect(end).toMatchObject({ event: 'succeeded', data: { taskId: generation?.taskId } });

    const found = await get('/videos/fox');
    expect(found.status).toBe(200);
    expect(await found.json()).toMatchObject({ id: 'fox', phase: 'succeeded', result: end?.data });
    for (const [body, words] of [
      [{ ...request, duration: 6 }, 'it differs in duration'],
      [{ promt: 'a fox' }, 'the fields are prompt, image_url'],
    ] as const) {
      const refused = await post('/videos', body, 'fox');
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ message: expect.stringContaining(words) });
    }
    const nobody = await get('/videos/nobody');
    expect([nobody.status, await nobody.json()]).toEqual([
      404,
      expect.objectContaining({ type: 'NoSuchVideo' }),
    ]);
  });

  it('returns a failure with its status, the task and the advice', async () => {
    const { post, get, events, emulator } = service;
    emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
    await post('/videos', request, 'refused');
    const sent = await events('refused');
    const failure = {
      type: 'GenerationFailed',
      message: expect.stringContaining('no foxes today'),
      advice: FAILURES.GenerationFailed.advice,
      taskId: emulator.generations().at(-1)?.taskId,
    };
    expect(sent.at(-1)).toEqual({ event: 'failed', data: failure });
    const found = await get('/videos/refused');
    expect(found.status).toBe(FAILURES.GenerationFailed.httpStatus);
    expect(await found.json()).toEqual(failure);
  });

  it('accepts a decision about a lost submit', async () => {
    const { post, get, events, emulator } = service;
    await startHeld('held');
    expect(await (await get('/videos/held')).json()).toMatchObject({ phase: 'needs-decision' });
    const { taskId } = emulator.generations().at(-1) ?? {};
    const wrong = await post('/videos/held/decision', { decision: 'adopt' });
    expect(wrong.status).toBe(409);
    expect(await wrong.json()).toMatchObject({ message: expect.stringContaining('taskId must be') });
    expect((await post('/videos/held/decision', { decision: 'adopt', taskId })).status).toBe(204);
    expect((await events('held')).at(-1)).toMatchObject({ event: 'succeeded', data: { taskId } });
  });

  it('cancels its videos, and no other workflow', async () => {
    const { get, post, events, videos, emulator } = service;
    const name = 'another-workflow';
    emulator.next('submit', { kind: 'reset' });
    const other = await videos.start({ request }, { workflowId: name });
    await untilProgress(other, ({ phase }) => phase === 'needs-decision');
    expect((await get(`/videos/${name}`, { method: 'DELETE' })).status).toBe(404);

    // It never ends, so it keeps waiting.
    const brewing = { kind: 'unknown-state', word: 'brewing' } as const;
    emulator.next('status', ...Array.from({ length: 100 }, () => brewing));
    await post('/videos', request, 'cancelled');
    await videos.handle('web-video-cancelled').taskId();
    expect((await get('/videos/cancelled', { method: 'DELETE' })).status).toBe(202);
    expect((await events('cancelled')).at(-1)).toMatchObject({
      event: 'failed',
      data: { type: 'Cancelled' },
    });
    expect((await get('/videos/cancelled')).status).toBe(FAILURES.Cancelled.httpStatus);
    expect(await other.progress()).toMatchObject({ phase: 'needs-decision' });
  });

  it('needs no setup, and ends with Ctrl-C', async () => {
    const example = embedded.service;
    const url = await untilPrinted(example, /http:\S+/);
    const answer = await fetch(`${url}/videos/nobody`);
    example.kill('SIGINT');
    expect({ status: answer.status, code: await example.ended }).toEqual({ status: 404, code: 0 });
  });
});
