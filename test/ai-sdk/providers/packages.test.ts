import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import { createVideoClient, type VideoClient } from '../../../src/client/video-client';
import type { VideoJob } from '../../../src/client/video-job';
import type { FailureType } from '../../../src/contract/failure-table';
import type { JobResult } from '../../../src/contract/job';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import type { Faults } from '../../../src/testing';
import { createVideoTestEnvironment, startEmulator, type VideoTestEnvironment } from '../../../src/testing';
import { FAL } from '../../../src/testing/fal-dialect';
import {
  type ActivityWorld,
  asJob,
  attemptUntilEnd,
  createActivityWorld,
} from '../../activities/activity-world';
import { ANSWERS } from '../../activities/faulty-service';
import { AiSdkProject } from '../../real-server/ai-sdk-project';
import { type RawServer, replyJson, startRawServer } from '../../service/raw-server';
import { expectRow } from '../../support/expect-row';
import { historyOf } from '../../support/history';
import { dataUrl, PNG, sha256Of } from '../../support/images';
import { captureLogs, type LogLine } from '../../support/logs';
import { failureOf, keepRunning, quickWorkflows, untilProgress } from '../../support/world';
import { type StartedProvider, startProvider } from './packages';
import {
  PROVIDER_NAMES,
  PROVIDERS,
  type ProviderName,
  packageOf,
  type ScenarioName,
  scenariosOf,
  versionOf,
} from './what-runs';

const ROOT = join(__dirname, '../../..');
const JOB_TIME_MS = 20_000;

let env: VideoTestEnvironment;
let logs: LogLine[];
let images: RawServer;
let videos: VideoClient;
let stopWorker: () => Promise<void>;
const providers = new Map<ProviderName, StartedProvider>();

beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
  const options = { clock: () => env.temporal.currentTimeMs(), jobTimeMs: JOB_TIME_MS };
  for (const name of PROVIDER_NAMES) providers.set(name, await startProvider(name, options));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${PNG.length}\r\n\r\n`;
  images = await startRawServer(({ socket }) => socket.end(Buffer.concat([Buffer.from(head), PNG])));
  const services = [...providers.values()].map(({ name, service }) => [name, service]);
  const taskQueue = 'providers';
  const worker = await env.createWorker({
    taskQueue,
    services: Object.fromEntries(services),
    worker: quickWorkflows(),
  });
  stopWorker = keepRunning(worker);
  videos = await createVideoClient({ client: env.temporal.client, taskQueue });
});
afterAll(async () => {
  await stopWorker();
  await Promise.all([...providers.values()].map((provider) => provider.close()));
  await images.close();
  await env.teardown();
});

function providerOf(name: ProviderName): StartedProvider {
  const provider = providers.get(name);
  if (provider === undefined) throw new Error(`${name} is not started`);
  return provider;
}

test.each(PROVIDER_NAMES)('@ai-sdk/%s is the version that the page names, unmodified', (name) => {
  expect(providerOf(name).version).toBe(versionOf(name));
});

/** A job at the service of a package. Its prompt is its own. */
interface Running extends StartedProvider {
  prompt: string;
  job: VideoJob;
}

const tasksOf = ({ imitated, prompt }: Running) =>
  imitated.generations().filter(({ request }) => request.prompt === prompt);

const submitsOf = ({ imitated, prompt }: Running) =>
  imitated.calls.filter(({ call, body }) => call === 'submit' && JSON.stringify(body).includes(prompt));

/** The id of the last task of a job. */
function taskIdIn(running: Running): string {
  const task = tasksOf(running).at(-1);
  if (task === undefined) throw new Error('the submit made no task');
  return running.taskIdOf(running.imitated.idOf(task));
}

/** The job has stored what the service made for its last task, byte for byte, and says so. */
async function expectVideo(running: Running): Promise<JobResult> {
  const { job, imitated, asked } = running;
  const result = await job.result();
  const [task, ...others] = tasksOf(running);
  expect(others).toEqual([]);
  const made = await imitated.video(task?.taskId ?? '');
  const stored = await readFile(fileURLToPath(result.video.uri));
  expect(stored.equals(made)).toBe(true);
  expect(result.taskId).toBe(taskIdIn(running));
  expect(result.video).toMatchObject({
    bytes: made.length,
    sha256: sha256Of(made),
    contentType: 'video/mp4',
    width: 1280,
    height: 720,
    durationSeconds: asked.duration,
  });
  return result;
}

const FAILS = { kind: 'failed-task', code: '13', message: 'The model could not finish the video.' } as const;

interface Scenario {
  /** What the submits of the job meet. */
  faults?: Faults['submit'][];
  run(running: Running): Promise<void>;
}

const SCENARIOS: Record<ScenarioName, Scenario> = {
  success: {
    async run(running) {
      const { warnings, polls } = await expectVideo(running);
      const { prompt, asked, unsupported, takesImageBytes } = running;
      const image_url = takesImageBytes ? dataUrl(PNG) : images.url;
      const arrived = Object.entries({ prompt, ...asked, image_url }).filter(
        ([field]) => field !== unsupported,
      );
      expect(tasksOf(running).map(({ request }) => request)).toEqual([Object.fromEntries(arrived)]);
      expect(submitsOf(running)).toHaveLength(1);
      expect(polls).toBeGreaterThan(0);
      expect(warnings).toEqual(unsupported ? [expect.stringContaining(unsupported)] : []);
    },
  },
  failure: {
    faults: [FAILS],
    async run(running) {
      const failure = await failureOf(running.job.result());
      expectRow(failure, 'GenerationFailed', taskIdIn(running));
      expect(String(failure)).toContain(FAILS.message);
    },
  },
  adopted: {
    faults: [{ kind: 'reset' }],
    async run(running) {
      await untilProgress(running.job, ({ phase }) => phase === 'needs-decision');
      expect(submitsOf(running)).toHaveLength(1);
      await running.job.decideSubmit({ decision: 'adopt', taskId: taskIdIn(running) });
      await expectVideo(running);
      expect(submitsOf(running)).toHaveLength(1);
    },
  },
  'expired link': {
    async run(running) {
      const { imitated } = running;
      const message = 'the link has expired';
      imitated.next('download', { kind: 'refused', status: imitated.expiredStatus, message });
      const before = imitated.calls.length;
      await expectVideo(running);
      const calls = imitated.calls.slice(before);
      const first = calls.findIndex(({ call }) => call === 'download');
      // It polls for another link.
      expect(calls.slice(first)).toMatchObject([
        { call: 'download', status: imitated.expiredStatus },
        { call: 'status' },
        { call: 'download', status: 200 },
      ]);
    },
  },
};

/** Neither the key nor a link to a video is in a history, a record, a log or another file next to the videos. */
async function expectNoSecrets(jobs: VideoJob[], { imitated }: StartedProvider): Promise<void> {
  const histories = await Promise.all(
    jobs.map(({ workflowId }) => historyOf(env.temporal.client, workflowId)),
  );
  const entries = await readdir(env.storageFolder, { recursive: true, withFileTypes: true });
  const files = entries.filter((file) => file.isFile() && !file.name.endsWith('.mp4'));
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')),
  );
  const everything = [readable(histories), readable(logs), ...texts].join('\n');
  expect(everything).toContain('A red fox');
  for (const secret of [imitated.apiKey, imitated.linkSignature]) expect(everything).not.toContain(secret);
  // The server of a link is often another company's.
  const downloads = imitated.calls.filter(({ call }) => call === 'download');
  expect(downloads.filter(({ authorized }) => authorized)).toEqual([]);
}

/** As JSON, with payloads as text. */
function readable(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, shown) {
    const own = this[key];
    return own instanceof Uint8Array ? Buffer.from(own).toString() : shown;
  });
}

test.each(PROVIDER_NAMES)('@ai-sdk/%s runs whole jobs: each scenario ends as the page says', async (name) => {
  const provider = providerOf(name);
  const { imitated, asked } = provider;
  const jobs: VideoJob[] = [];
  for (const scenario of scenariosOf(name)) {
    const { faults = [], run } = SCENARIOS[scenario];
    const prompt = `A red fox: ${scenario}`;
    imitated.next('submit', ...faults);
    const request = { prompt, ...asked, image_url: images.url };
    const job = await videos.start({ request, service: name });
    jobs.push(job);
    await run({ ...provider, prompt, job });
    expect(imitated.scriptIsSpent()).toBe(true);
  }
  await expectNoSecrets(jobs, provider);
  expect(imitated.calls.filter(({ call }) => call === 'other')).toEqual([]);
});

describe('in a project in which this package and those of the providers are installed,', () => {
  let project: AiSdkProject;
  beforeAll(() => {
    project = new AiSdkProject();
  });
  afterAll(() => project.remove());

  test('every package is loaded by its name, and takes the key and the address that it is given', async () => {
    const asked = [...providers.values()].map(({ name, imitated: { apiKey, baseUrl } }) => ({
      package: packageOf(name),
      model: PROVIDERS[name].model,
      baseUrl,
      apiKey,
    }));
    const printed = await project.run(`import { loadAiSdkService } from 'temporal-videogen/ai-sdk';
      const taskIds = [];
      for (const { apiKey, ...asked } of ${JSON.stringify(asked)}) {
        const service = loadAiSdkService({ ...asked, apiKey: () => apiKey });
        const { taskId } = await service.start({ prompt: 'A red fox' }, { idempotencyKey: 'k' });
        await service.close();
        taskIds.push(taskId);
      }
      console.log(JSON.stringify(taskIds));`);
    const made = [...providers.values()].map(({ imitated, taskIdOf }) =>
      imitated
        .generations()
        .slice(-1)
        .map((task) => taskIdOf(imitated.idOf(task)))
        .join(),
    );
    expect(JSON.parse(printed)).toEqual(made);
  });

  test('a worker with a services file runs jobs at its entries of the AI SDK, by name and by default', async () => {
    // What `videogen emulator --fal` starts.
    const fal = await startEmulator({ dialect: FAL, videoBytes: 64 * 1024 });
    const xai = await startProvider('xai');
    const entry = (name: ProviderName, baseUrl: string, key: object) => ({
      aiSdk: { package: packageOf(name), model: PROVIDERS[name].model, baseUrl },
      key,
      downloadAllow: ['127.0.0.1'],
    });
    const file = join(project.folder, 'services.json');
    writeFileSync(join(project.folder, 'xai.key'), xai.imitated.apiKey);
    const services = {
      veo: entry('fal', fal.url, { env: 'FAL_KEY' }),
      grok: entry('xai', xai.imitated.baseUrl, { file: 'xai.key' }),
    };
    writeFileSync(file, JSON.stringify({ services, default: 'veo' }));
    // The time-skipping server would skip over timeouts while a process is still on its way to its queues.
    const dev = await createVideoTestEnvironment({ server: 'dev' });
    const taskQueue = 'of-the-file';
    const worker = project.startFile(join(ROOT, 'dist/src/cli/main.js'), ['worker'], {
      TEMPORAL_ADDRESS: dev.temporal.address,
      VIDEOGEN_SERVICES_FILE: file,
      VIDEOGEN_TASK_QUEUE: taskQueue,
      VIDEOGEN_STORAGE: join(project.folder, taskQueue),
      FAL_KEY: fal.apiKey,
    });
    const died = worker.ended.then((code) =>
      Promise.reject(new Error(`it ended with ${code}: ${worker.err()}`)),
    );
    const client = await createVideoClient({ client: dev.temporal.client, taskQueue });
    const request = { prompt: 'A red fox', resolution: '720p', duration: 6 } as const;
    for (const [service, emulator] of [
      [{}, fal],
      [{ service: 'grok' }, xai.imitated],
    ] as const) {
      const job = await client.start({ request, ...service });
      const { video } = await Promise.race([job.result(), died]);
      const [task, ...others] = emulator.generations();
      expect(others).toEqual([]);
      const made = await emulator.video(task?.taskId ?? '');
      expect(made.equals(readFileSync(fileURLToPath(video.uri)))).toBe(true);
    }
    expect(worker.out() + worker.err()).not.toContain(xai.imitated.apiKey);
    worker.kill('SIGTERM');
    await died.catch(() => undefined);
    await dev.teardown();
    await fal.close();
    await xai.close();
  }, 180_000);
});

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld();
});
afterAll(() => world.close());

/** The activities of a new worker, whose rate limiter knows of no earlier 429. */
const activitiesOf = (service: VideoService) =>
  createVideoActivities({ service, storage: createFileStorage(world.folder) });

/** Submits as Temporal does, until the submit has ended. */
function submitTo({ service, asked }: StartedProvider) {
  const request = { prompt: 'A red fox', ...asked };
  const ofJob = { ...asJob(), activityId: randomUUID() };
  return attemptUntilEnd((info) =>
    world.run(activitiesOf(service).submitVideo, { request, onLostSubmit: 'hold' }, { ...ofJob, ...info }),
  );
}

/** Polls as Temporal does, until a poll was answered. */
const pollAt = ({ service }: StartedProvider, taskId: string) =>
  attemptUntilEnd((info) => world.run(activitiesOf(service).pollVideo, { taskId }, info));

/** What a fault is to a submit and to a poll. test/activities has them all. */
const FAULTS: [keyof typeof ANSWERS, submit: FailureType, poll: FailureType][] = [
  ['reset after bytes', 'SubmitUnconfirmed', 'ServiceUnreachable'],
  ['cut in body', 'SubmitUnconfirmed', 'ServiceUnreachable'],
  ['bad JSON', 'SubmitUnconfirmed', 'AnswerUnreadable'],
  ['empty 200', 'SubmitUnconfirmed', 'AnswerUnreadable'],
  [429, 'RateLimited', 'RateLimited'],
  [500, 'ServiceFailed', 'ServiceFailed'],
];

/** It answers 200, and calls the state of such a task UNKNOWN, which its package takes for one in progress. */
const HAS_NO_404: ProviderName[] = ['alibaba'];
/** It says that it was the prompt or the video. */
const SAYS_NO_STAGE: ProviderName[] = ['replicate'];

describe.each(PROVIDER_NAMES)('the calls of @ai-sdk/%s:', (name) => {
  test('no fault of a submit pays twice', async () => {
    const provider = providerOf(name);
    const { imitated, taskIdOf } = provider;
    for (const [fault, failure] of FAULTS) {
      const before = { posts: imitated.calls.length, tasks: imitated.generations().length };
      imitated.next('submit', ANSWERS[fault]);
      const { end, failures } = await submitTo(provider);
      const posts = imitated.calls.length - before.posts;
      const tasks = imitated.generations().slice(before.tasks);
      const expected = { failures: [failure], posts: failure === 'SubmitUnconfirmed' ? 1 : 2 };
      expect({ fault, failures, posts }).toEqual({ fault, ...expected });
      expect(tasks).toHaveLength(1);
      if (!(end instanceof ApplicationFailure))
        expect([end.taskId]).toEqual(tasks.map((task) => taskIdOf(imitated.idOf(task))));
    }
  });

  test('neither a fault of a poll nor a rotated key is the failure of the task, and an unknown task is unknown', async () => {
    const provider = providerOf(name);
    const { imitated, taskIdOf } = provider;
    const { end: submitted } = await submitTo(provider);
    if (submitted instanceof ApplicationFailure) throw submitted;
    const { taskId } = submitted;
    await env.temporal.sleep(JOB_TIME_MS);
    for (const [fault, , failure] of FAULTS) {
      imitated.next('status', ANSWERS[fault]);
      const { end, failures } = await pollAt(provider, taskId);
      expect({ fault, failures, end }).toMatchObject({
        fault,
        failures: [failure],
        end: { state: 'succeeded' },
      });
    }
    provider.useKey('a-key-that-was-rotated');
    const { end, failures } = await pollAt(provider, taskId);
    expect(end).toBeInstanceOf(ApplicationFailure);
    expect(failures).not.toContain('GenerationFailed');
    provider.useKey(imitated.apiKey);
    expect((await pollAt(provider, taskId)).end).toMatchObject({ state: 'succeeded' });

    const [task] = imitated.generations();
    if (task === undefined) throw new Error('there is no task');
    const nobodys = imitated.idOf({ ...task, taskId: 'task_00000000-0000-4000-8000-000000000000' });
    const unknown = await pollAt(provider, taskIdOf(nobodys));
    if (HAS_NO_404.includes(name)) expect(unknown.end).toMatchObject({ state: 'running' });
    else expect(new Set(unknown.failures)).toEqual(new Set(['TaskUnknown']));
  });

  test('a refusal of content is known as one', async () => {
    const provider = providerOf(name);
    const { imitated, service } = provider;
    for (const stage of imitated.refuses) {
      const told = SAYS_NO_STAGE.includes(name) ? {} : { stage };
      imitated.next('submit', { kind: 'refused-content', stage });
      const before = imitated.generations().length;
      const { end, failures } = await submitTo(provider);
      if (end instanceof ApplicationFailure) {
        expect(failures).toEqual(['ContentRefused']);
        expect(end.details?.[0]).toMatchObject(told);
        expect(imitated.generations()).toHaveLength(before);
      } else {
        await env.temporal.sleep(JOB_TIME_MS);
        expect(await service.status(end.taskId)).toMatchObject({
          task: { state: 'failed' },
          refusedContent: told,
        });
      }
    }
  });
});

/** Their task ids are addresses. Replicate's package itself refuses one that leads elsewhere. */
const LINKED: [ProviderName, RegExp][] = [
  ['fal', /the model would send its key to http:/],
  ['replicate', /getUrl|origin|host|URL/i],
];

test.each(LINKED)('@ai-sdk/%s: a task id that leads elsewhere is not asked for', async (name, why) => {
  const stranger = await startRawServer((request) => replyJson(request, {}));
  const forged = PROVIDERS[name].taskId.replaceAll(/https:\/\/[^/]+/g, stranger.url);
  const { end, failures } = await pollAt(providerOf(name), forged);
  await stranger.close();
  expect(stranger.requests).toEqual([]);
  expect(String(end)).toMatch(why);
  // It fails the poll and not the job.
  expect(new Set(failures)).toEqual(new Set(['ServiceUnreachable']));
});
