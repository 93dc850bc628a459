import type { BatchInput } from '../../src/contract/batch';
import { parseBatchInput } from '../../src/contract/job-input';
import { LARGEST_REQUESTS_BYTES } from '../../src/contract/sizes';
import { readFailure } from '../../src/contract/video-failure';
import { checkBatchInput } from '../../workflows/batch/generate-videos';

const request = { prompt: 'A red fox in the snow' };
const requests = [request, { prompt: 'An owl', duration: 5 }];
const requestsFrom = 'batches/foxes.jsonl';

function problemOf(given: unknown): string {
  const parsed = parseBatchInput(given);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(parsed.input)}`);
  return parsed.problem;
}

/** What the workflow says about a batch that any SDK started without our client. */
function problemInWorkflow(given: unknown): string | undefined {
  try {
    checkBatchInput(given as BatchInput, 'foxes');
    return undefined;
  } catch (error) {
    const failure = readFailure(error);
    if (failure?.type !== 'InvalidRequest') throw error;
    return failure.details.message;
  }
}

describe('a batch', () => {
  it.each([
    { requests },
    { requests: [request] },
    { requestsFrom },
    { requests, window: 1, onFailure: 'continue' },
    { requestsFrom, window: 500, onFailure: 'stop' },
    { requests, storage: 'foxes/', deadline: '30m', polling: { min: '2s', max: '1m' } },
    { requests, storage: '{date}/{workflowId}.{ext}', onLostSubmit: 'fail', holdFor: '2h' },
    { requests, storage: 'foxes/{taskId}' },
  ])('passes unchanged, in the client and in the workflow: %j', (input) => {
    expect(parseBatchInput(input)).toEqual({ ok: true, input });
    expect(problemInWorkflow(input)).toBeUndefined();
  });

  it('may have requests with extra fields when the service accepts them', () => {
    const input = { requests: [{ ...request, model: 'm1' }] };
    expect(parseBatchInput(input, ['model'])).toEqual({ ok: true, input });
    expect(problemOf(input)).toMatch(/^requests\[0\]: "model": not a field of the request/);
  });

  it.each([[{}], [{ requests, requestsFrom }], [{ window: 5 }]])(
    'needs its requests inline or in a file, and not both: %j',
    (given) => {
      const sentence = 'a batch needs either requests or requestsFrom, not both';
      expect(problemOf(given)).toBe(sentence);
      expect(problemInWorkflow(given)).toBe(sentence);
    },
  );

  it.each([[undefined], [null], ['foxes.jsonl'], [5], [requests]])('is a JSON object, not %j', (given) => {
    expect(problemOf(given)).toBe('a batch must be a JSON object');
    expect(problemInWorkflow(given)).toEqual(expect.any(String));
  });

  it('names the wrong request and its problem', () => {
    expect(problemOf({ requests: [request, { prompt: 'x', duration: 11 }, {}] })).toBe(
      'requests[1]: duration must be at most 10 (was 11)',
    );
    expect(problemOf({ requests: [null] })).toBe(
      'requests[0]: the request must be a JSON object with a prompt',
    );
  });
});

const LIST = 'requests must be a list of at least one request';
const WINDOW = 'window must be a whole number from 1 to 500';
const ON_FAILURE = 'onFailure must be one of continue, stop';
const FILE = 'requestsFrom must be the key of a file inside the storage, such as "batches/foxes.jsonl"';
const OWN_KEY =
  'storage must end with / or contain {workflowId} or {taskId}, so that each video has its own key';
const KEY = 'idempotencyKey is for a single job, not for a batch';
const INSIDE = /^storage must be a key inside the storage/;
const DURATION = /^\S+ must be milliseconds or a duration such as "90s"/;

describe('the client and the workflow refuse the same', () => {
  it.each<[object, string | RegExp]>([
    [{ window: 0 }, WINDOW],
    [{ window: 501 }, WINDOW],
    [{ window: 2.5 }, WINDOW],
    [{ window: '20' }, WINDOW],
    [{ window: [20] }, WINDOW],
    [{ onFailure: 'retry' }, ON_FAILURE],
    [{ onFailure: true }, ON_FAILURE],
    [{ storage: 'fox.mp4' }, OWN_KEY],
    [{ storage: 'foxes/{date}.{ext}' }, OWN_KEY],
    [{ storage: '../foxes/' }, INSIDE],
    [{ storage: '/{workflowId}.mp4' }, INSIDE],
    [{ storage: '{user}/' }, INSIDE],
    [{ storage: '' }, INSIDE],
    [{ storage: 5 }, INSIDE],
    [{ idempotencyKey: 'key-1' }, KEY],
    [{ callbackUrl: 'https://example.com' }, 'callbackUrl is for a single job, not for a batch'],
    [{ deadline: 'soon' }, DURATION],
    [{ holdFor: 0 }, DURATION],
    [{ polling: { min: 'x' } }, /^polling must be like/],
    [{ onLostSubmit: 'retry' }, 'onLostSubmit must be one of hold, resubmit, fail'],
  ])('%j', (wrong, problem) => {
    const sentence = typeof problem === 'string' ? problem : expect.stringMatching(problem);
    expect(problemOf({ requests, ...wrong })).toEqual(sentence);
    expect(problemInWorkflow({ requests, ...wrong })).toEqual(sentence);
  });

  it.each(['', 5, '../foxes.jsonl', '/foxes.jsonl', 'foxes/', '{date}.jsonl', 'C:/foxes.jsonl'])(
    'requests from %j',
    (wrong) => {
      expect(problemOf({ requestsFrom: wrong })).toBe(FILE);
      expect(problemInWorkflow({ requestsFrom: wrong })).toBe(FILE);
    },
  );

  it.each([[[]], ['A red fox'], [request]])('requests that are %j', (wrong) => {
    expect(problemOf({ requests: wrong })).toBe(LIST);
    expect(problemInWorkflow({ requests: wrong })).toBe(LIST);
  });
});

it.each(['windw', 'request', 'taskId', 'prompt'])(
  'a field that a batch does not have is refused, with the list of fields: %s',
  (name) => {
    expect(problemOf({ requests, [name]: 'x' })).toBe(
      `"${name}": not a field of a batch; the fields are requests, requestsFrom, window, onFailure, deadline, storage, polling, onLostSubmit, holdFor, cap, caller, service, services, fallbackAfter`,
    );
  },
);

it('undefined counts as absent', () => {
  const unset = { requestsFrom: undefined, window: undefined, idempotencyKey: undefined, storage: undefined };
  expect(parseBatchInput({ requests, ...unset, foxes: undefined })).toEqual({
    ok: true,
    input: { requests },
  });
});

it('of many fields that a batch does not have, the first twenty are named and the others counted', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `x${index}`);
  const problemWith = (count: number) =>
    problemOf({ requests, ...Object.fromEntries(names(count).map((name) => [name, 1])) });
  expect(problemWith(20)).toMatch(/"x18", "x19": not a field/);
  expect(problemWith(22)).toMatch(/"x18", "x19" and 2 more: not a field/);
});

it('requests that are too large together belong into a file', () => {
  const tenth = { prompt: 'x'.repeat(LARGEST_REQUESTS_BYTES / 10) };
  expect(parseBatchInput({ requests: Array(9).fill(tenth) }).ok).toBe(true);
  expect(problemOf({ requests: Array(10).fill(tenth) })).toMatch(
    /^requests are 0\.9 MB together; at most 0\.8 MB fit .+ pass its key as requestsFrom$/,
  );
});

it('several problems are named together', () => {
  expect(problemOf({ requests: [], window: 0 })).toBe(`${LIST}; ${WINDOW}`);
});

it('null counts as absent in the workflow, because some SDKs send it for an unset field', () => {
  const unset = { requestsFrom: null, window: null, onFailure: null, storage: null };
  expect(problemInWorkflow({ requests, ...unset, idempotencyKey: null, deadline: null })).toBeUndefined();
});
