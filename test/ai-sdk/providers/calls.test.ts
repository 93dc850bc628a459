import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import { aiSdkService } from '../../../src/ai-sdk';
import type { ContentStage } from '../../../src/contract/failure-details';
import type { FailureType } from '../../../src/contract/failure-table';
import type { VideoRequest } from '../../../src/contract/request';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import type { Emulator } from '../../../src/testing';
import { startEmulator } from '../../../src/testing/emulator';
import { FAL } from '../../../src/testing/fal-dialect';
import {
  type ActivityWorld,
  asJob,
  attemptUntilEnd,
  createActivityWorld,
} from '../../activities/activity-world';
import { ANSWERS } from '../../activities/faulty-service';
import { replyJson, startRawServer } from '../../service/raw-server';
import { dataUrl, PNG } from '../../support/images';
import { originsOf, PACKAGES, taskIdOf } from './packages';
import { IMITATIONS, type ImitatedService, stagesOf, startImitatedService } from './servers';
import { PROVIDER_NAMES, PROVIDERS, type ProviderName } from './what-runs';

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld();
});
afterAll(() => world.close());

const prompt = 'A red fox';

/** A package, the service that it calls, and the key of its next calls. */
interface AtProvider {
  name: ProviderName;
  service: VideoService;
  imitated: ImitatedService;
  useKey(apiKey: string): void;
}

async function atProvider(name: ProviderName, work: (at: AtProvider) => Promise<void>): Promise<void> {
  const imitated = await startImitatedService(IMITATIONS[name], { jobTimeMs: 0 });
  let { apiKey } = imitated;
  const service = aiSdkService((given) => PACKAGES[name].modelAt({ ...imitated, apiKey })(given), {
    downloadAllow: ['127.0.0.1'],
    origins: originsOf(name, imitated),
  });
  const useKey = (given: string) => {
    apiKey = given;
  };
  try {
    await work({ name, service, imitated, useKey });
    expect(imitated.scriptIsSpent()).toBe(true);
  } finally {
    await service.close();
    await imitated.close();
  }
}

/** The activities of a new worker, whose rate limiter knows of no earlier 429. */
const activitiesOf = (service: VideoService) =>
  createVideoActivities({ service, storage: createFileStorage(world.folder) });

/** Submits as Temporal does, until the submit has ended. */
function submitTo({ name, service }: AtProvider, more: Partial<VideoRequest> = {}) {
  const request: VideoRequest = { prompt, ...PACKAGES[name].asked, ...more };
  const ofJob = { ...asJob(), activityId: randomUUID() };
  return attemptUntilEnd((info) =>
    world.run(activitiesOf(service).submitVideo, { request, onLostSubmit: 'hold' }, { ...ofJob, ...info }),
  );
}

/** Polls as Temporal does, until a poll was answered. */
const pollAt = (service: VideoService, taskId: string) =>
  attemptUntilEnd((info) => world.run(activitiesOf(service).pollVideo, { taskId }, info));

async function taskAt(at: AtProvider, more: Partial<VideoRequest> = {}): Promise<string> {
  const { end } = await submitTo(at, more);
  if (end instanceof ApplicationFailure) throw end;
  return end.taskId;
}

/** What a fault is to a submit and to a poll. faults.test.ts has them all, with every policy, for a model of its own. */
const FAULTS: [keyof typeof ANSWERS, submit: FailureType, poll: FailureType][] = [
  ['reset after bytes', 'SubmitUnconfirmed', 'ServiceUnreachable'],
  ['cut in body', 'SubmitUnconfirmed', 'ServiceUnreachable'],
  ['bad JSON', 'SubmitUnconfirmed', 'AnswerUnreadable'],
  ['empty 200', 'SubmitUnconfirmed', 'AnswerUnreadable'],
  [429, 'RateLimited', 'RateLimited'],
  [500, 'ServiceFailed', 'ServiceFailed'],
];

test.each(PROVIDER_NAMES)('@ai-sdk/%s: no fault of a submit pays twice', async (name) => {
  await atProvider(name, async (at) => {
    const { imitated } = at;
    for (const [fault, failure] of FAULTS) {
      const before = { posts: imitated.calls().length, tasks: imitated.tasks().length };
      imitated.next(prompt, 'submit', ANSWERS[fault]);
      const { end, failures } = await submitTo(at);
      expect([fault, ...failures]).toEqual([fault, failure]);
      const posts = imitated.calls().length - before.posts;
      expect([fault, posts]).toEqual([fault, failure === 'SubmitUnconfirmed' ? 1 : 2]);
      expect([fault, imitated.tasks().length - before.tasks]).toEqual([fault, 1]);
      const task = imitated.tasks().at(-1);
      if (!(end instanceof ApplicationFailure))
        expect(end.taskId).toBe(task && taskIdOf(name, imitated.idOf(task), imitated));
    }
  });
});

test.each(PROVIDER_NAMES)('@ai-sdk/%s: no fault of a poll is the failure of the task', async (name) => {
  await atProvider(name, async (at) => {
    const { imitated, service } = at;
    const taskId = await taskAt(at);
    for (const [fault, , failure] of FAULTS) {
      imitated.next(prompt, 'status', ANSWERS[fault]);
      const { end, failures } = await pollAt(service, taskId);
      expect([fault, ...failures]).toEqual([fault, failure]);
      expect(end).toMatchObject({ state: 'succeeded' });
    }
    at.useKey('a-key-that-was-rotated');
    const { end, failures } = await pollAt(service, taskId);
    expect(end).toBeInstanceOf(ApplicationFailure);
    expect(failures).not.toContain('GenerationFailed');
    at.useKey(imitated.apiKey);
    expect((await pollAt(service, taskId)).end).toMatchObject({ state: 'succeeded' });
  });
});

const REFUSALS = PROVIDER_NAMES.flatMap((name) =>
  stagesOf(IMITATIONS[name]).map((stage): [ProviderName, ContentStage] => [name, stage]),
);

/** Replicate says that it was one or the other. */
const SAYS_NO_STAGE: ProviderName[] = ['replicate'];

test.each(REFUSALS)('@ai-sdk/%s: a refusal of the %s is known as one', async (name, stage) => {
  await atProvider(name, async (at) => {
    at.imitated.next(prompt, 'submit', { kind: 'refused-content', stage });
    const { end, failures } = await submitTo(at);
    const told = SAYS_NO_STAGE.includes(name) ? {} : { stage };
    if (end instanceof ApplicationFailure) {
      expect(failures).toEqual(['ContentRefused']);
      expect(end.details?.[0]).toMatchObject(told);
      expect(at.imitated.tasks()).toEqual([]);
      return;
    }
    expect(await at.service.status(end.taskId)).toMatchObject({
      task: { state: 'failed' },
      refusedContent: told,
    });
  });
});

/** It answers 200, and calls the state of such a task UNKNOWN, which its package takes for one in progress. */
const HAS_NO_404: ProviderName[] = ['alibaba'];

test.each(PROVIDER_NAMES)('@ai-sdk/%s: a task that the service does not have is unknown', async (name) => {
  await atProvider(name, async ({ service, imitated }) => {
    const noTask = IMITATIONS[name].idOf('task_00000000-0000-4000-8000-000000000000');
    const { end, failures } = await pollAt(service, taskIdOf(name, noTask, imitated));
    if (HAS_NO_404.includes(name)) expect(end).toMatchObject({ state: 'running' });
    else expect(new Set(failures)).toEqual(new Set(['TaskUnknown']));
  });
});

/** Their task ids are addresses. Replicate's package itself refuses one that leads elsewhere. */
const LINKED: [ProviderName, RegExp][] = [
  ['fal', /the model would send its key to http:/],
  ['replicate', /getUrl|origin|host|URL/i],
];

test.each(LINKED)('@ai-sdk/%s: a task id that leads elsewhere is not asked for', async (name, why) => {
  const stranger = await startRawServer((request) => replyJson(request, {}));
  try {
    await atProvider(name, async ({ service }) => {
      const forged = PROVIDERS[name].taskId.replaceAll(/https:\/\/[^/]+/g, stranger.url);
      const { end, failures } = await pollAt(service, forged);
      expect(stranger.requests).toEqual([]);
      expect(String(end)).toMatch(why);
      // It fails the poll and not the job.
      expect(new Set(failures)).toEqual(new Set(['ServiceUnreachable']));
    });
  } finally {
    await stranger.close();
  }
});

/** Both of Google's APIs take bytes alone, so the worker fetches the image for them. */
const TAKES_BYTES: ProviderName[] = ['google', 'google-vertex'];

test.each(PROVIDER_NAMES)('@ai-sdk/%s: the image of a request arrives', async (name) => {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${PNG.length}\r\n\r\n`;
  const images = await startRawServer(({ socket }) => socket.end(Buffer.concat([Buffer.from(head), PNG])));
  const image_url = `${images.url}/fox.png`;
  try {
    await atProvider(name, async (at) => {
      await taskAt(at, { image_url });
      const expected = TAKES_BYTES.includes(name) ? dataUrl(PNG) : image_url;
      expect(at.imitated.tasks().map(({ request }) => request.image_url)).toEqual([expected]);
    });
  } finally {
    await images.close();
  }
});

test.each([
  ['request_timeout', 'Request timed out'],
  ['runner_disconnected', 'Runner disconnected unexpectedly'],
  ['internal_server_error', 'Internal server error'],
])(
  '@ai-sdk/fal: a task that failed as %s has ended, although fal says so with a 5xx',
  async (code, message) => {
    await atProvider('fal', async (at) => {
      at.imitated.next(prompt, 'submit', { kind: 'failed-task', code, message });
      const { task, serviceMessage = {} } = await at.service.status(await taskAt(at));
      expect([task.state, serviceMessage.message]).toEqual(['failed', message]);
    });
  },
);

test('the emulator makes the videos, fails, refuses and asks for its key as fal does for @ai-sdk/fal', async () => {
  const atEmulator = async (
    work: (service: VideoService, emulator: Emulator) => Promise<void>,
    key?: string,
  ) => {
    const emulator = await startEmulator({ jobTimeMs: 0, dialect: FAL });
    const { url: origin, apiKey } = emulator;
    const source = PACKAGES.fal.modelAt({ apiKey: key ?? apiKey, origin, baseUrl: origin });
    const service = aiSdkService(source, { origins: [origin], downloadAllow: ['127.0.0.1'] });
    await work(service, emulator).finally(() => Promise.all([service.close(), emulator.close()]));
  };
  const taskOf = async (service: VideoService) => {
    const { taskId } = await service.start({ prompt, ...PACKAGES.fal.asked }, { idempotencyKey: 'k' });
    return service.status(taskId);
  };
  await atEmulator(async (service, emulator) => {
    const { task } = await taskOf(service);
    if (task.state !== 'succeeded' || task.videoUrl === undefined) throw new Error('there is no video');
    const { stream } = await service.open(task.videoUrl);
    const [made] = emulator.generations();
    expect(made?.request).toEqual({ prompt, ...PACKAGES.fal.asked });
    const video = await emulator.video(made?.taskId ?? '');
    expect(Buffer.concat(await stream.toArray()).equals(video)).toBe(true);

    emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
    expect(await taskOf(service)).toMatchObject({
      task: { state: 'failed' },
      serviceMessage: { message: 'no foxes today' },
    });
    emulator.next('submit', { kind: 'refused-content', stage: 'prompt' });
    expect(await taskOf(service)).toMatchObject({ task: { state: 'failed' }, refusedContent: {} });
  });
  await atEmulator(async (service) => {
    await expect(taskOf(service)).rejects.toMatchObject({ kind: 'answered', facts: { status: 401 } });
  }, 'another-key');
});
