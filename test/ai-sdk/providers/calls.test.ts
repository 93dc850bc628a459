import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApplicationFailure } from '@temporalio/common';
import { aiSdkService } from '../../../src/ai-sdk';
import type { ContentStage } from '../../../src/contract/failure-details';
import type { FailureType } from '../../../src/contract/failure-table';
import { LOST_SUBMIT_POLICIES, type LostSubmitPolicy } from '../../../src/contract/lost-submit';
import type { VideoService } from '../../../src/service';
import type { Emulator } from '../../../src/testing';
import { startEmulator } from '../../../src/testing/emulator';
import { FAL } from '../../../src/testing/fal-dialect';
import { type ActivityWorld, createActivityWorld } from '../../activities/activity-world';
import { COURSES, LATER, SUBMITS } from '../../activities/fault-tables';
import {
  type Fault,
  isRead,
  startUnreadAddresses,
  type UnreadAddresses,
} from '../../activities/faulty-service';
import { replyJson, startRawServer } from '../../service/raw-server';
import { dataUrl, PNG } from '../../support/images';
import { atLength } from '../../support/nightly';
import { atFaultyProvider, type FaultyProvider, pollAt, prompt, submitTo } from './faulty-provider';
import { PACKAGES, taskIdOf } from './packages';
import { IMITATIONS, stagesOf } from './servers';
import { PROVIDER_NAMES, PROVIDERS, type ProviderName, RUN_IN_FULL } from './what-runs';

const NAMES = atLength<readonly ProviderName[]>([RUN_IN_FULL], PROVIDER_NAMES);
/** The same code applies the policies to every service. */
const POLICIES = atLength<readonly LostSubmitPolicy[]>(['hold'], LOST_SUBMIT_POLICIES);

let unread: UnreadAddresses & { close(): Promise<void> };
let world: ActivityWorld;
beforeAll(async () => {
  unread = await startUnreadAddresses();
  world = await createActivityWorld();
});
afterAll(async () => {
  await unread.close();
  await world.close();
});

const atProvider = (name: ProviderName, work: (at: FaultyProvider) => Promise<void>) =>
  atFaultyProvider(name, unread, work);

const submit = (name: ProviderName, service: VideoService, onLostSubmit: LostSubmitPolicy) =>
  submitTo(name, service, { world, onLostSubmit });

const CELLS = NAMES.flatMap((name) =>
  SUBMITS.flatMap(([fault, failure, otherwise, resubmit]) =>
    POLICIES.map(
      (policy) => [name, fault, policy, policy === 'resubmit' ? resubmit : otherwise, failure] as const,
    ),
  ),
);

type Cell = (typeof CELLS)[number];

async function expectCourse(
  { service, imitated, submits, next }: FaultyProvider,
  [name, fault, policy, course, failure]: Cell,
): Promise<void> {
  next('submit', fault);
  const { end, failures } = await submit(name, service, policy);
  const { ends, ...counted } = COURSES[course];
  expect({ posts: submits(), tasks: imitated.tasks().length }).toEqual(counted);
  const arrived = imitated.calls().filter(({ call }) => call === 'submit').length;
  expect(arrived).toBe(isRead(fault) ? counted.posts : counted.posts - 1);
  expect(failures).toEqual([failure]);
  if (end instanceof ApplicationFailure) {
    expect(failures.at(-1)).toBe(ends);
    return;
  }
  const task = imitated.tasks().at(-1);
  expect([end.taskId, ends]).toEqual([task && taskIdOf(name, imitated.idOf(task), imitated), 'task']);
}

test.each(CELLS)('@ai-sdk/%s: %s of a submit, on lost submit %s: %s', async (...cell) => {
  await atProvider(cell[0], (at) => expectCourse(at, cell));
});

/** The operation of Replicate is a link to the service, and the package follows it nowhere else. */
const LEFT_OUT: Partial<Record<ProviderName, Fault[]>> = {
  replicate: ['refused', 'reset before bytes', 'reset unread'],
};

const POLLS = NAMES.flatMap((name) =>
  LATER.flatMap(([fault, call, failure]) =>
    call === 'poll' && failure !== 'recovered' && !LEFT_OUT[name]?.includes(fault)
      ? [[name, fault, failure] as [ProviderName, Fault, FailureType]]
      : [],
  ),
);

test.each(POLLS)(
  '@ai-sdk/%s: %s of a poll is %s, never the failure of the task',
  async (name, fault, failure) => {
    await atProvider(name, async ({ service, next }) => {
      const { end } = await submit(name, service, 'hold');
      if (end instanceof ApplicationFailure) throw end;
      next('status', fault);
      const { taskId } = end;
      const ended = await pollAt(service, world, taskId);
      expect(ended.failures).toEqual([failure]);
      expect(ended.end).toMatchObject({ state: 'succeeded' });
    });
  },
);

async function taskAt(name: ProviderName, { service }: FaultyProvider): Promise<string> {
  const { end } = await submitTo(name, service, { world });
  if (end instanceof ApplicationFailure) throw end;
  return end.taskId;
}

const REFUSALS = PROVIDER_NAMES.flatMap((name) =>
  stagesOf(IMITATIONS[name]).map((stage): [ProviderName, ContentStage] => [name, stage]),
);

/** Replicate says that it was one or the other. */
const SAYS_NO_STAGE: ProviderName[] = ['replicate'];

test.each(REFUSALS)('@ai-sdk/%s: a refusal of the %s is known as one', async (name, stage) => {
  await atProvider(name, async ({ service, imitated }) => {
    imitated.next(prompt, 'submit', { kind: 'refused-content', stage });
    const { end, failures } = await submitTo(name, service, { world });
    const told = SAYS_NO_STAGE.includes(name) ? {} : { stage };
    if (end instanceof ApplicationFailure) {
      expect(failures).toEqual(['ContentRefused']);
      expect(end.details?.[0]).toMatchObject(told);
      expect(imitated.tasks()).toEqual([]);
      return;
    }
    expect(await service.status(end.taskId)).toMatchObject({
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
    const unknown = taskIdOf(name, noTask, imitated);
    const { end, failures } = await pollAt(service, world, unknown);
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
      const { end, failures } = await pollAt(service, world, forged);
      expect(stranger.requests).toEqual([]);
      expect(String(end)).toMatch(why);
      // It fails the poll and not the job.
      expect(new Set(failures)).toEqual(new Set(['ServiceUnreachable']));
    });
  } finally {
    await stranger.close();
  }
});

test.each(PROVIDER_NAMES)('@ai-sdk/%s: a poll with a wrong key fails alone, not the task', async (name) => {
  await atProvider(name, async (at) => {
    const taskId = await taskAt(name, at);
    at.useKey('a-key-that-was-rotated');
    const { end, failures } = await pollAt(at.service, world, taskId);
    expect(end).toBeInstanceOf(ApplicationFailure);
    expect(failures).not.toContain('GenerationFailed');
    at.useKey(at.imitated.apiKey);
    expect((await pollAt(at.service, world, taskId)).end).toMatchObject({ state: 'succeeded' });
  });
});

test.each(PROVIDER_NAMES)('@ai-sdk/%s: no key is in what the activities report', async (name) => {
  await atProvider(name, async (at) => {
    const { apiKey } = at.imitated;
    await pollAt(at.service, world, await taskAt(name, at));
    at.imitated.next(prompt, 'submit', { kind: 'refused', status: 400, message: `no such key: ${apiKey}` });
    await submitTo(name, at.service, { world });
    expect(world.everythingReported()).not.toContain(apiKey);
  });
});

/** Both of Google's APIs take bytes alone, so the worker fetches the image for them. */
const TAKES_BYTES: ProviderName[] = ['google', 'google-vertex'];

test.each(PROVIDER_NAMES)('@ai-sdk/%s: the image of a request arrives', async (name) => {
  const images = createServer((_, response) => response.setHeader('content-type', 'image/png').end(PNG));
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
  const image_url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/fox.png`;
  await atProvider(name, async ({ service, imitated }) => {
    const { end } = await submitTo(name, service, { world, image_url });
    if (end instanceof ApplicationFailure) throw end;
    const expected = TAKES_BYTES.includes(name) ? dataUrl(PNG) : image_url;
    expect(imitated.tasks().map(({ request }) => request.image_url)).toEqual([expected]);
  });
  images.closeAllConnections();
  await new Promise((resolve) => images.close(resolve));
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
      const { task, serviceMessage = {} } = await at.service.status(await taskAt('fal', at));
      expect([task.state, serviceMessage.message]).toEqual(['failed', message]);
    });
  },
);

describe('@ai-sdk/fal at the emulator of this package', () => {
  async function atEmulator(
    key: string | undefined,
    work: (service: VideoService, emulator: Emulator) => Promise<void>,
  ) {
    const emulator = await startEmulator({ jobTimeMs: 0, dialect: FAL });
    const { url: origin, apiKey } = emulator;
    const source = PACKAGES.fal.modelAt({ apiKey: key ?? apiKey, origin, baseUrl: origin });
    const service = aiSdkService(source, { origins: [origin], downloadAllow: ['127.0.0.1'] });
    await work(service, emulator).finally(() => Promise.all([service.close(), emulator.close()]));
  }

  const taskOf = async (service: VideoService) => {
    const { taskId } = await service.start({ prompt, ...PACKAGES.fal.asked }, { idempotencyKey: 'k' });
    return service.status(taskId);
  };

  test('makes the video that was asked for', async () => {
    await atEmulator(undefined, async (service, emulator) => {
      const { task } = await taskOf(service);
      if (task.state !== 'succeeded' || task.videoUrl === undefined) throw new Error('there is no video');
      const { stream } = await service.open(task.videoUrl);
      const [made] = emulator.generations();
      expect(made?.request).toEqual({ prompt, ...PACKAGES.fal.asked });
      const video = await emulator.video(made?.taskId ?? '');
      expect(Buffer.concat(await stream.toArray()).equals(video)).toBe(true);
    });
  });

  test('fails, refuses and asks for its key as fal does', async () => {
    await atEmulator(undefined, async (service, emulator) => {
      emulator.next('submit', { kind: 'failed-task', code: 'season', message: 'no foxes today' });
      expect(await taskOf(service)).toMatchObject({
        task: { state: 'failed' },
        serviceMessage: { message: 'no foxes today' },
      });
      emulator.next('submit', { kind: 'refused-content', stage: 'prompt' });
      expect(await taskOf(service)).toMatchObject({ task: { state: 'failed' }, refusedContent: {} });
    });
    await atEmulator('another-key', async (service) => {
      await expect(taskOf(service)).rejects.toMatchObject({ kind: 'answered', facts: { status: 401 } });
    });
  });
});
