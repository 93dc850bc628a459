import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { VideoActivities } from '../../activities';
import type { FailureType } from '../../src/contract/failure-table';
import type { VideoRequest } from '../../src/contract/request';
import { builtInProfile } from '../../src/service';
import type { HttpAnswer } from '../../src/service/read-answer';
import { noiseVideo } from '../../src/testing/video/make-video';
import { DIALECT_NAMES, type DialectName, dialectOf } from '../dialects';
import { PROVIDERS, VIDEO } from '../service/provider-answers';
import { type ActivityWorld, asJob, createActivityWorld, failureOf } from './activity-world';

const TEXT: VideoRequest = { prompt: 'A red fox' };
const IMAGE: VideoRequest = { ...TEXT, image_url: 'https://example.com/fox.png' };
const JOB_TIME_MS = 60_000;

/** Kling polls tasks from images elsewhere, which their ids say. */
const idAtService = (taskId: string) => taskId.replace(/^image-to-video:/, '');

test('the emulator has a dialect for each of the twenty surveyed services, and its own', () => {
  expect(DIALECT_NAMES).toHaveLength(21);
});

describe('at a service that answers like', () => {
  let nowMs: number;
  let world: ActivityWorld;
  afterEach(() => world.close());

  async function startDialect(dialect: DialectName): Promise<VideoActivities> {
    nowMs = 0;
    world = await createActivityWorld({
      dialect: dialectOf(dialect),
      jobTimeMs: JOB_TIME_MS,
      clock: () => nowMs,
    });
    return world.activitiesAt(world.emulator.url, { profile: builtInProfile(dialect) });
  }

  test.each([...DIALECT_NAMES])('%s, the video of the one task is stored', async (dialect) => {
    const { submitVideo, pollVideo, downloadVideo } = await startDialect(dialect);
    // Veo takes no images by their links.
    const requests = dialect === 'veo' ? [TEXT] : [TEXT, IMAGE];
    for (const request of requests) {
      const { taskId } = await world.run(submitVideo, { request }).result;
      expect((await world.run(pollVideo, { taskId }).result).state).toMatch(/^(queued|running|unknown)$/);
      nowMs += JOB_TIME_MS / 2;
      expect((await world.run(pollVideo, { taskId }).result).state).toMatch(/^(running|unknown)$/);
      nowMs += JOB_TIME_MS;
      expect(await world.run(pollVideo, { taskId }).result).toMatchObject({
        state: 'succeeded',
        hasVideo: true,
      });
      const { video } = await world.run(downloadVideo, { taskId, storage: `${taskId.slice(-9)}.mp4` }).result;
      const file = await readFile(fileURLToPath(video.uri));
      expect(file.equals(await world.emulator.video(idAtService(taskId)))).toBe(true);
    }
    const asked = world.emulator
      .generations()
      .map(({ request: { prompt, image_url } }) => [prompt, image_url]);
    expect(asked).toEqual(requests.map(({ prompt, image_url }) => [prompt, image_url]));
    // Neither a cover nor a watermarked copy was downloaded as the video.
    expect(world.emulator.calls.filter(({ status }) => status !== undefined && status >= 400)).toEqual([]);
    expect(world.everythingReported()).not.toContain('the answer is ambiguous');
  });

  /** The reasons of services that send no message. */
  const REASONS: Partial<Record<DialectName, string>> = { vidu: '4711', pixverse: '8' };

  test.each([...DIALECT_NAMES])('%s, a failure has the service’s message', async (dialect) => {
    const { submitVideo, pollVideo } = await startDialect(dialect);
    const submit = (job: string) => world.run(submitVideo, { request: TEXT }, asJob(job));
    world.emulator.next('submit', { kind: 'failed-task', code: '4711', message: 'The prompt was moderated' });
    const { taskId } = await submit('failed').result;
    nowMs += JOB_TIME_MS;
    const failed = await world.run(pollVideo, { taskId }).result;
    expect(failed.state).toBe('failed');
    expect(Object.values(failed)).toContain(REASONS[dialect] ?? 'The prompt was moderated');

    world.emulator.next('submit', { kind: 'refused', status: 400, message: 'no foxes' });
    const refused = await failureOf(submit('refused'));
    expect(refused.failure).toMatchObject({ type: 'InvalidRequest', nonRetryable: true });
    expect(refused.failure.message).toContain('no foxes');

    world.emulator.next('status', { kind: 'refused', status: 401, message: 'no such key' });
    expect((await failureOf(world.run(pollVideo, { taskId }))).failure.type).toBe('Unauthorized');
    world.emulator.next('status', { kind: 'rate-limited' });
    expect((await failureOf(world.run(pollVideo, { taskId }))).failure.type).toBe('RateLimited');
    world.emulator.next('submit', { kind: 'rate-limited', retryAfter: 5 });
    const limited = await failureOf(submit('limited'));
    expect(limited.failure).toMatchObject({ type: 'RateLimited', nonRetryable: false });
    expect(limited.details.retryAfter).toBe(5);
    expect(world.emulator.generations()).toHaveLength(1);
    expect(world.everythingReported()).not.toContain('the answer is ambiguous');
  });

  test.each(['minimax', 'kie', 'pixverse'] as const)(
    '%s, which refuses with HTTP 200, a wrong key is a refusal, not a lost submit',
    async (dialect) => {
      await startDialect(dialect);
      const { submitVideo } = world.activitiesAt(world.emulator.url, {
        apiKey: () => 'sk-wrong',
        profile: builtInProfile(dialect),
      });
      const { failure, details } = await failureOf(world.run(submitVideo, { request: TEXT }));
      expect([failure.type, details.status]).toEqual(['Unauthorized', 401]);
    },
  );

  test.each(['openai', 'minimax'] as const)(
    '%s, a task has no video without the profile of the service',
    async (dialect) => {
      await startDialect(dialect);
      const { submitVideo, pollVideo } = world.activities;
      const { taskId } = await world.run(submitVideo, { request: TEXT }).result;
      nowMs += JOB_TIME_MS;
      expect(await world.run(pollVideo, { taskId }).result).toMatchObject({
        state: 'succeeded',
        hasVideo: false,
      });
    },
  );

  test('pixverse, a submit may have made a task without the profile of the service', async () => {
    await startDialect('pixverse');
    const { failure } = await failureOf(world.run(world.activities.submitVideo, { request: TEXT }));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
  });
});

type Provider = (typeof PROVIDERS)[number];

/** The answers to the POST and to each poll. The last one is repeated. */
interface Script {
  /** Any other id is answered with 404. */
  taskId?: string;
  submit: HttpAnswer;
  polls?: HttpAnswer[];
}

/** A service that answers like one provider at a time, independent of the emulator. */
interface StandIn {
  url: string;
  play(script: Script): void;
  /** The paths of files that were fetched since the last `play`. */
  fetched: string[];
  close(): Promise<void>;
}

async function startStandIn(video: Buffer): Promise<StandIn> {
  const fetched: string[] = [];
  let script: Script | undefined;
  let polls = 0;

  const apiAnswer = ({ method, url = '' }: IncomingMessage): HttpAnswer => {
    if (method === 'POST' && script) return script.submit;
    const isTask = script?.taskId && url === `/v1/videos/${encodeURIComponent(script.taskId)}`;
    const answers = (isTask && script?.polls) || [];
    return answers[Math.min(polls++, answers.length - 1)] ?? { status: 404, body: '{"message":"nothing"}' };
  };

  const server = createServer((request, response) => {
    request.resume();
    const { method, url = '' } = request;
    if (method === 'GET' && !url.startsWith('/v1/')) {
      fetched.push(url);
      response.writeHead(url === new URL(VIDEO).pathname ? 200 : 404).end(video);
      return;
    }
    const { status, body } = apiAnswer(request);
    // Links to covers, last frames and status pages lead here too, so that a wrong choice is noticed and stays local.
    const text = body.replace(/https:\/\/[a-z]+\.example\.com/g, here);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url: here,
    fetched,
    play(next) {
      script = next;
      polls = 0;
      fetched.length = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('without a profile, at a service that answers like', () => {
  let world: ActivityWorld;
  let standIn: StandIn;
  let video: Buffer;
  beforeAll(async () => {
    world = await createActivityWorld();
    video = await noiseVideo(TEXT, 20_000);
    standIn = await startStandIn(video);
  });
  afterAll(async () => {
    await standIn.close();
    await world.close();
  });

  const activities = () => world.activitiesAt(standIn.url);
  const submit = (job: string) => world.run(activities().submitVideo, { request: TEXT }, asJob(job));
  const poll = (taskId: string) => world.run(activities().pollVideo, { taskId });

  function answersOf({ name, exchanges }: Provider) {
    const [submitted, inProgress, finished, broken] = exchanges;
    if (!submitted || !inProgress || !finished || !broken) throw new Error(`${name} lacks an answer`);
    return { submitted: submitted[0], inProgress: inProgress[0], finished: finished[0], broken };
  }

  function providerNamed(start: string): Provider {
    const [provider, ...others] = PROVIDERS.filter(({ name }) => name.startsWith(start));
    if (!provider || others.length > 0) throw new Error(`${start} is not the name of one provider`);
    return provider;
  }

  /** The providers whose video is not found: they need a profile. */
  const NOT_FITTING = ['OpenAI videos', 'MiniMax v1', 'Higgsfield', 'PixVerse'];
  const FITTING = PROVIDERS.filter(({ name }) => !NOT_FITTING.some((start) => name.startsWith(start)));

  test('sixteen of the twenty providers, the three calls fit', () => {
    expect(FITTING).toHaveLength(16);
    expect(PROVIDERS).toHaveLength(FITTING.length + NOT_FITTING.length);
  });

  test.each(FITTING)('$name, the video is found and nothing else is fetched', async (provider) => {
    const { submitted, inProgress, finished } = answersOf(provider);
    const { taskId = '', name } = provider;
    standIn.play({ taskId, submit: submitted, polls: [inProgress, finished] });
    expect((await submit(name).result).taskId).toBe(taskId);
    expect((await poll(taskId).result).state).toMatch(/^(queued|running|unknown)$/);
    expect(await poll(taskId).result).toMatchObject({ state: 'succeeded', hasVideo: true });
    const { downloadVideo } = activities();
    const stored = await world.run(downloadVideo, { taskId, storage: `${name}.mp4` }).result;
    expect((await readFile(fileURLToPath(stored.video.uri))).equals(video)).toBe(true);
    expect(standIn.fetched).toEqual([new URL(VIDEO).pathname]);
  });

  test.each(['OpenAI videos', 'MiniMax v1', 'Higgsfield'])('%s, no video is found', async (start) => {
    const provider = providerNamed(start);
    const { submitted, finished } = answersOf(provider);
    const { taskId = '' } = provider;
    standIn.play({ taskId, submit: submitted, polls: [finished] });
    expect(await poll(taskId).result).toMatchObject({ state: 'succeeded', hasVideo: false });
  });

  const isReadAsFailed = (provider: Provider) => answersOf(provider).broken[1].state === 'failed';

  test('all but three providers, the answer to a poll says that the task has failed', () => {
    const others = PROVIDERS.filter((provider) => !isReadAsFailed(provider)).map(({ name }) => name);
    expect(others).toEqual(['fal', expect.stringMatching(/^PixVerse/), 'Inworld']);
  });

  test.each(PROVIDERS.filter(isReadAsFailed))('$name, a failed task has its message', async (provider) => {
    const { submitted, broken } = answersOf(provider);
    const [answer, { word }, error] = broken;
    const { taskId = '' } = provider;
    standIn.play({ taskId, submit: submitted, polls: [answer] });
    // Without a message, the word for the state is the message.
    expect(await poll(taskId).result).toMatchObject({ state: 'failed', word, ...error });
  });

  test.each<[start: string, type: FailureType, words: string]>([
    ['fal', 'InvalidRequest', 'HTTP 422, No image'],
    ['Inworld', 'InvalidRequest', 'HTTP 400, code 3, Unknown voice'],
    ['PixVerse', 'SubmitUnconfirmed', '"ErrMsg":"Reached the limit"'],
  ])('%s, a refused submit is %s with the service’s message', async (start, type, words) => {
    standIn.play({ submit: answersOf(providerNamed(start)).broken[0] });
    const { failure } = await failureOf(submit(`refused by ${start}`));
    expect(failure.type).toBe(type);
    expect(failure.message).toContain(words);
  });

  test.each(['finished', 'broken'] as const)('PixVerse, a task that is %s is unknown', async (end) => {
    const { submitted, finished, broken } = answersOf(providerNamed('PixVerse'));
    standIn.play({ taskId: '42', submit: submitted, polls: [{ finished, broken: broken[0] }[end]] });
    expect((await poll('42').result).state).toBe('unknown');
  });
});
