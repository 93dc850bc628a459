import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { aiSdkService } from '../../../src/ai-sdk';
import { createVideoClient, type VideoClient } from '../../../src/client/video-client';
import type { VideoJob } from '../../../src/client/video-job';
import type { JobResult } from '../../../src/contract/job';
import { RateLimiter } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../../src/testing';
import { expectRow } from '../../support/expect-row';
import { historyOf } from '../../support/history';
import { captureLogs, type LogLine } from '../../support/logs';
import { atLength } from '../../support/nightly';
import { failureOf, untilProgress } from '../../support/world';
import { onWorker } from '../../support/world-workers';
import { originsOf, PACKAGES, type Provider, taskIdOf } from './packages';
import {
  IMITATIONS,
  type ImitatedFaults,
  type ImitatedService,
  type Imitation,
  stagesOf,
  startImitatedService,
} from './servers';
import {
  PROVIDER_NAMES,
  type ProviderName,
  RUN_IN_FULL,
  type ScenarioName,
  scenariosOf,
  versionOf,
} from './what-runs';

let env: VideoTestEnvironment;
let logs: LogLine[];
beforeAll(async () => {
  logs = captureLogs();
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** A provider's package, the service that it calls, and a worker with both. */
interface ProviderWorld {
  name: ProviderName;
  folder: string;
  provider: Provider;
  imitation: Imitation;
  service: ImitatedService;
  videos: VideoClient;
}

async function atProvider(name: ProviderName, work: (world: ProviderWorld) => Promise<void>): Promise<void> {
  const provider = PACKAGES[name];
  const imitation = IMITATIONS[name];
  const service = await startImitatedService(imitation, {
    clock: () => env.temporal.currentTimeMs(),
  });
  const model = aiSdkService(provider.modelAt(service), {
    downloadAllow: ['127.0.0.1'],
    origins: originsOf(name, service),
  });
  const folder = await mkdtemp(join(tmpdir(), 'videogen-ai-sdk-'));
  const tools = { service: model, storage: createFileStorage(folder), rateLimiter: new RateLimiter() };
  try {
    await onWorker(env, tools, {}, async (taskQueue) => {
      const videos = await createVideoClient({ client: env.temporal.client, taskQueue });
      await work({ name, provider, imitation, service, videos, folder });
    });
  } finally {
    await model.close();
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A job of one scenario, before and after its task is ready. */
interface Running {
  prompt: string;
  job: VideoJob;
  world: ProviderWorld;
}

interface Scenario {
  /** Faults that its calls meet. */
  faults?(imitation: Imitation): { [Call in keyof ImitatedFaults]?: ImitatedFaults[Call][] };
  /** What somebody does before time goes on. */
  act?(running: Running): Promise<void>;
  expectEnd(running: Running): Promise<void>;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

const submitsOf = ({ world, prompt }: Running) =>
  world.service.calls(prompt).filter(({ call }) => call === 'submit');

/** The job has stored what the service made for this task, byte for byte, and says so. */
async function expectVideo(running: Running, tasks = 1): Promise<JobResult> {
  const { job, prompt, world } = running;
  const result = await job.result();
  const all = world.service.tasks(prompt);
  expect(all).toHaveLength(tasks);
  const task = all.at(-1);
  if (task === undefined) throw new Error('there is no task');
  const made = await world.service.video(task);
  const stored = await readFile(fileURLToPath(result.video.uri));
  expect(stored.equals(made)).toBe(true);
  expect(result.video).toMatchObject({
    bytes: made.length,
    sha256: sha256(made),
    contentType: 'video/mp4',
    width: 1280,
    height: 720,
    durationSeconds: world.provider.asked.duration,
  });
  expect(result.taskId).toBe(taskIdOf(world.name, world.service.idOf(task), world.service));
  return result;
}

/** The answer to the submit is lost, and the job waits for somebody to decide. */
async function untilHeld({ job }: Running): Promise<void> {
  await untilProgress(job, ({ phase }) => phase === 'needs-decision');
}

const FAILS = { kind: 'failed-task', code: '13', message: 'The model could not finish the video.' } as const;

const SCENARIOS: Record<ScenarioName, Scenario> = {
  success: {
    async expectEnd(running) {
      const { warnings, polls } = await expectVideo(running);
      const { service, provider } = running.world;
      expect(service.tasks(running.prompt)[0]?.request).toEqual({
        prompt: running.prompt,
        ...provider.arrives,
      });
      expect(submitsOf(running)).toHaveLength(1);
      expect(polls).toBeGreaterThan(0);
      for (const warning of provider.warnings)
        expect(warnings).toContainEqual(expect.stringMatching(warning));
      expect(warnings).toHaveLength(provider.warnings.length);
    },
  },
  failure: {
    faults: () => ({ submit: [FAILS] }),
    async expectEnd({ job, prompt, world: { service, name } }) {
      const failure = await failureOf(job.result());
      const [task] = service.tasks(prompt);
      expectRow(failure, 'GenerationFailed', task && taskIdOf(name, service.idOf(task), service));
      expect(String(failure)).toContain(FAILS.message);
    },
  },
  refusal: {
    faults: (imitation) => ({
      submit: [{ kind: 'refused-content', stage: stagesOf(imitation)[0] ?? 'prompt' }],
    }),
    async expectEnd({ job, prompt, world: { service, name } }) {
      const failure = await failureOf(job.result());
      const [task] = service.tasks(prompt);
      expect(failure).toMatchObject({
        type: 'ContentRefused',
        taskId: task && taskIdOf(name, service.idOf(task), service),
      });
    },
  },
  'rate limit': {
    faults: () => ({ submit: [{ kind: 'rate-limited', retryAfter: 2 }] }),
    async expectEnd(running) {
      await expectVideo(running);
      expect(submitsOf(running).map(({ status }) => status)[0]).toBe(429);
      expect(submitsOf(running)).toHaveLength(2);
    },
  },
  adopted: {
    faults: () => ({ submit: [{ kind: 'reset' }] }),
    async act(running) {
      await untilHeld(running);
      const { job, prompt, world } = running;
      expect(submitsOf(running)).toHaveLength(1);
      const [task] = world.service.tasks(prompt);
      if (task === undefined) throw new Error('the submit made no task');
      const taskId = taskIdOf(world.name, world.service.idOf(task), world.service);
      await job.decideSubmit({ decision: 'adopt', taskId });
    },
    async expectEnd(running) {
      await expectVideo(running);
      expect(submitsOf(running)).toHaveLength(1);
    },
  },
  resubmitted: {
    faults: () => ({ submit: [{ kind: 'cut-body' }] }),
    async act(running) {
      await untilHeld(running);
      expect(submitsOf(running)).toHaveLength(1);
      await running.job.decideSubmit({ decision: 'resubmit' });
    },
    async expectEnd(running) {
      await expectVideo(running, 2);
      expect(submitsOf(running)).toHaveLength(2);
    },
  },
  'expired link': {
    faults: () => ({ download: [{ kind: 'expired' }] }),
    async expectEnd(running) {
      await expectVideo(running);
      const { service, imitation } = running.world;
      const downloads = service.calls(running.prompt).filter(({ call }) => call === 'download');
      expect(downloads.map(({ status }) => status)).toEqual([imitation.expiredLink.status, 200]);
      expect(new Set(downloads.map(({ path }) => path)).size).toBe(2);
    },
  },
};

test.each(PROVIDER_NAMES)('@ai-sdk/%s is the version that the page names, unmodified', (name) => {
  expect(PACKAGES[name].version).toBe(versionOf(name));
});

/** Neither the key nor a link to a video is in a history, a record, a log or another file beside the videos. */
async function expectNoSecrets(running: Running[], { service, folder }: ProviderWorld): Promise<void> {
  const histories = await Promise.all(
    running.map(({ job }) => historyOf(env.temporal.client, job.workflowId)),
  );
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter(
    (file) => file.isFile() && !file.name.endsWith('.mp4'),
  );
  const texts = await Promise.all(
    files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')),
  );
  const everything = [readable(histories), readable(logs), ...texts].join('\n');
  expect(everything).toContain('A red fox');
  expect(service.links().length).toBeGreaterThan(0);
  for (const secret of [service.apiKey, ...service.links()]) expect(everything).not.toContain(secret);
}

/** As JSON, with payloads as text. */
function readable(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, shown) {
    const own = this[key];
    return own instanceof Uint8Array ? Buffer.from(own).toString() : shown;
  });
}

/** Jobs are long: at night, and with `npm run test:ai-sdk`, every provider meets everything. */
const ranHere = (name: ProviderName): ScenarioName[] =>
  name === RUN_IN_FULL ? scenariosOf(name) : atLength<ScenarioName[]>(['success'], scenariosOf(name));

test.each(PROVIDER_NAMES)('@ai-sdk/%s runs whole jobs: each scenario ends as the page says', async (name) => {
  await atProvider(name, async (world) => {
    const { videos, service, provider } = world;
    const running = await Promise.all(
      ranHere(name).map(async (scenario) => {
        const prompt = `A red fox: ${scenario}`;
        const {
          submit = [],
          status = [],
          download = [],
        } = SCENARIOS[scenario].faults?.(world.imitation) ?? {};
        service.next(prompt, 'submit', ...submit);
        service.next(prompt, 'status', ...status);
        service.next(prompt, 'download', ...download);
        const job = await videos.start({ request: { prompt, ...provider.asked } });
        return { scenario, prompt, job, world };
      }),
    );
    // Before a result is awaited, which lets the time of the server jump.
    await Promise.all(running.map((one) => SCENARIOS[one.scenario].act?.(one)));
    for (const one of running) await SCENARIOS[one.scenario].expectEnd(one);
    expect(service.scriptIsSpent()).toBe(true);
    await expectNoSecrets(running, world);
    expect(service.calls().filter(({ call }) => call === 'other')).toEqual([]);
  });
});
