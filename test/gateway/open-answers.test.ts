import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { VideoStates } from '../../src/gateway/video-states';
import { createFileStorage } from '../../src/storage';
import { closedGateway } from './closed-gateway';

test('a key that waits for many answers leaves connections to the others', async () => {
  const keys = { find: (name: string) => ({ name, sha256: '', limits: {} }) };
  const { app } = await closedGateway({ keys });
  const ask = async (name: string) => {
    const headers = { authorization: `Bearer ${name}` };
    const { statusCode } = await app.inject({ url: `/v1/videos/video_${'0'.repeat(32)}`, headers });
    return statusCode;
  };
  const answers = Array.from({ length: 501 }, () => ask('greedy'));
  expect(await Promise.race([Promise.any(answers.slice(500)), sleep(5_000)])).toBe(429);
  expect(await ask('other')).not.toBe(429);
  expect(await Promise.all(answers)).toContain(503);
  await app.close();
});

test('what was read about videos is dropped when it is no longer fresh', async () => {
  const handle = { describe: async () => Promise.reject(new WorkflowNotFoundError('', '', undefined)) };
  const connection = { withDeadline: (_: unknown, work: () => unknown) => work() };
  const client: Client = Object({
    workflow: { getHandle: () => handle },
    connection,
    withDeadline: connection.withDeadline,
  });
  const states = new VideoStates(client, createFileStorage('/nowhere'));
  for (const name of ['a', 'b', 'c']) await states.read(name, name);
  await sleep(5);
  await states.read('d', 'd');
  expect([...Reflect.get(states, 'entries').keys()]).toEqual(['d']);
});
