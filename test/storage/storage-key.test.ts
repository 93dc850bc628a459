import { DEFAULT_KEY_TEMPLATE, storageKey } from '../../src/storage/storage-key';

const parts = {
  workflowId: 'job/1',
  taskId: 'task 1',
  startedAtMs: Date.parse('2026-11-15T23:59:59.999Z'),
  extension: 'webm',
};
const key = (jobKey?: string, template = DEFAULT_KEY_TEMPLATE, more = {}) =>
  storageKey(jobKey, template, { ...parts, ...more });

describe('a video is stored', () => {
  it.each([
    ['a key', 'foxes/red.mp4', 'foxes/red.mp4'],
    ['a key without an extension', 'foxes/red', 'foxes/red'],
    ['a key with its own extension', 'foxes/red.{ext}', 'foxes/red.webm'],
    ['a prefix', 'foxes/', 'foxes/job%2F1.webm'],
    ['a prefix that is a template', '{date}/{taskId}/', '2026-11-15/task%201/job%2F1.webm'],
    ['the default', undefined, 'job%2F1.webm'],
  ])('under %s', (_what, jobKey, expected) => {
    expect(key(jobKey)).toBe(expected);
  });

  it('under the worker’s template, unless the job has a key', () => {
    expect(key(undefined, '{date}/{workflowId}/video.{ext}')).toBe('2026-11-15/job%2F1/video.webm');
    expect(key('foxes/', '{date}.{ext}')).toBe('foxes/2026-11-15.webm');
    expect(key('red.mp4', '{date}.{ext}')).toBe('red.mp4');
  });
});

it.each(['.', '..', '.hidden', 'a/../b', 'a\\b', 'é 🦊', '%2F', 'a$&b', '{ext}'])(
  'the workflow id %j is one file name',
  (workflowId) => {
    const name = key(undefined, '{workflowId}', { workflowId });
    expect(name).toMatch(/^[^./\\][^/\\]*$/);
    expect(decodeURIComponent(name)).toBe(workflowId);
  },
);

it('only the dot at the start of a name is encoded, and only a name of more than 200 characters is cut', () => {
  const name = (workflowId: string) => key(undefined, '{workflowId}', { workflowId });
  expect(name('fox.v1')).toBe('fox.v1');
  expect(name('x'.repeat(200))).toBe('x'.repeat(200));
  expect(name('x'.repeat(201))).toMatch(/^x{167}-[0-9a-f]{32}$/);
});

it('a part of a key may have 240 bytes', () => {
  const longest = `${'狐'.repeat(78)}ab.mp4`;
  expect(Buffer.byteLength(longest)).toBe(240);
  expect(key(longest)).toBe(longest);
  expect(key(`x${longest}`)).toMatch(/^x狐+-[0-9a-f]{32}\.mp4$/);
});

it('different ids get different names, however long they are', () => {
  const names = ['a', 'b'].map((end) =>
    key(undefined, undefined, { workflowId: `${'x'.repeat(2_000)}${end}` }),
  );
  expect(new Set(names).size).toBe(2);
  for (const name of names) expect(name.length).toBeLessThan(220);
});

it('long values of placeholders make neither a name that is too long nor two names equal', () => {
  const names = ['a', 'b'].map((end) =>
    key('狐狐/{workflowId}-{taskId}-狐.{ext}', undefined, {
      workflowId: 'x'.repeat(190),
      taskId: `${'y'.repeat(190)}${end}`,
    }),
  );
  expect(new Set(names).size).toBe(2);
  for (const name of names) {
    expect(name).toMatch(/^狐狐\/x+.*\.webm$/);
    for (const part of name.split('/')) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(240);
  }
});

it('a long name without an extension is cut too, and a dot inside of it begins none', () => {
  expect(key('x'.repeat(300))).toMatch(/^x+-[0-9a-f]{32}$/);
  expect(key(`a.mp4 ${'x'.repeat(300)}`)).toMatch(/^a\.mp4 x+-[0-9a-f]{32}$/);
});

it('a long name is cut between two characters, and keeps a replacement character of its own', () => {
  const name = key(`a\ufffd${'狐'.repeat(100)}.mp4`);
  expect(name).toMatch(/^a\ufffd狐{66}-[0-9a-f]{32}\.mp4$/);
});
