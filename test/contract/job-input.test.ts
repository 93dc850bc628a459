import type { JobInput } from '../../src/contract/job';
import { parseJobInput } from '../../src/contract/job-input';
import { readFailure } from '../../src/contract/video-failure';
import { checkInput } from '../../workflows/input';

const request = { prompt: 'A red fox in the snow' };

function problemOf(given: unknown): string {
  const parsed = parseJobInput(given);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.input)}`);
  return parsed.problem;
}

/** What the workflow says about a job that any SDK started without our client. */
function problemInWorkflow(given: unknown): string | undefined {
  try {
    checkInput(given as JobInput, 'fox');
    return undefined;
  } catch (error) {
    return readFailure(error)?.details.message;
  }
}

describe('a job', () => {
  it.each([
    { request },
    { taskId: 'task-1' },
    { request, deadline: '30m', storage: 'foxes/', polling: { min: '2s', max: '1m' } },
    { request, deadline: 90_000, storage: 'foxes/red.mp4', polling: { min: 500 } },
    { taskId: 'task-1', deadline: '1.5h', polling: { max: '20s' } },
    { taskId: 'task-1', polling: {} },
    { request, storage: 'foxes/{date}/{workflowId}-{taskId}.{ext}' },
    { taskId: 'task-1', polling: { min: '60s', max: '1m' } },
    { request, idempotencyKey: 'x'.repeat(255) },
    { request, callbackUrl: 'https://example.com:8443/hooks?token=1' },
  ])('passes unchanged, in the client and in the workflow: %j', (input) => {
    expect(parseJobInput(input)).toEqual({ ok: true, input });
    expect(problemInWorkflow(input)).toBeUndefined();
  });

  it('ignores spaces around a pasted task id', () => {
    expect(parseJobInput({ taskId: ' task-1\n' })).toEqual({ ok: true, input: { taskId: 'task-1' } });
  });

  it.each([[{}], [{ request, taskId: 'task-1' }], [{ deadline: '1h' }]])(
    'needs a request or a task, and not both: %j',
    (given) => {
      expect(problemOf(given)).toBe(
        'a job needs either a request or the taskId of a task to adopt, not both',
      );
    },
  );

  it.each([[undefined], [null], ['task-1'], [5], [[]], [[{ request }]]])(
    'is a JSON object, not %p',
    (given) => {
      expect(problemOf(given)).toBe('a job must be a JSON object');
    },
  );

  it("repeats the request's own problems", () => {
    expect(problemOf({ request: { prompt: 'x', aspectRatio: '1:1' } })).toBe(
      '"aspectRatio": not a field of the request; the fields are prompt, image_url, resolution, aspect_ratio, duration, seed',
    );
    expect(problemOf({ request: null })).toMatch(/^a job needs either a request or the taskId/);
    expect(problemOf({ request: 'a fox' })).toBe('the request must be a JSON object with a prompt');
  });
});

describe('an option of a job that is wrong', () => {
  const CALLBACK_RULE =
    'callbackUrl must be an http(s) URL of at most 2000 ASCII characters without a user and a password';
  const KEY_RULE = 'idempotencyKey must be 1 to 255 printable ASCII characters without spaces';
  const STORAGE_RULE =
    'storage must be a key inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder; it may contain {workflowId}, {taskId}, {date}, {ext}; each name in it has at most 240 bytes, and jobs, batches, images, gateway, tasks are reserved, as names and as folders';
  const POLLING_RULE =
    'polling must be like { "min": "2s", "max": "1m" }, with a min that is not longer than the max';
  const duration = 'must be milliseconds or a duration such as "90s", "30m" or "2h"';

  it.each([
    [{ taskId: '' }, 'taskId must be text of at most 1000 bytes, not blank and without control characters'],
    [{ taskId: ' ' }, 'taskId must be text of at most 1000 bytes, not blank and without control characters'],
    [{ taskId: 5 }, 'taskId must be text of at most 1000 bytes, not blank and without control characters'],
    [
      { taskId: 'x'.repeat(1_001) },
      'taskId must be text of at most 1000 bytes, not blank and without control characters',
    ],
    [{ deadline: 'soon' }, `deadline ${duration}`],
    [{ deadline: '90' }, `deadline ${duration}`],
    [{ deadline: 0 }, `deadline ${duration}`],
    [{ deadline: -1 }, `deadline ${duration}`],
    [{ deadline: true }, `deadline ${duration}`],
    [{ deadline: { hours: 1 } }, `deadline ${duration}`],
    [{ storage: '' }, STORAGE_RULE],
    [{ storage: 5 }, STORAGE_RULE],
    [{ storage: '{workflow}.mp4' }, STORAGE_RULE],
    [{ storage: '{}/fox.mp4' }, STORAGE_RULE],
    [{ storage: 'jobs' }, STORAGE_RULE],
    [{ storage: 'Batches/' }, STORAGE_RULE],
    [{ storage: 'images/fox.mp4' }, STORAGE_RULE],
    [{ storage: 'gateway' }, STORAGE_RULE],
    [{ storage: 'tasks/1' }, STORAGE_RULE],
    [{ polling: 5 }, POLLING_RULE],
    [{ polling: { min: 'x' } }, POLLING_RULE],
    [{ polling: { max: 0 } }, POLLING_RULE],
    [{ polling: { min: '1m', max: '59s' } }, POLLING_RULE],
    [{ polling: { every: '5s' } }, POLLING_RULE],
    [
      { prompt: 'x', seed: 1 },
      '"prompt", "seed": not a field of a job; the fields are request, taskId, deadline, storage, polling, onLostSubmit, holdFor, idempotencyKey, callbackUrl, cap, sharedCap, caller, service, submitWithin, services, fallbackAfter',
    ],
    [{ onLostSubmit: 'retry' }, 'onLostSubmit must be one of hold, resubmit, fail'],
    [{ holdFor: 'long' }, `holdFor ${duration}`],
    [{ idempotencyKey: '' }, KEY_RULE],
    [{ idempotencyKey: 'with space' }, KEY_RULE],
    [{ idempotencyKey: 'key\nx: y' }, KEY_RULE],
    [{ idempotencyKey: 'schlüssel' }, KEY_RULE],
    [{ idempotencyKey: 'x'.repeat(256) }, KEY_RULE],
    [{ idempotencyKey: 5 }, KEY_RULE],
    [{ callbackUrl: 'example.com/hooks' }, CALLBACK_RULE],
    [{ callbackUrl: 'https://me:secret@example.com' }, CALLBACK_RULE],
    [{ callbackUrl: `https://example.com/${'x'.repeat(2_000)}` }, CALLBACK_RULE],
  ])('%j is named with its rule', (wrong, problem) => {
    expect(problemOf({ taskId: 'task-1', ...wrong })).toBe(problem);
  });

  it.each([
    ['taskId', { taskId: ' ' }],
    ['deadline', { deadline: 'soon' }],
    ['storage', { storage: '../x' }],
    ['polling', { polling: { min: '1m', max: '59s' } }],
    ['onLostSubmit', { onLostSubmit: 'retry' }],
    ['holdFor', { holdFor: 'long' }],
    ['idempotencyKey', { idempotencyKey: 'with space' }],
  ])('%s gets the same sentence from the client and from the workflow', (name, wrong) => {
    const input = { taskId: 'task-1', ...wrong };
    expect(problemInWorkflow(input)).toMatch(new RegExp(`^${name} must (be|have) `));
    expect(problemInWorkflow(input)).toBe(problemOf(input));
  });

  it('is absent when it is null, because some SDKs send null for an unset field', () => {
    const unset = { request: null, deadline: null, polling: { min: null } };
    expect(problemInWorkflow({ taskId: 'task-1', ...unset })).toBeUndefined();
    expect(parseJobInput({ taskId: 'task-1', ...unset }).ok).toBe(true);
  });

  it('is named together with the others', () => {
    expect(problemOf({ taskId: '', storage: '' })).toBe(
      `taskId must be text of at most 1000 bytes, not blank and without control characters; ${STORAGE_RULE}`,
    );
  });
});

it.each([
  '../x',
  '/x',
  'a/../x',
  'a//b',
  'C:/x',
  'a\\b',
  './x',
  'a\0b',
  'a\u202eb',
  'a\u2028b',
  '/',
  'x'.repeat(501),
  'x'.repeat(241),
  `foxes/${'狐'.repeat(81)}.mp4`,
  'jobs/fox.mp4',
  'jobs/',
  'Jobs/fox.mp4',
  'batches/{workflowId}.mp4',
])('a storage key that leaves the storage, or is not a plain name, is refused: %s', (storage) => {
  expect(problemOf({ taskId: 'task-1', storage })).toMatch(/^storage must be a key inside the storage/);
});

it.each(['x'.repeat(240), `foxes/${'狐'.repeat(80)}`, 'foxes/jobs/red.mp4', 'jobs.mp4'])(
  'a storage key that every file system allows is accepted: %s',
  (storage) => {
    expect(parseJobInput({ taskId: 'task-1', storage })).toMatchObject({ ok: true });
  },
);

describe('the services of a job', () => {
  const withServices = (more: object) =>
    parseJobInput({ request: { prompt: 'x' }, services: ['a', 'b'], ...more });

  it('are one to five different names', () => {
    expect(withServices({}).ok).toBe(true);
    expect(withServices({ services: ['a'], fallbackAfter: '30s' }).ok).toBe(true);
    const rule = 'services must be a list of 1 to 5 different names of services';
    for (const services of [[], ['a', 'a'], ['a', ''], ['a', 5], 'a,b', ['a', 'b', 'c', 'd', 'e', 'f']])
      expect(withServices({ services })).toEqual({ ok: false, problem: rule });
  });

  it.each([
    [{ service: 'a' }, 'a job names either service or services, not both'],
    [{ request: undefined, taskId: 'task-1' }, 'services cannot be used with taskId: a task has one service'],
    [{ services: undefined, fallbackAfter: '1m' }, 'fallbackAfter needs services'],
  ])('do not go with %j', (more, problem) => {
    expect(withServices(more)).toEqual({ ok: false, problem });
  });
});
