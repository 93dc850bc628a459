import type { BatchInput } from '../../src/contract/batch';
import { describeDuration, durationMs } from '../../src/contract/duration';
import {
  decisionProblem,
  isCaller,
  isPlainKey,
  isTaskId,
  isWorkflowId,
} from '../../src/contract/input-rules';
import type { JobInput } from '../../src/contract/job';
import { parseBatchInput, parseJobInput } from '../../src/contract/job-input';
import { type KnownServices, pinChoice } from '../../src/contract/service-choice';
import { LARGEST_REQUESTS_BYTES } from '../../src/contract/sizes';
import { readFailure } from '../../src/contract/video-failure';
import { checkBatchInput } from '../../workflows/batch/generate-videos';
import { checkInput } from '../../workflows/input';

const request = { prompt: 'A red fox in the snow' };

function problemOf(given: unknown): string {
  const parsed = parseJobInput(given);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.input)}`);
  return parsed.problem;
}

/** What the workflow says about a job that any SDK started without our client. */
const problemInWorkflow = (given: unknown) => problemOfCheck(() => checkInput(given as JobInput, 'fox'));

function problemOfCheck(check: () => void): string | undefined {
  try {
    check();
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
    { request, callbackUrl: 'HTTPS://example.com:8443/hooks?token=1#b' },
    { request, callbackUrl: `http://example.com/${'x'.repeat(1_981)}` },
    { request, storage: 'x'.repeat(240) },
    { request, storage: `foxes/${'狐'.repeat(80)}` },
    { request, storage: 'foxes/jobs/red.mp4' },
    { request, storage: 'jobs.mp4' },
  ])('passes unchanged, in the client and in the workflow: %j', (input) => {
    expect(parseJobInput(input)).toEqual({ ok: true, input });
    expect(problemInWorkflow(input)).toBeUndefined();
  });

  it('may have spaces around a pasted task id, and nulls, which some SDKs send for an unset field', () => {
    const unset = { request: null, deadline: null, polling: { min: null } };
    expect(parseJobInput({ taskId: ' task-1\n' })).toEqual({ ok: true, input: { taskId: 'task-1' } });
    expect(parseJobInput({ taskId: 'task-1', ...unset }).ok).toBe(true);
    expect(problemInWorkflow({ taskId: 'task-1', ...unset })).toBeUndefined();
  });

  it.each([[{}], [{ request, taskId: 'task-1' }], [{ request: null }], [{ deadline: '1h' }]])(
    'needs a request or a task, and not both: %j',
    (given) => {
      expect(problemOf(given)).toBe(
        'a job needs either a request or the taskId of a task to adopt, not both',
      );
    },
  );

  const TASK_ID = 'taskId must be text of at most 1000 bytes, not blank and without control characters';
  const CALLBACK =
    'callbackUrl must be an http(s) URL of at most 2000 ASCII characters without a user and a password';
  const KEY = 'idempotencyKey must be 1 to 255 printable ASCII characters without spaces';
  const STORAGE =
    'storage must be a key inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder; it may contain {workflowId}, {taskId}, {date}, {ext}; each name in it has at most 240 bytes, and jobs, batches, images, gateway, tasks are reserved, as names and as folders';
  const POLLING =
    'polling must be like { "min": "2s", "max": "1m" }, with a min that is not longer than the max';
  const DURATION = 'must be milliseconds or a duration such as "90s", "30m" or "2h"';

  it.each<[problem: string, field: string, wrong: unknown[]]>([
    [TASK_ID, 'taskId', ['', ' ', 5, 'x'.repeat(1_001), 'ä'.repeat(501), '"'.repeat(501)]],
    [`deadline ${DURATION}`, 'deadline', ['soon', '90', 0, -1, true, { hours: 1 }]],
    [`holdFor ${DURATION}`, 'holdFor', ['long']],
    ['onLostSubmit must be one of hold, resubmit, fail', 'onLostSubmit', ['retry']],
    [POLLING, 'polling', [5, { min: 'x' }, { max: 0 }, { min: '1m', max: '59s' }, { every: '5s' }]],
    [KEY, 'idempotencyKey', ['', 'with space', 'key\nx: y', 'schlüssel', 'x'.repeat(256), 5]],
    [
      CALLBACK,
      'callbackUrl',
      [
        ...[5, ['https://example.com'], 'example.com', 'ftp://example.com/https://example.com'],
        ...['https://example.com/two words', 'https://example.com/füchse', 'https://[::1'],
        ...['https://:8443/hooks', 'https://me@example.com', 'https://:secret@example.com'],
        `https://example.com/${'x'.repeat(1_981)}`,
      ],
    ],
    [
      STORAGE,
      'storage',
      [
        ...[
          '',
          5,
          '{workflow}.mp4',
          '{}/fox.mp4',
          'jobs',
          'Batches/',
          'images/fox.mp4',
          'gateway',
          'tasks/1',
        ],
        ...['jobs/', 'Jobs/fox.mp4', 'batches/{workflowId}.mp4', '../x', '/x', 'a/../x', 'a//b', 'C:/x'],
        ...['a\\b', './x', 'a\0b', 'a\u202eb', 'a\u2028b', '/', 'x'.repeat(501), 'x'.repeat(241)],
        `foxes/${'狐'.repeat(81)}.mp4`,
      ],
    ],
  ])('is refused with the same sentence by the client and by the workflow: %s', (problem, field, wrong) => {
    for (const value of wrong) {
      const input = { taskId: 'task-1', [field]: value };
      expect([value, problemOf(input)]).toEqual([value, problem]);
      expect([value, problemInWorkflow(input)]).toEqual([value, problem]);
    }
  });

  it('is refused for unknown fields, for a wrong request and for all its mistakes together', () => {
    expect(problemOf({ taskId: 'task-1', prompt: 'x', seed: 1 })).toBe(
      '"prompt", "seed": not a field of a job; the fields are request, taskId, deadline, storage, polling, onLostSubmit, holdFor, idempotencyKey, callbackUrl, cap, sharedCap, caller, service, submitWithin, services, fallbackAfter',
    );
    expect(problemOf({ request: { prompt: 'x', aspectRatio: '1:1' } })).toMatch(
      /^"aspectRatio": not a field of the request/,
    );
    expect(problemOf({ request: 'a fox' })).toBe('the request must be a JSON object with a prompt');
    expect(problemOf([{ request }])).toBe('a job must be a JSON object');
    expect(problemOf({ taskId: '', storage: '' })).toBe(`${TASK_ID}; ${STORAGE}`);
  });
});

describe('the services of a job', () => {
  const problemWith = (more: object) => {
    const parsed = parseJobInput({ request, services: ['a', 'b'], ...more });
    return parsed.ok ? undefined : parsed.problem;
  };

  it('are one to five different names', () => {
    for (const services of [['a'], ['a', 'b', 'c', 'd', 'e']])
      expect(problemWith({ services, fallbackAfter: '30s' })).toBeUndefined();
    for (const services of [
      [],
      ['a', 'a'],
      ['a', 'two words'],
      ['a', 5],
      'a,b',
      ['a', 'b', 'c', 'd', 'e', 'f'],
    ])
      expect(problemWith({ services })).toBe('services must be a list of 1 to 5 different names of services');
  });

  it.each([
    [{ service: 'a' }, 'a job names either service or services, not both'],
    [{ request: undefined, taskId: 'task-1' }, 'services cannot be used with taskId: a task has one service'],
    [{ services: undefined, fallbackAfter: '1m' }, 'fallbackAfter needs services'],
  ])('do not go with %j', (more, problem) => {
    expect(problemWith(more)).toBe(problem);
  });

  const list = { services: { fal: { requestFields: ['loop'] }, veo: {} }, default: 'fal' };
  const pinned = (given: Parameters<typeof pinChoice>[0], known: KnownServices | undefined = list) =>
    pinChoice(given, known, (problem, field) => Object.assign(new Error(problem), { field }));

  it('are kept as given, and the default is added where the caller knows one', () => {
    expect(pinned({})).toEqual({ choice: { service: 'fal' }, known: list.services.fal });
    expect(pinned({ service: 'veo' })).toStrictEqual({ choice: { service: 'veo' }, known: {} });
    const choice = { services: ['veo', 'fal'] };
    expect(pinned(choice)).toStrictEqual({ choice, known: list.services.veo });
    expect(pinned({}, { services: list.services })).toEqual({ choice: {} });
    for (const unlisted of [{}, { service: 'any' }, { services: ['any', 'other'] }])
      expect(pinChoice(unlisted, undefined, Error)).toStrictEqual({ choice: unlisted });
  });

  it.each([
    [{ service: 'fall' }, 'service', 'the service fall is not known: name one of fal, veo'],
    [{ service: 'constructor' }, 'service', 'the service constructor is not known: name one of fal, veo'],
    [{ services: ['fal', 'fall'] }, 'services', 'the service fall is not known: name one of fal, veo'],
  ])('are refused if they are not known to the caller: %j', (given, field, message) => {
    expect(() => pinned(given)).toThrow(expect.objectContaining({ field, message }));
  });
});

it.each([
  { decision: 'resubmit' },
  { decision: 'abandon', taskId: null },
  { decision: 'adopt', taskId: 'task_1' },
])('%j is a decision', (decision) => {
  expect(decisionProblem(decision)).toBeUndefined();
});

it.each<[unknown, string]>([
  [undefined, 'decision must be one of'],
  ['adopt', 'decision must be one of'],
  [{ decision: ['adopt'] }, 'decision must be one of'],
  [{ decision: 'adopt' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: ' \n' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: { toString: 1 } }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: 'task\u001b[2J' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: 'task\u202e' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: 'task\ud800' }, 'taskId must be text'],
  [{ decision: 'resubmit', taskId: 'task_1' }, 'resubmit takes no taskId'],
  [{ decision: 'abandon', taskId: '' }, 'abandon takes no taskId'],
])('%j is not a decision, with the reason', (given, problem) => {
  expect(decisionProblem(given)).toContain(problem);
});

// As JSON, where a quotation mark takes two bytes.
it.each([
  ['the name of a job', isWorkflowId, ['video-1', 'a', 'ä'.repeat(500), 'jobs-1', 'our/jobs', 'jobs.mp4']],
  ['a task id', isTaskId, ['x'.repeat(1_000), 'ä'.repeat(500), '"'.repeat(500), 'Tasks']],
  ['the name of a caller', isCaller, ['a', '7', 'web_shop', 'a__b', 'x'.repeat(63)]],
  ['a storage key', isPlainKey, ['foxes/take:2.mp4', `${'a/'.repeat(249)}bc`]],
])('%s has its rule', (_what, accepts, fine) => {
  for (const value of fine) expect([value, accepts(value)]).toEqual([value, true]);
});

it.each<[what: string, accepts: (value: unknown) => boolean, wrong: unknown[]]>([
  [
    'the name of a job',
    isWorkflowId,
    ['', '  ', 'x'.repeat(1_001), 'ä'.repeat(501), 'half \ud83e', 1, null, 'Tasks', 'gateway/1'],
  ],
  [
    'the name of a caller',
    isCaller,
    ['', '_a', 'a_', 'Shop', 'web-shop', 'web shop', 'x'.repeat(64), 7, ['shop'], null],
  ],
  ['a storage key', isPlainKey, ['c:/foxes.mp4', `${'a/'.repeat(249)}bcd`]],
])('%s is refused outside its rule', (_what, accepts, wrong) => {
  for (const value of wrong) expect([value, accepts(value)]).toEqual([value, false]);
});

describe('a batch', () => {
  const requests = [request, { prompt: 'An owl', duration: 5 }];
  const requestsFrom = 'batches/foxes.jsonl';
  const problemOfBatch = (given: unknown, requestFields?: string[]) => {
    const parsed = parseBatchInput(given, requestFields);
    return parsed.ok ? undefined : parsed.problem;
  };
  const problemInBatchWorkflow = (given: unknown) =>
    problemOfCheck(() => checkBatchInput(given as BatchInput, 'foxes'));

  it.each([
    { requests },
    { requestsFrom, window: 500, onFailure: 'stop' },
    { requests, storage: 'foxes/', deadline: '30m', polling: { min: '2s', max: '1m' } },
    { requests, storage: 'foxes/{taskId}', onLostSubmit: 'fail', holdFor: '2h' },
  ])('passes unchanged, in the client and in the workflow: %j', (input) => {
    expect(parseBatchInput(input)).toEqual({ ok: true, input });
    expect(problemInBatchWorkflow(input)).toBeUndefined();
  });

  const ONE_SOURCE = 'a batch needs either requests or requestsFrom, not both';
  const LIST = 'requests must be a list of at least one request';
  const FILE = 'requestsFrom must be the key of a file inside the storage, such as "batches/foxes.jsonl"';
  const WINDOW = 'window must be a whole number from 1 to 500';
  const OWN_KEY =
    'storage must end with / or contain {workflowId} or {taskId}, so that each video has its own key';
  it.each<[problem: string, wrong: object[]]>([
    [ONE_SOURCE, [{}, { requests, requestsFrom }, { window: 5 }]],
    [LIST, [{ requests: [] }, { requests: 'A red fox' }, { requests: request }]],
    [FILE, ['', 5, '../foxes.jsonl', 'foxes/', '{date}.jsonl'].map((from) => ({ requestsFrom: from }))],
    [WINDOW, [0, 501, 2.5, '20', [20]].map((window) => ({ requests, window }))],
    ['onFailure must be one of continue, stop', [{ requests, onFailure: 'retry' }]],
    [OWN_KEY, [{ requests, storage: 'fox.mp4' }]],
    ['idempotencyKey is for a single job, not for a batch', [{ requests, idempotencyKey: 'key-1' }]],
    ['callbackUrl is for a single job, not for a batch', [{ requests, callbackUrl: 'https://example.com' }]],
    ['onLostSubmit must be one of hold, resubmit, fail', [{ requests, onLostSubmit: 'retry' }]],
  ])('is refused with the same sentence by the client and by the workflow: %s', (problem, wrong) => {
    for (const given of wrong) {
      expect([given, problemOfBatch(given)]).toEqual([given, problem]);
      expect([given, problemInBatchWorkflow(given)]).toEqual([given, problem]);
    }
  });

  it('is refused for a wrong request with its number, for fields that it does not have, and for requests that are too large together', () => {
    const withModel = [request, { ...request, model: 'm1' }];
    expect(problemOfBatch({ requests: withModel }, ['model'])).toBeUndefined();
    expect(problemOfBatch({ requests: withModel })).toMatch(/^requests\[1\]: "model": not a field/);
    expect(problemOfBatch({ requests, windw: 5 })).toMatch(
      /^"windw": not a field of a batch; the fields are/,
    );
    const tenth = { prompt: 'x'.repeat(LARGEST_REQUESTS_BYTES / 10) };
    expect(problemOfBatch({ requests: Array(9).fill(tenth) })).toBeUndefined();
    expect(problemOfBatch({ requests: Array(10).fill(tenth) })).toMatch(/ pass its key as requestsFrom$/);
  });

  it('may have undefined and null for absent fields, as some SDKs send them', () => {
    const fields = { requestsFrom: null, window: null, onFailure: undefined, storage: null };
    expect(parseBatchInput({ requests, ...fields })).toEqual({ ok: true, input: { requests } });
    expect(problemInBatchWorkflow({ requests, ...fields })).toBeUndefined();
  });
});

describe('a duration', () => {
  it.each([
    [0.5, 0.5],
    ['250ms', 250],
    ['90s', 90_000],
    ['1.25h', 4_500_000],
    ['30 m', 1_800_000],
    ['36525d', 3_155_760_000_000],
  ])('%p is %d milliseconds', (value, ms) => {
    expect(durationMs(value)).toBe(ms);
  });

  it.each<unknown>([
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE, '0s', '-5s', '90', '', '1h30m'],
    ...['5 minutes', '5S', '1e3s', '36526d', `${'9'.repeat(400)}d`, null, true],
  ])('is not %p', (value) => {
    expect(durationMs(value)).toBeUndefined();
  });

  it.each([
    [999, '999 ms'],
    [1_499, '1 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
    [59.7 * 60_000, '1 h'],
    [90 * 60_000, '1 h 30 min'],
  ])('of %d ms is shown as "%s"', (ms, words) => {
    expect(describeDuration(ms)).toBe(words);
  });
});
