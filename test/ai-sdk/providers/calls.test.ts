import { ApplicationFailure } from '@temporalio/common';
import type { ContentStage } from '../../../src/contract/refused-content';
import { type ActivityWorld, createActivityWorld } from '../../activities/activity-world';
import { atFaultyProvider, type FaultyProvider, pollAt, prompt, submitTo } from './faulty-provider';
import { PACKAGES } from './packages';
import { IMITATIONS, stagesOf } from './servers';
import { PROVIDER_NAMES, type ProviderName } from './what-runs';

let world: ActivityWorld;
beforeAll(async () => {
  world = await createActivityWorld();
});
afterAll(() => world.close());

const atProvider = (name: ProviderName, work: (at: FaultyProvider) => Promise<void>) =>
  atFaultyProvider(name, undefined, work);

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
    expect(await service.poll(end.taskId)).toMatchObject({ task: { state: 'failed' }, refusedContent: told });
  });
});

/** It answers 200, and calls the state of such a task UNKNOWN. */
const HAS_NO_404: ProviderName[] = ['alibaba'];

test.each(PROVIDER_NAMES)('@ai-sdk/%s: a task that the service does not have is unknown', async (name) => {
  await atProvider(name, async ({ service, imitated }) => {
    const { taskIdOf } = PACKAGES[name];
    const unknown = taskIdOf(IMITATIONS[name].idOf('task_00000000-0000-4000-8000-000000000000'), imitated);
    const { end, failures } = await pollAt(service, world, unknown);
    if (HAS_NO_404.includes(name)) expect(end).toMatchObject({ state: 'unknown', word: 'UNKNOWN' });
    else expect(new Set(failures)).toEqual(new Set(['TaskUnknown']));
  });
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
