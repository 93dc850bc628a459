import { failureOf, startAttempt } from './activity-world';
import { createMemoryWorld, reading, TASK } from './memory-world';

const here = { state: 'running', word: 'unnamed' } as const;
const veo = (address?: string) => ({
  address,
  start: async () => ({ taskId: TASK }),
  status: async () => reading({ state: 'running', word: 'veo' }),
  open: () => Promise.reject(new Error('not asked')),
});
const withBoth = (address?: string) =>
  createMemoryWorld(undefined, {
    service: { status: async () => reading(here) },
    services: { veo: veo(address) },
    defaultService: 'veo',
    queues: { submit: 'films-submit' },
  });

test('the default of the worker gets a new task, and a task without a service stays at the one without a name', async () => {
  const { submit, poll } = withBoth();
  expect(await submit().result).toMatchObject({ service: 'veo' });
  expect(await poll({ service: 'veo' }).result).toMatchObject({ word: 'veo' });
  expect(await poll().result).toMatchObject({ word: 'unnamed' });
});

test('a task of a service that this worker lacks fails the call, and another worker may have it', async () => {
  const { failure, details } = await failureOf(withBoth().poll({ service: 'kling' }));
  expect([failure.type, failure.nonRetryable]).toEqual(['ServiceUnreachable', false]);
  expect(details.message).toBe('this worker has no service kling: name one of veo');
});

test('the route of a job says the queues of the worker, and why there is no such service', async () => {
  const { routeJob } = withBoth().activities;
  const route = (service?: string) => startAttempt(routeJob, { service }).result;
  const problem = 'this worker has no service kling: name one of veo';
  expect(await route('kling')).toEqual({ submit: 'films-submit', problem });
  expect(await route('veo')).toEqual({ submit: 'films-submit' });
  expect(await route()).toEqual({ submit: 'films-submit' });
});

test.each([
  [
    'a named service by its name and address',
    'https://veo.example.com/',
    'veo at https://veo.example.com/ text',
  ],
  ['a named service without an address by its name', undefined, 'veo text'],
])('the times of tasks are learned of %s', async (_what, address, kind) => {
  expect(await withBoth(address).submit().result).toMatchObject({ kind });
});
