import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApplicationFailure } from '@temporalio/common';
import type { ContentStage } from '../../../src/contract/refused-content';
import { type ActivityWorld, createActivityWorld } from '../../activities/activity-world';
import { dataUrl, PNG } from '../../support/images';
import { atFaultyProvider, type FaultyProvider, pollAt, prompt, submitTo } from './faulty-provider';
import { taskIdOf } from './packages';
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
    const noTask = IMITATIONS[name].idOf('task_00000000-0000-4000-8000-000000000000');
    const unknown = taskIdOf(name, noTask, imitated);
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
