import fc from 'fast-check';
import type { JsonValue, OperationStorage } from '../../src/ai-sdk';
import { isTaskId } from '../../src/contract/input-rules';
import { createFileStorage, StorageFault } from '../../src/storage';
import { closeServices, FOX, faultOf, KEY, serviceOf } from './models';
import { temporaryFolder } from './temporary-folder';

afterEach(closeServices);
const { folder } = temporaryFolder();

/** A service whose model starts with an operation, and the operations that its polls get. */
function serviceWith(operation: unknown, storage = createFileStorage(folder()), origins: string[] = []) {
  const polled: unknown[] = [];
  const status = (asked: unknown) => {
    polled.push(asked);
    return { status: 'pending' };
  };
  return { polled, service: serviceOf({ start: () => ({ operation }), status }, { storage, origins }) };
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
  ['two\nlines', '"two\\nlines"'],
  ['half \ud800', '"half \\ud800"'],
  [' ', '" "'],
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
  ['that is no number', Number.NaN, /no operation/],
  ['that is empty', '', /no operation/],
])('an operation %s is an answer that cannot be read: a task may exist', async (_, operation, message) => {
  const { service } = serviceWith(operation);
  expect(await faultOf(service.submit(FOX, KEY))).toMatchObject({
    kind: 'unreadable',
    message: expect.stringMatching(message),
  });
});

test('an operation that leads back to itself is what it says of itself as JSON', async () => {
  const operation = { id: 'task-1', toJSON: () => ({ id: 'task-1' }), itself: {} };
  operation.itself = operation;
  const { service } = serviceWith(operation);
  expect(await service.submit(FOX, KEY)).toMatchObject({ taskId: '{"id":"task-1"}' });
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

const SIGNED = { statusUrl: 'https://a.example/tasks/1?expires=1790000000&sig=c2lnbmF0dXJl' };

test.each<[string, JsonValue]>([
  ['a signed link', SIGNED],
  ['a signed path', '/tasks/1?sig=c2lnbmF0dXJl'],
  ['a link with a password', ['https://me:c2lnbmF0dXJl@a.example/']],
  ['a link with a fragment', { a: { b: 'https://a.example/1#c2lnbmF0dXJl' } }],
  ['a link with a parameter in its path', 'https://a.example/1;sig=c2lnbmF0dXJl'],
  ['a text that is JSON with a signed link', JSON.stringify(SIGNED)],
])('an operation with %s is kept in the storage: a task id is shown everywhere', async (_, operation) => {
  const { service, polled } = serviceWith(operation, undefined, ['https://a.example']);
  const { taskId, doubts } = await service.submit(FOX, KEY);
  expect([taskId, doubts]).toEqual([expect.stringMatching(/^operation:[0-9a-f]{64}$/), []]);
  await service.poll(taskId);
  expect(polled).toEqual([operation]);
});

test.each<[string, OperationStorage | undefined]>([
  ['without a storage', undefined],
  [
    'with a storage that fails',
    { ...createFileStorage('/nowhere'), write: () => Promise.reject(new StorageFault('full')) },
  ],
])('%s, a signed link that fits is the task id after all: the task is paid for', async (_, storage) => {
  const service = serviceOf(
    { start: () => ({ operation: SIGNED }) },
    { storage, origins: ['https://a.example'] },
  );
  const { taskId, doubts } = await service.submit(FOX, KEY);
  expect(taskId).toBe(JSON.stringify(SIGNED));
  expect(doubts).toEqual([
    expect.stringMatching(/has a signed link in it: .*(option storage|could not be stored)/),
  ]);
});

test('a key is not stored with an operation either', async () => {
  const operation = { url: 'https://a.example/?key=sk-0123456789abcdef' };
  const storage = createFileStorage(folder());
  const service = serviceOf(
    { start: () => ({ operation }) },
    { storage, secrets: () => ['sk-0123456789abcdef'] },
  );
  expect((await faultOf(service.submit(FOX, KEY))).message).toBe('the operation of the model contains a key');
});

test('a digest that the storage does not have is a poll without an answer', async () => {
  const { service, polled } = serviceWith('task-1');
  const unknown = await faultOf(service.poll(`operation:${'0'.repeat(64)}`));
  const broken = await faultOf(service.poll('operation:../../etc/passwd'));
  expect([unknown.kind, broken.kind, polled]).toEqual(['unreadable', 'unreadable', []]);
});
