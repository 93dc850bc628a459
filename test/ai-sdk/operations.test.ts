import fc from 'fast-check';
import type { JsonValue } from '../../src/ai-sdk';
import { isTaskId } from '../../src/contract/input-rules';
import { createFileStorage } from '../../src/storage';
import { closeServices, FOX, faultOf, KEY, serviceOf } from './models';
import { temporaryFolder } from './temporary-folder';

afterEach(closeServices);
const { folder } = temporaryFolder();

/** A service whose model starts with an operation, and the operations that its polls get. */
function serviceWith(operation: unknown, storage = createFileStorage(folder())) {
  const polled: unknown[] = [];
  const status = (asked: unknown) => {
    polled.push(asked);
    return { status: 'pending' };
  };
  return { polled, service: serviceOf({ start: () => ({ operation }), status }, { storage }) };
}

test.each<[JsonValue, string]>([
  ['cgt-2026', 'cgt-2026'],
  ['12345', '12345'],
  [{ requestId: 'r-1' }, '{"requestId":"r-1"}'],
  [['a', 1], '["a",1]'],
  [12345, 'json:12345'],
  [true, 'json:true'],
  ['{"a":1}', '"{\\"a\\":1}"'],
  ['json:1', '"json:1"'],
])('the operation %j is the task %s', async (operation, taskId) => {
  const { service, polled } = serviceWith(operation);
  expect(await service.submit(FOX, KEY)).toMatchObject({ taskId });
  await service.poll(taskId);
  expect(polled).toEqual([operation]);
});

test('any operation comes back as it was, behind a task id that keeps the rule', async () => {
  const operations = fc.jsonValue({ maxDepth: 3 }).filter((value) => value !== null && value !== '');
  await fc.assert(
    fc.asyncProperty(operations, async (operation) => {
      const { service, polled } = serviceWith(operation);
      const { taskId } = await service.submit(FOX, KEY);
      expect(isTaskId(taskId)).toBe(true);
      await service.poll(taskId);
      expect(polled).toEqual([JSON.parse(JSON.stringify(operation))]);
    }),
    { numRuns: 40 },
  );
});

test('an operation that no task id can have is kept in the storage, under its digest', async () => {
  const operation = { token: 'x'.repeat(30_000) };
  const { service, polled } = serviceWith(operation);
  const { taskId } = await service.submit(FOX, KEY);
  expect(taskId).toMatch(/^operation:[0-9a-f]{64}$/);
  await service.poll(taskId);
  expect(polled).toEqual([operation]);
});

test.each<[string, unknown, RegExp]>([
  ['larger than 64 kB', { token: 'x'.repeat(65_536) }, /65548 bytes; at most 65536/],
  ['that is missing', undefined, /no operation/],
  ['that is no JSON', { run: 1n }, /no operation/],
])('an operation %s is an answer that cannot be read: a task may exist', async (_, operation, message) => {
  const { service } = serviceWith(operation);
  expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({
    kind: 'unreadable',
    message: expect.stringMatching(message),
  });
});

test('without a storage a large operation names the option that it needs', async () => {
  const service = serviceOf({ start: () => ({ operation: 'x'.repeat(1_001) }) });
  const { kind, message } = await faultOf(service.submit(FOX, KEY));
  expect([kind, message]).toEqual(['unreadable', expect.stringContaining('the option storage')]);
});

test('an operation with a key in it is refused, because a task id is shown everywhere', async () => {
  const service = serviceOf(
    { start: () => ({ operation: { url: 'https://a.example/?key=sk-0123456789abcdef' } }) },
    { secrets: () => ['sk-0123456789abcdef'] },
  );
  const fault = await faultOf(service.submit(FOX, KEY));
  expect(fault).toEqual({ kind: 'unreadable', message: 'the operation of the model contains a key' });
});

test('a digest that the storage does not have is a poll without an answer', async () => {
  const { service, polled } = serviceWith('task-1');
  const unknown = await faultOf(service.poll(`operation:${'0'.repeat(64)}`));
  const broken = await faultOf(service.poll('operation:../../etc/passwd'));
  expect([unknown.kind, broken.kind, polled]).toEqual(['unreadable', 'unreadable', []]);
});
