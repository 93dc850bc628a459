import fc from 'fast-check';
import { aiSdkService } from '../../src/ai-sdk';
import type { JsonValue } from '../../src/ai-sdk/video-model-types';
import { isTaskId } from '../../src/contract/input-rules';
import {
  closeServices,
  FOX,
  faultOf,
  KEY,
  keepOpen,
  modelOf,
  SECRET,
  serviceOf,
  useModelServer,
} from './models';

useModelServer();

/** What a poll gets for an operation that a submit brought. */
async function roundTrip(operation: unknown): Promise<{ taskId: string; polled: unknown }> {
  let polled: unknown;
  const status = (asked: unknown) => {
    polled = asked;
    return { status: 'pending' };
  };
  const service = serviceOf({ start: () => ({ operation }), status });
  const { taskId } = await service.start(FOX, KEY);
  await service.status(taskId);
  await closeServices();
  return { taskId, polled };
}

test.each<[JsonValue, string]>([
  ['cgt-2026', 'cgt-2026'],
  [{ requestId: 'r-1' }, '{"requestId":"r-1"}'],
  [['a', 1], '["a",1]'],
  ['{"a":1}', '"{\\"a\\":1}"'],
])('the operation %j is the task %s', async (operation, taskId) => {
  expect(await roundTrip(operation)).toEqual({ taskId, polled: operation });
});

test('any object or text comes back as it was, behind a task id that keeps the rule', async () => {
  const operations = fc
    .oneof(fc.string(), fc.object({ maxDepth: 2 }).map(asJson))
    .filter((value) => value !== '' && JSON.stringify(value).length < 300);
  await fc.assert(
    fc.asyncProperty(operations, async (operation) => {
      const { taskId, polled } = await roundTrip(operation);
      expect(isTaskId(taskId)).toBe(true);
      expect(polled).toEqual(operation);
    }),
    { numRuns: 40 },
  );
});

const asJson = (value: unknown): JsonValue =>
  JSON.parse(JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part)));

test.each<[string, unknown, RegExp]>([
  [
    'of more bytes than a task id may have',
    { token: 'x'.repeat(1_000) },
    /has 1012 bytes, too many for a task id/,
  ],
  ['that is missing', undefined, /no operation/],
  ['that is empty', '', /no operation/],
  ['with a key in it', { url: `https://a.example/?key=${SECRET}` }, /contains a key/],
])('an operation %s is an answer that cannot be read: a task may exist', async (_, operation, message) => {
  const service = keepOpen(
    aiSdkService(({ fetch, hide }) => {
      hide(SECRET);
      return modelOf({ start: () => ({ operation }) }, fetch);
    }),
  );
  expect(await faultOf(service.start(FOX, KEY))).toEqual({
    kind: 'unreadable',
    message: expect.stringMatching(message),
  });
});
