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
import { ASPECT_RATIOS, parseRequest, parseRequestLines, RESOLUTIONS } from '../../src/contract/request';
import { type KnownServices, pinChoice } from '../../src/contract/service-choice';
import {
  itemCountProblem,
  jsonBytes,
  LARGEST_REQUEST_BYTES,
  LARGEST_REQUESTS_BYTES,
  LARGEST_REQUESTS_FILE_BYTES,
  requestsFileProblem,
} from '../../src/contract/sizes';
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

describe('a request', () => {
  const FIELDS = 'prompt, image_url, resolution, aspect_ratio, duration, seed';
  const problemOfRequest = (given: unknown) => {
    const parsed = parseRequest(given);
    return parsed.ok ? 'accepted' : parsed.problem;
  };

  it('passes unchanged', () => {
    for (const fields of [
      {},
      { prompt: ' unchanged, with its spaces\nand lines ' },
      { image_url: 'https://example.com/fox.png?size=2#top' },
      { image_url: 'data:image/png;base64,iVBORw0KGgo=' },
      ...RESOLUTIONS.map((resolution) => ({ resolution })),
      ...ASPECT_RATIOS.map((aspect_ratio) => ({ aspect_ratio })),
      { duration: 10, seed: 4_294_967_295 },
      // Rules that the interface does not state are not invented: those are the service's.
      { duration: -1, seed: -7, image_url: 'ftp://example.com/fox.tiff' },
    ]) {
      const given = { ...request, ...fields };
      expect(parseRequest(given)).toEqual({ ok: true, request: given });
    }
  });

  const oneResolution = 'resolution must be one of 480p, 720p, 1080p';
  const wholeSeed = 'seed must be a whole number of at most 9007199254740991';
  const oneRatio = 'aspect_ratio must be one of 16:9, 9:16, 4:3, 3:4, 21:9, 1:1';
  it.each([
    ['prompt', undefined, 'prompt is missing'],
    ['prompt', ' \n\t', 'prompt must not be empty (was " \\n\\t")'],
    ['prompt', ['a', 'fox'], 'prompt must be a string (was a list)'],
    ['prompt', { text: 'a fox' }, 'prompt must be a string (was an object)'],
    ['resolution', null, `${oneResolution} (was null)`],
    ['image_url', '//example.com/fox.png', 'image_url must be a URL (was "//example.com/fox.png")'],
    ['resolution', '720P', `${oneResolution} (was "720P")`],
    ['aspect_ratio', '9:21', `${oneRatio} (was "9:21")`],
    ['duration', 11, 'duration must be at most 10 (was 11)'],
    ['duration', 2.5, 'duration must be a whole number (was 2.5)'],
    ['seed', 1.5, `${wholeSeed} (was 1.5)`],
    ['seed', 2 ** 53, `${wholeSeed} (was 9007199254740992)`],
    ['constructor', 'x', `"constructor": not a field of the request; the fields are ${FIELDS}`],
    ['', 'x', `"": not a field of the request; the fields are ${FIELDS}`],
  ])('whose %s is %p is refused by the rule, with the value', (field, value, problem) => {
    expect(problemOfRequest({ ...request, [field]: value })).toBe(problem);
  });

  it.each<[unknown, string | undefined]>([
    [{ ...request, duration: 11, seed: 'x' }, 'duration'],
    [{ ...request, foo: 1, bar: 2 }, 'foo'],
    [{ ...request, ['x'.repeat(200)]: 1 }, `${'x'.repeat(99)}…`],
    ['a fox', undefined],
  ])('that is %j has its first problem in the field %s', (given, field) => {
    const parsed = parseRequest(given);
    expect(parsed).toMatchObject({ ok: false });
    expect('field' in parsed && parsed.field).toBe(field);
  });

  it('is an object, and all its mistakes are in one line', () => {
    for (const given of [undefined, null, 'a fox', 5, [], [request]])
      expect(problemOfRequest(given)).toBe('the request must be a JSON object with a prompt');
    expect(problemOfRequest({ promt: 'x', resolution: '4k', duration: 11, seed: 'x' })).toBe(
      'prompt is missing; resolution must be one of 480p, 720p, 1080p (was "4k"); ' +
        'duration must be at most 10 (was 11); ' +
        'seed must be a whole number of at most 9007199254740991 (was "x"); ' +
        `"promt": not a field of the request; the fields are ${FIELDS}`,
    );
  });

  it('has a largest size, in bytes and not in characters', () => {
    const withPrompt = (bytes: number, letter = 'x') => ({
      prompt: letter.repeat((bytes - jsonBytes({ prompt: '' })) / Buffer.byteLength(letter)),
    });
    const largest = withPrompt(LARGEST_REQUEST_BYTES);
    expect(jsonBytes(largest)).toBe(LARGEST_REQUEST_BYTES);
    expect(parseRequest(largest)).toEqual({ ok: true, request: largest });
    for (const letter of ['x', '狐'])
      expect(problemOfRequest(withPrompt(LARGEST_REQUEST_BYTES + 3, letter))).toBe(
        'the request is 1.6 MB; at most 1.5 MB fit into a Temporal message: shorten it',
      );
    const image_url = `data:image/png;base64,${'A'.repeat(2_300_000)}`;
    expect(problemOfRequest({ ...request, image_url })).toBe(
      'the request is 2.4 MB; at most 1.5 MB fit into a Temporal message: give image_url as a link',
    );
  });
});

describe('a file of requests', () => {
  const fox = { prompt: 'A red fox' };
  const owl = { prompt: 'An owl', duration: 5 };
  const [foxLine, owlLine] = [JSON.stringify(fox), JSON.stringify(owl)];

  function problemsOf(text: string): string {
    const parsed = parseRequestLines(text, 'foxes.jsonl');
    if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.requests)}`);
    return parsed.problems.join('; ');
  }

  it('is read in order, with blank lines, spaces, Windows line ends and a byte order mark', () => {
    const text = `\uFEFF\n \n  ${foxLine} \r\n\t\n\r\n${owlLine}\r\n`;
    expect(parseRequestLines(text, 'x')).toEqual({ ok: true, requests: [fox, owl] });
  });

  it('may contain Unicode line separators and byte order marks inside a text, and extra fields of the service', () => {
    const requests = [{ prompt: 'one\u2028two\u2029three\u0085four\uFEFFfive', model: 'm1' }];
    const text = JSON.stringify(requests[0]);
    expect(parseRequestLines(text, 'x', ['model'])).toEqual({ ok: true, requests });
    expect(problemsOf(text)).toMatch(/^foxes\.jsonl:1: "model": not a field of the request/);
  });

  it('without a request is refused', () => {
    for (const text of ['', ' \r\n\t\n', '\uFEFF'])
      expect(problemsOf(text)).toBe('foxes.jsonl: there is no request in it');
  });

  it('is refused with its first ten wrong lines, counted as editors do, with blank ones', () => {
    expect(problemsOf(`\uFEFF\n${foxLine}\r\n\r\n${foxLine}${owlLine}\n${owlLine}\n{}\n`)).toBe(
      'foxes.jsonl:4: not a JSON object on one line; foxes.jsonl:6: prompt is missing',
    );
    const lines = Array.from({ length: 10 }, (_, index) => `foxes.jsonl:${index + 1}: prompt is missing`);
    expect(problemsOf(`${'{}\n'.repeat(11)}${foxLine}`)).toBe(`${lines.join('; ')}; and 1 more`);
  });

  it('has a largest size and a largest number of requests', () => {
    expect(requestsFileProblem(LARGEST_REQUESTS_FILE_BYTES)).toBeUndefined();
    expect(requestsFileProblem(LARGEST_REQUESTS_FILE_BYTES + 1)).toBe(
      'the file is larger than 100.0 MB; split it into several batches',
    );
    expect(itemCountProblem(100_000)).toBeUndefined();
    expect(itemCountProblem(100_001)).toBe(
      'there are 100001 requests; a batch has at most 100000: split them into several batches',
    );
  });
});

describe('a job', () => {
  it('passes unchanged, in the client and in the workflow', () => {
    for (const input of [
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
      {
        request,
        cap: { videos: 3, money: { amount: 2.5, currency: 'USD' } },
        sharedCap: { name: 'films', cap: {} },
      },
    ]) {
      expect(parseJobInput(input)).toEqual({ ok: true, input });
      expect([input, problemInWorkflow(input)]).toEqual([input, undefined]);
    }
  });

  it('may have spaces around a pasted task id, and nulls, which some SDKs send for an unset field', () => {
    const unset = { request: null, deadline: null, polling: { min: null } };
    expect(parseJobInput({ taskId: ' task-1\n' })).toEqual({ ok: true, input: { taskId: 'task-1' } });
    expect(parseJobInput({ taskId: 'task-1', ...unset }).ok).toBe(true);
    expect(problemInWorkflow({ taskId: 'task-1', ...unset })).toBeUndefined();
  });

  it('needs a request or a task, and not both', () => {
    for (const given of [{}, { request, taskId: 'task-1' }, { request: null }, { deadline: '1h' }])
      expect(problemOf(given)).toBe(
        'a job needs either a request or the taskId of a task to adopt, not both',
      );
  });

  it('may have fields that this version of the workflow does not know, because clients may be newer', () => {
    expect(problemInWorkflow({ taskId: 'task-1', fromTheFuture: 1 })).toBeUndefined();
  });

  const TASK_ID = 'taskId must be text of at most 1000 bytes, not blank and without control characters';
  const CALLBACK =
    'callbackUrl must be an http(s) URL of at most 2000 ASCII characters without a user and a password';
  const KEY = 'idempotencyKey must be 1 to 255 printable ASCII characters without spaces';
  const STORAGE =
    'storage must be a key inside the storage, such as "foxes/red.mp4", or "foxes/" for a folder; it may contain {workflowId}, {taskId}, {date}, {ext}; each name in it has at most 240 bytes, and jobs, batches, images, gateway, tasks are reserved, as names and as folders';
  const POLLING =
    'polling must be like { "min": "2s", "max": "1m" }, with a min that is not longer than the max';
  const DURATION = 'must be milliseconds or a duration such as "90s", "30m" or "2h"';
  const SHARED_CAP = 'sharedCap must be the name of a cap and the cap';

  it.each<[problem: string, field: string, wrong: unknown[]]>([
    [TASK_ID, 'taskId', ['', ' ', 5, 'x'.repeat(1_001), 'ä'.repeat(501), '"'.repeat(501)]],
    [`deadline ${DURATION}`, 'deadline', ['soon', '90', 0, -1, true, { hours: 1 }]],
    [`holdFor ${DURATION}`, 'holdFor', ['long']],
    ['onLostSubmit must be one of hold, resubmit, fail', 'onLostSubmit', ['retry']],
    [
      SHARED_CAP,
      'sharedCap',
      ['films', { name: '', cap: {} }, { name: 'films' }, { name: 'films', cap: { videos: -1 } }],
    ],
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
    const six = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const services of [[], ['a', 'a'], ['a', 'two words'], ['a', 5], 'a,b', six])
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
    pinChoice(given, known, (problem) => new Error(problem));

  it('are kept as given, with the default of the caller if they are not given, and refused if the caller does not know them', () => {
    expect(pinned({})).toEqual({ choice: { service: 'fal' }, known: list.services.fal });
    expect(pinned({ service: 'veo' })).toStrictEqual({ choice: { service: 'veo' }, known: {} });
    const choice = { services: ['veo', 'fal'] };
    expect(pinned(choice)).toStrictEqual({ choice, known: list.services.veo });
    expect(pinned({}, { services: list.services })).toEqual({ choice: {} });
    for (const unlisted of [{}, { service: 'any' }, { services: ['any', 'other'] }])
      expect(pinChoice(unlisted, undefined, Error)).toStrictEqual({ choice: unlisted });
    expect(() => pinned({ service: 'constructor' })).toThrow(
      'the service constructor is not known: name one of fal, veo',
    );
  });
});

it('a decision about a lost submit is checked, with the reason', () => {
  for (const decision of [
    { decision: 'resubmit' },
    { decision: 'abandon', taskId: null },
    { decision: 'adopt', taskId: 'task_1' },
  ])
    expect(decisionProblem(decision)).toBeUndefined();
  for (const wrong of [undefined, 'adopt', { decision: ['adopt'] }])
    expect(decisionProblem(wrong)).toContain('decision must be one of');
  for (const taskId of [undefined, ' \n', { toString: 1 }, 'task\u001b[2J', 'task\u202e', 'task\ud800'])
    expect(decisionProblem({ decision: 'adopt', taskId })).toContain('taskId must be text');
  expect(decisionProblem({ decision: 'resubmit', taskId: 'task_1' })).toBe('resubmit takes no taskId');
  expect(decisionProblem({ decision: 'abandon', taskId: '' })).toBe('abandon takes no taskId');
});

// As JSON, where a quotation mark takes two bytes.
it.each<[what: string, accepts: (value: unknown) => boolean, fine: unknown[], wrong: unknown[]]>([
  [
    'the name of a job',
    isWorkflowId,
    ['video-1', 'a', 'ä'.repeat(500), 'jobs-1', 'our/jobs', 'jobs.mp4'],
    ['', '  ', 'x'.repeat(1_001), 'ä'.repeat(501), 'half \ud83e', 1, null, 'Tasks', 'gateway/1'],
  ],
  ['a task id', isTaskId, ['x'.repeat(1_000), 'ä'.repeat(500), '"'.repeat(500), 'Tasks'], []],
  [
    'the name of a caller',
    isCaller,
    ['a', '7', 'web_shop', 'a__b', 'x'.repeat(63)],
    ['', '_a', 'a_', 'Shop', 'web-shop', 'web shop', 'x'.repeat(64), 7, ['shop'], null],
  ],
  [
    'a storage key',
    isPlainKey,
    ['foxes/take:2.mp4', `${'a/'.repeat(249)}bc`],
    ['c:/foxes.mp4', `${'a/'.repeat(249)}bcd`],
  ],
])('%s has its rule', (_what, accepts, fine, wrong) => {
  for (const value of fine) expect([value, accepts(value)]).toEqual([value, true]);
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

  it('passes unchanged, in the client and in the workflow', () => {
    for (const input of [
      { requests },
      { requestsFrom, window: 500, onFailure: 'stop' },
      { requests, storage: 'foxes/', deadline: '30m', polling: { min: '2s', max: '1m' } },
      { requests, storage: 'foxes/{taskId}', onLostSubmit: 'fail', holdFor: '2h' },
    ]) {
      expect(parseBatchInput(input)).toEqual({ ok: true, input });
      expect(problemInBatchWorkflow(input)).toBeUndefined();
    }
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
  it('is a number of milliseconds, or a number with a unit, up to a century', () => {
    expect([0.5, '250ms', '90s', '1.25h', '30 m', '36525d'].map(durationMs)).toEqual([
      0.5, 250, 90_000, 4_500_000, 1_800_000, 3_155_760_000_000,
    ]);
    for (const value of [
      ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_VALUE, '0s', '-5s', '90', '', '1h30m'],
      ...['5 minutes', '5S', '1e3s', '36526d', `${'9'.repeat(400)}d`, null, true],
    ])
      expect([value, durationMs(value)]).toEqual([value, undefined]);
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
