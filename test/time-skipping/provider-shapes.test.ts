import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createVideoClient, type VideoClient } from '../../src/client/video-client';
import { readServiceConfig } from '../../src/config/service-config';
import type { FailureType, JobInput } from '../../src/contract';
import { noiseVideo } from '../../src/emulator';
import { createVideoService, type VideoService } from '../../src/service';
import type { HttpAnswer } from '../../src/service/read-answer';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import type { VideoWorker } from '../../src/worker/video-worker';
import { PROVIDERS, VIDEO } from '../service/provider-answers';
import { expectRow } from '../support/expect-row';
import { captureLogs } from '../support/logs';
import { bundlePath, failureOf } from '../support/world';

const API_KEY = 'key-of-another-service';
const TASK_QUEUE = 'provider-shapes';
const TEXT_TO_VIDEO = '/v1/videos/text-to-video';
const IMAGE_TO_VIDEO = '/v1/videos/image-to-video';

const TEXT = { prompt: 'A red fox', resolution: '720p', duration: 5 } as const;
const IMAGE = { prompt: 'It turns its head', image_url: 'https://images.example.com/fox.png' };
/** For a job without a video: six polls, the last of them at the deadline. */
const SHORT_DEADLINE = { deadline: '2m', polling: { min: '20s', max: '20s' } } as const;

type Provider = (typeof PROVIDERS)[number];

/** The answers of a service to the POST and to each poll. The last one is repeated. */
interface Script {
  /** Any other id is answered with 404. */
  taskId: string | undefined;
  submit: HttpAnswer;
  polls: HttpAnswer[];
  video?: Buffer;
}

/** A service that answers like one provider at a time, independent of the emulator. */
interface StandIn {
  url: string;
  play(script: Script): void;
  /** The paths of POSTs and of fetched files since the last `play`. */
  posts: string[];
  fetched: string[];
  close(): Promise<void>;
}

async function startStandIn(): Promise<StandIn> {
  const posts: string[] = [];
  const fetched: string[] = [];
  let script: Script | undefined;
  let polls = 0;

  const apiAnswer = ({ method, url = '', headers }: IncomingMessage): HttpAnswer => {
    if (headers.authorization !== `Bearer ${API_KEY}`) return { status: 401, body: '{"message":"who?"}' };
    if (method === 'POST') {
      posts.push(url);
      if (script && [TEXT_TO_VIDEO, IMAGE_TO_VIDEO].includes(url)) return script.submit;
    } else if (script?.taskId !== undefined && url === `/v1/videos/${encodeURIComponent(script.taskId)}`) {
      const poll = script.polls[Math.min(polls++, script.polls.length - 1)];
      if (poll) return poll;
    }
    return { status: 404, body: '{"message":"nothing is here"}' };
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const { method, url = '' } = request;
    if (method === 'GET' && !url.startsWith('/v1/')) {
      fetched.push(url);
      const video = url === new URL(VIDEO).pathname ? script?.video : undefined;
      response.writeHead(video ? 200 : 404, { 'content-type': video ? 'video/mp4' : 'text/plain' });
      response.end(video);
      return;
    }
    const { status, body } = apiAnswer(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(linksToHere(body));
  };

  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // Links to covers, last frames and status pages lead here too, so that a wrong choice is noticed and stays local.
  const linksToHere = (body: string) => body.replace(/https:\/\/[a-z]+\.example\.com/g, here);

  return {
    url: here,
    posts,
    fetched,
    play(next) {
      script = next;
      polls = 0;
      posts.length = 0;
      fetched.length = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

let env: VideoTestEnvironment;
let standIn: StandIn;
let service: VideoService;
let worker: VideoWorker;
let work: Promise<void>;
let videos: VideoClient;

beforeAll(async () => {
  captureLogs();
  [env, standIn] = await Promise.all([createVideoTestEnvironment(), startStandIn()]);
  service = createVideoService(
    readServiceConfig({ VIDEO_API_BASE_URL: standIn.url, VIDEO_API_KEY: API_KEY }),
  );
  worker = await env.createWorker({
    taskQueue: TASK_QUEUE,
    service,
    worker: { workflowBundle: { codePath: bundlePath() } },
  });
  work = worker.run();
  videos = await createVideoClient({ client: env.temporal.client, taskQueue: TASK_QUEUE });
});
afterAll(async () => {
  worker.shutdown();
  await work;
  await service.close();
  await standIn.close();
  await env.teardown();
});

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

/** The failure of a job that fetches and stores nothing. */
async function failureOfJob(script: Script, input: JobInput): Promise<unknown> {
  const before = await readdir(env.storageFolder);
  standIn.play(script);
  const failure = await failureOf(videos.execute(input));
  expect(await readdir(env.storageFolder)).toEqual(before);
  expect(standIn.fetched).toEqual([]);
  return failure;
}

/** The providers whose answers do not fit the three calls, and how their jobs fail today. */
const NOT_FITTING: [start: string, type: FailureType, words: string][] = [
  ['OpenAI videos', 'NoVideo', 'gave no link to a video'],
  ['MiniMax v1', 'NoVideo', 'gave no link to a video'],
  ['Higgsfield', 'NoVideo', 'gave no link to a video'],
  ['PixVerse', 'SubmitUnconfirmed', 'the answer names no task'],
];
const isFitting = ({ name }: Provider) => !NOT_FITTING.some(([start]) => name.startsWith(start));
const FITTING = PROVIDERS.filter(isFitting);

test('sixteen of the twenty providers fit the three calls', () => {
  expect(FITTING).toHaveLength(16);
  expect(PROVIDERS).toHaveLength(FITTING.length + NOT_FITTING.length);
});

test.each(FITTING)(
  'with a service that answers like $name, one POST gives one verified video',
  async (provider) => {
    const { name, taskId } = provider;
    const { submitted, inProgress, finished } = answersOf(provider);
    const video = await noiseVideo({ prompt: name }, 20_000);
    standIn.play({ taskId, submit: submitted, polls: [inProgress, finished], video });

    const result = await videos.execute({ request: TEXT });

    expect(result).toMatchObject({ taskId, polls: 2 });
    const file = await readFile(fileURLToPath(result.video.uri));
    expect(file.equals(video)).toBe(true);
    expect(result.video).toMatchObject({
      bytes: video.length,
      sha256: createHash('sha256').update(video).digest('hex'),
      contentType: 'video/mp4',
    });
    expect(standIn.posts).toEqual([TEXT_TO_VIDEO]);
    expect(standIn.fetched).toEqual([new URL(VIDEO).pathname]);
  },
);

test.each(NOT_FITTING)(
  'a service that answers like %s, which does not fit, fails the job as %s after one POST',
  async (start, type, words) => {
    const provider = providerNamed(start);
    const { taskId } = provider;
    const { submitted, inProgress, finished } = answersOf(provider);

    const failure = await failureOfJob(
      { taskId, submit: submitted, polls: [inProgress, finished] },
      { request: TEXT, ...SHORT_DEADLINE },
    );

    expectRow(failure, type, taskId);
    expect(String(failure)).toContain(words);
    expect(standIn.posts).toEqual([TEXT_TO_VIDEO]);
  },
);

const isReadAsFailed = (provider: Provider) => answersOf(provider).broken[1].state === 'failed';

test('all but three providers report a failure in the answer to the status call', () => {
  const others = PROVIDERS.filter((provider) => !isReadAsFailed(provider)).map(({ name }) => name);
  expect(others).toEqual(['fal', expect.stringMatching(/^PixVerse/), 'Inworld']);
});

test.each(PROVIDERS.filter(isReadAsFailed))(
  'a task that fails at $name fails the job as GenerationFailed with the service’s message',
  async (provider) => {
    const { taskId } = provider;
    const { submitted, inProgress, broken } = answersOf(provider);
    const [answer, { word }, error] = broken;

    const failure = await failureOfJob(
      { taskId, submit: submitted, polls: [inProgress, answer] },
      { request: IMAGE },
    );

    expectRow(failure, 'GenerationFailed', taskId);
    // Without a message, the word for the state is the message.
    const details = { message: word, ...error };
    expect(failure).toMatchObject({ details });
    for (const words of Object.values(details)) expect(String(failure)).toContain(words);
    expect(standIn.posts).toEqual([IMAGE_TO_VIDEO]);
  },
);

test.each([
  ['fal', 'HTTP 422 No image'],
  ['Inworld', 'HTTP 400 3 Unknown voice'],
])(
  'a refusal of the status call by %s does not fail the job until the deadline, and the failure quotes it',
  async (start, words) => {
    const provider = providerNamed(start);
    const { taskId } = provider;
    const { submitted, inProgress, broken } = answersOf(provider);

    const failure = await failureOfJob(
      { taskId, submit: submitted, polls: [inProgress, broken[0]] },
      { request: TEXT, ...SHORT_DEADLINE },
    );

    expectRow(failure, 'DeadlineExceeded', taskId);
    expect(String(failure)).toContain(words);
    expect(standIn.posts).toEqual([TEXT_TO_VIDEO]);
  },
);

test.each<[start: string, type: FailureType, words: string]>([
  ['fal', 'InvalidRequest', 'HTTP 422 No image'],
  ['Inworld', 'InvalidRequest', 'HTTP 400 3 Unknown voice'],
  ['PixVerse', 'SubmitUnconfirmed', '"ErrMsg":"Reached the limit"'],
])(
  'a refusal of the submit by %s fails the job as %s with the service’s message, after one POST',
  async (start, type, words) => {
    const { broken } = answersOf(providerNamed(start));
    const failure = await failureOfJob(
      { taskId: undefined, submit: broken[0], polls: [] },
      { request: TEXT },
    );
    expectRow(failure, type, undefined);
    expect(String(failure)).toContain(words);
    expect(standIn.posts).toEqual([TEXT_TO_VIDEO]);
  },
);

test.each(['finished', 'broken'] as const)(
  'an adopted task of PixVerse that is %s is not understood, and polled until the deadline',
  async (end) => {
    const { submitted, inProgress, finished, broken } = answersOf(providerNamed('PixVerse'));
    const last = { finished, broken: broken[0] }[end];
    const failure = await failureOfJob(
      { taskId: '42', submit: submitted, polls: [inProgress, last] },
      { taskId: '42', ...SHORT_DEADLINE },
    );
    expectRow(failure, 'DeadlineExceeded', '42');
    expect(String(failure)).toContain('the task was last seen unknown');
    expect(standIn.posts).toEqual([]);
  },
);
