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
    { requestsFrom, window: 500, onFailure: 'stop' },
    { requests, window: 1, onFailure: 'continue' },
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

  it.each([[undefined], [null], ['foxes.jsonl'], [requests]])('is a JSON object, not %j', (given) => {
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
    ...[0, 501, 2.5, '20', [20]].map((window): [object, string] => [{ window }, WINDOW]),
    [{ onFailure: 'retry' }, ON_FAILURE],
    [{ onFailure: true }, ON_FAILURE],
    [{ storage: 'fox.mp4' }, OWN_KEY],
    [{ storage: 'foxes/{date}.{ext}' }, OWN_KEY],
    ...['../foxes/', '/{workflowId}.mp4', '{user}/', '', 5].map((storage): [object, RegExp] => [
      { storage },
      INSIDE,
    ]),
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

  it.each<[object, string]>([
    ...['', 5, '../foxes.jsonl', '/foxes.jsonl', 'foxes/', '{date}.jsonl', 'C:/foxes.jsonl'].map(
      (requestsFrom): [object, string] => [{ requestsFrom }, FILE],
    ),
    ...[[], 'A red fox', request].map((wrong): [object, string] => [{ requests: wrong }, LIST]),
  ])('%j', (given, problem) => {
    expect(problemOf(given)).toBe(problem);
    expect(problemInWorkflow(given)).toBe(problem);
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

it('undefined and null count as absent, because some SDKs send null for an unset field', () => {
  const fields = { requestsFrom: null, window: null, onFailure: null, idempotencyKey: null, storage: null };
  const unset = Object.fromEntries(Object.keys(fields).map((name) => [name, undefined]));
  for (const given of [fields, { ...unset, foxes: undefined }])
    expect(parseBatchInput({ requests, ...given })).toEqual({ ok: true, input: { requests } });
  expect(problemInWorkflow({ requests, ...fields })).toBeUndefined();
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
