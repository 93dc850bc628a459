import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { createVideoActivities } from '../../../activities';
import type { FailureType } from '../../../src/contract/failure-table';
import type { VideoService } from '../../../src/service';
import { createFileStorage } from '../../../src/storage';
import {
  type ActivityWorld,
  asJob,
  attemptUntilEnd,
  createActivityWorld,
} from '../../activities/activity-world';
import { ANSWERS } from '../../activities/faulty-service';
import { replyJson, startRawServer } from '../../service/raw-server';
import { type StartedProvider, startProvider } from './packages';
import { PROVIDER_NAMES, PROVIDERS, type ProviderName } from './what-runs';

let world: ActivityWorld;
const started = new Map<ProviderName, StartedProvider>();
beforeAll(async () => {
  world = await createActivityWorld();
  for (const name of PROVIDER_NAMES) started.set(name, await startProvider(name, { jobTimeMs: 0 }));
});
afterAll(async () => {
  await Promise.all([...started.values()].map((one) => one.close()));
  await world.close();
});

function providerOf(name: ProviderName): StartedProvider {
  const provider = started.get(name);
  if (provider === undefined) throw new Error(`${name} is not started`);
  return provider;
}

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

/** What a fault is to a submit and to a poll. faults.test.ts has them all, with every policy, for a model of its own. */
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

describe.each(PROVIDER_NAMES)('@ai-sdk/%s:', (name) => {
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
