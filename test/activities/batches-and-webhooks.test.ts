import { Readable } from 'node:stream';
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import type { VideoActivities } from '../../activities';
import type { ItemResult } from '../../src/contract/batch';
import {
  COST_MEMO,
  IDENTITY_MEMO,
  LOST_SUBMIT_MEMO,
  SERVICE_MEMO,
  TASK_ID_MEMO,
} from '../../src/contract/names';
import { RECORD_WITHIN_MS, REQUEST_BYTES_AT_ONCE, REQUESTS_AT_ONCE } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { LARGEST_REQUESTS_FILE_BYTES } from '../../src/contract/sizes';
import { createFailure, readFailure, type VideoFailure } from '../../src/contract/video-failure';
import type { WebhookDelivery } from '../../src/contract/webhook';
import { workflowIdOf } from '../../src/gateway/task-names';
import { type ServiceProfile, verifyWebhook, type WebhookOptions } from '../../src/service';
import { digestOfJob, JobRecord, StorageFault, type VideoStorage } from '../../src/storage';
import { freePort } from '../../src/temporal-server/loopback-port';
import { type RawRequest, type RawServer, reply, startRawServer } from '../service/raw-server';
import { WEBHOOK_SECRET } from '../support/webhook-receiver';
import { asJob, startAttempt } from './activity-world';
import { createMemoryWorld, inMemory, recordedBy } from './memory-world';

const FROM = 'in/foxes.jsonl';
const NOTHING = { done: '', succeeded: 0, failed: 0, spent: { sums: [], unknown: 0 } };
const RESULTS = 'batches/foxes/results.jsonl';
/** No test calls them. */
const IDLE = {
  start: () => Promise.reject(new Error('not asked')),
  status: () => Promise.reject(new Error('not asked')),
  open: () => Promise.reject(new Error('not asked')),
};
const SERVICES = { a: IDLE, b: IDLE, c: IDLE };

type Input<Name extends keyof VideoActivities> = Parameters<VideoActivities[Name]>[0];

/** The files of batches whose service has this profile. */
function filesFor(profile: ServiceProfile) {
  const { activities } = createMemoryWorld(undefined, { service: { profile }, storage });
  return {
    openBatch: (input: Input<'openBatch'>) => startAttempt(activities.openBatch, input).result,
    readRequests: (input: Input<'readRequests'>) => startAttempt(activities.readRequests, input).result,
    recordResults: (input: Input<'recordResults'>) => startAttempt(activities.recordResults, input).result,
  };
}

let stored: Map<string, Buffer>;
let storage: VideoStorage;
let files: ReturnType<typeof filesFor>;
beforeEach(() => {
  stored = new Map();
  storage = inMemory(stored);
  files = filesFor({ requestFields: ['model'] });
});

const foxes = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));
const toLines = (all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');
const putText = (content: string) => stored.set(FROM, Buffer.from(content));
const put = (requests: object[]) => putText(toLines(requests));

/** Opens the requests file under the name of a batch. */
const open = (batch = 'foxes') => files.openBatch({ batch, requestsFrom: FROM });

async function readFrom(skip: number): Promise<VideoRequest[]> {
  const { sha256 } = await open();
  return files.readRequests({ from: FROM, sha256, skip });
}

/** The failure of a call, and whether it is retryable. */
async function failed(call: Promise<unknown>): Promise<VideoFailure & { isRetryable: boolean }> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  const failure = readFailure(error);
  if (failure === undefined) throw new Error('expected a failure of the table', { cause: error });
  return Object.assign(failure, { isRetryable: Reflect.get(Object(error), 'nonRetryable') === false });
}

describe('a file of requests', () => {
  test('is counted when it is opened, and identified by its content', async () => {
    put(foxes(3));
    const opened = await open();
    expect(opened).toEqual({ items: 3, sha256: expect.stringMatching(/^[0-9a-f]{64}$/), earlier: NOTHING });
    expect(await open()).toEqual(opened);
    put(foxes(4));
    expect((await open('others')).sha256).not.toBe(opened.sha256);
  });

  test('is read page by page, with a limit of requests', async () => {
    const requests = foxes(2 * REQUESTS_AT_ONCE + 1);
    put(requests);
    expect(await readFrom(0)).toEqual(requests.slice(0, REQUESTS_AT_ONCE));
    expect(await readFrom(REQUESTS_AT_ONCE)).toEqual(requests.slice(REQUESTS_AT_ONCE, 2 * REQUESTS_AT_ONCE));
    expect(await readFrom(2 * REQUESTS_AT_ONCE)).toEqual(requests.slice(-1));
    expect(await readFrom(requests.length)).toEqual([]);
  });

  test('is read in pages with a limit of bytes', async () => {
    const prompt = '狐'.repeat(10_000);
    const requests = foxes(50).map((fox) => ({ prompt: `${fox.prompt}: ${prompt}` }));
    put(requests);
    const page = await readFrom(0);
    expect(page).toEqual(requests.slice(0, page.length));
    const bytesOf = (some: object[]) => Buffer.byteLength(some.map((one) => JSON.stringify(one)).join(''));
    expect(bytesOf(page)).toBeLessThanOrEqual(REQUEST_BYTES_AT_ONCE);
    expect(bytesOf(requests.slice(0, page.length + 1))).toBeGreaterThan(REQUEST_BYTES_AT_ONCE);
  });

  test('that is larger than a worker accepts is refused for good, and not read to its end', async () => {
    let bytesRead = 0;
    const chunk = Buffer.alloc(LARGEST_REQUESTS_FILE_BYTES / 10, ' ');
    const content = function* () {
      for (let chunks = 0; chunks < 15; chunks++) {
        bytesRead += chunk.length;
        yield chunk;
      }
    };
    storage.read = async () => Readable.from(content(), { highWaterMark: 1 });
    files = filesFor({});
    const failure = await failed(open());
    expect(failure).toMatchObject({ type: 'InvalidRequest', isRetryable: false });
    expect(failure.message).toContain(
      `${FROM}: the file is larger than 100.0 MB; split it into several batches`,
    );
    expect(bytesRead).toBeLessThan(LARGEST_REQUESTS_FILE_BYTES + 4 * chunk.length);
  });

  test('that has changed since the batch began ends the batch', async () => {
    put(foxes(3));
    const { sha256 } = await open();
    put(foxes(4));
    const failure = await failed(files.readRequests({ from: FROM, sha256, skip: 1 }));
    expect(failure).toMatchObject({ type: 'InvalidRequest', isRetryable: false });
    expect(failure.message).toContain(`${FROM} has changed since the batch began; start another batch`);
  });

  test.each<[string, string | undefined, string]>([
    ['a mistake', '{"prompt":"x"}\n\n{}\n', `${FROM}:3: prompt is missing`],
    ['no request', '\n', `${FROM}: there is no request in it`],
    ['no content at all', undefined, `there is no ${FROM} in the storage of the worker`],
  ])('with %s is refused for good', async (_what, content, message) => {
    if (content !== undefined) putText(content);
    const failure = await failed(open());
    expect(failure).toMatchObject({ type: 'InvalidRequest', isRetryable: false });
    expect(failure.message).toContain(message);
  });
});

test('requests in the input are estimated together if the service has prices, those of unknown cost apart', async () => {
  const requests = [
    ...[5, 10].map((duration) => ({ prompt: 'A fox', duration })),
    { prompt: 'A fox of unknown length' },
  ];
  files = filesFor({ prices: { currency: 'USD', table: [{ perSecond: 0.1 }] } });
  expect(await files.openBatch({ batch: 'foxes', requests })).toMatchObject({
    estimated: { sums: [{ amount: 1.5, currency: 'USD' }], unknown: 1 },
  });
  files = filesFor({});
  expect(await files.openBatch({ batch: 'foxes', requests })).not.toHaveProperty('estimated');
});

describe('the results of a batch', () => {
  const result = (item: number, message = 'No foxes'): ItemResult => ({
    item,
    name: `foxes-${item}`,
    outcome: 'failed',
    failure: 'GenerationFailed',
    message,
    details: { taskId: `task-${item}` },
  });
  const record = (results: ItemResult[]) => files.recordResults({ batch: 'foxes', results });
  const recorded = () => String(stored.get(RESULTS));

  it('are one line each, returned by key and URI; the last result of an item counts', async () => {
    const file = { key: RESULTS, uri: `memory:${RESULTS}` };
    expect(await record([result(1), result(2, 'cancelled')])).toEqual(file);
    // The same after a repeated attempt.
    for (const _ of [1, 2]) await record([result(3), result(2, 'stored after all')]);
    expect(recorded()).toBe(toLines([result(1), result(2, 'stored after all'), result(3)]));
  });

  it('say to the next batch of the same name which items are done', async () => {
    put(foxes(3));
    expect(await open('foxes')).toMatchObject({ earlier: NOTHING });
    await record([result(1), { ...result(2), failure: 'Cancelled' } as ItemResult]);
    const earlier = { done: '1', succeeded: 0, failed: 1 };
    expect(await open('foxes')).toMatchObject({ items: 3, earlier });
    expect(await open('owls')).toMatchObject({ items: 3, earlier: NOTHING });
    expect(await files.openBatch({ batch: 'foxes', requests: foxes(3) })).toMatchObject({ earlier });
  });

  it('are not mixed with those of other requests', async () => {
    put(foxes(3));
    await open('foxes');
    await record([result(1)]);
    put([{ prompt: 'An owl' }, ...foxes(3)]);
    const failure = await failed(open('foxes'));
    expect(failure).toMatchObject({ type: 'InvalidRequest', isRetryable: false });
    expect(failure.message).toContain(
      'the name was used for other requests, according to batches/foxes/requests.json in the storage',
    );
    expect(recorded()).toBe(toLines([result(1)]));
  });

  it.each(['results.jsonl', 'requests.json'])('wait until a damaged %s is repaired', async (name) => {
    put(foxes(3));
    stored.set(`batches/foxes/${name}`, Buffer.from('{"item":1,'));
    const failure = await failed(open('foxes'));
    expect(failure).toMatchObject({ type: 'StorageFailed', isRetryable: true });
    expect(failure.message).toContain(`batches/foxes/${name} is damaged`);
    const { cause: fault } = Object(failure.cause);
    expect(fault).toMatchObject({ name: 'StorageFault', cause: expect.any(Error) });
  });

  it('are not replaced by an attempt that took so long that the next one may have written', async () => {
    await record([result(1)]);
    const { now } = performance;
    let readings = 0;
    const clock = jest
      .spyOn(performance, 'now')
      .mockImplementation(() => now.call(performance) + (readings++ > 0 ? RECORD_WITHIN_MS : 0));
    const failure = await failed(record([result(2)])).finally(() => clock.mockRestore());
    expect(failure).toMatchObject({ type: 'StorageFailed', isRetryable: true });
    expect(failure.message).toContain(`reading ${RESULTS} took too long`);
    expect(recorded()).toBe(toLines([result(1)]));
  });
});

test.each<[string, () => Promise<unknown>]>([
  ['opening the requests', () => open()],
  ['reading them', () => files.readRequests({ from: FROM, sha256: '', skip: 0 })],
  ['recording results', () => files.recordResults({ batch: 'foxes', results: [] })],
])('a storage that fails while %s is retried, unless it says that this is useless', async (_what, call) => {
  for (const fault of [new StorageFault('disk full'), new StorageFault('access denied', { isFinal: true })]) {
    storage.read = () => Promise.reject(fault);
    files = filesFor({});
    const failure = await failed(call());
    expect(failure).toMatchObject({ type: 'StorageFailed', isRetryable: !fault.isFinal });
    expect(failure.message).toContain(fault.message);
  }
});

describe('a webhook', () => {
  const event: WebhookDelivery = {
    id: 'webhook_1',
    event: 'video.failed',
    job: 'fox',
    taskId: 'task-1',
    failure: 'GenerationFailed',
    timestamp: '2026-01-01T00:00:00.000Z',
  };

  const receivers: RawServer[] = [];
  afterEach(() => Promise.all(receivers.splice(0).map((one) => one.close())));

  /** A receiver that gives every webhook this answer. */
  async function receiver(status = 204, headers = {}) {
    const server = await startRawServer((request: RawRequest) =>
      reply(request, { status, headers, body: '' }),
    );
    receivers.push(server);
    return { ...server, url: `${server.url}/hooks?token=hidden` };
  }

  /** Sends with a worker that allows receivers on this machine, unless these options say otherwise. */
  function send(
    delivery: Partial<WebhookDelivery>,
    options: Partial<WebhookOptions> = { allow: ['127.0.0.1'] },
  ) {
    const webhooks = { secret: () => WEBHOOK_SECRET, ...options };
    const { sendWebhook } = createMemoryWorld(undefined, { webhooks }).activities;
    return startAttempt(sendWebhook, { ...event, ...delivery }, { attempt: 3 }).result;
  }

  async function failureOf(sent: Promise<unknown>): Promise<ApplicationFailure> {
    const outcome = await sent.catch((error: unknown) => error);
    if (outcome instanceof ApplicationFailure) return outcome;
    throw new Error(`expected a failure, got ${JSON.stringify(outcome)}`);
  }

  test('says what happened to which job, signed, and its result has the status', async () => {
    const { url, requests } = await receiver();
    expect(await send({ url })).toEqual({ status: 204, attempt: 3 });
    // A job of the gateway has the id that its caller knows, not the name of the key.
    const id = `video_${'0123456789abcdef'.repeat(2)}`;
    await send({ url, job: workflowIdOf('web_shop', id) });
    const [{ headers, body } = expect.anything(), ofGateway] = requests;
    expect(headers).toMatchObject({
      'webhook-id': 'webhook_1',
      'content-type': 'application/json',
      connection: 'close',
    });
    expect(verifyWebhook(headers, body, WEBHOOK_SECRET)).toEqual({
      type: 'video.failed',
      timestamp: event.timestamp,
      data: { id: 'fox', taskId: 'task-1', failure: 'GenerationFailed' },
    });
    expect(JSON.parse(ofGateway?.body ?? '').data.id).toBe(id);
    expect(ofGateway?.body).not.toContain('web_shop');
  });

  test.each([
    [399, false, 'answered 399, and redirects are not followed'],
    [400, false, 'answered 400'],
    [410, true, 'answered 410'],
  ])(
    'that is answered %s fails, for good: %s, and the message hides path and query',
    async (status, isFinal, reason) => {
      const { url, requests } = await receiver(status);
      const { message, nonRetryable } = await failureOf(send({ url }));
      expect(message).toBe(`The webhook was not delivered: ${new URL(url).host} ${reason}.`);
      expect(nonRetryable).toBe(isFinal);
      expect(requests).toHaveLength(1);
    },
  );

  test.each([
    [30, 30_000],
    [3_600, 600_000],
    [undefined, undefined],
  ])('comes back when its receiver says so, within ten minutes: %s s', async (retryAfter, delayMs) => {
    const { url } = await receiver(503, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
    expect((await failureOf(send({ url }))).nextRetryDelay).toBe(delayMs);
  });

  test.each([
    [200, 'delivered'],
    [299, 'delivered'],
    [300, 'retried'],
    [410, 'given_up'],
  ])('that is answered %d is counted as %s', async (status, result) => {
    const { url } = await receiver(status);
    const webhooks = { secret: () => WEBHOOK_SECRET, allow: ['127.0.0.1'] };
    const { sendWebhook } = createMemoryWorld(undefined, { webhooks }).activities;
    const counted = await recordedBy(() => sendWebhook({ ...event, url }));
    expect(counted).toEqual([{ name: 'videogen_webhooks', value: 1, labels: { result } }]);
  });

  test('that is not answered is tried again', async () => {
    const url = `http://127.0.0.1:${await freePort()}/hook?token=x`;
    const { message, nonRetryable } = await failureOf(send({ url }));
    expect(message).toMatch(
      /^The webhook was not delivered: 127\.0\.0\.1:\d+ did not answer: .*ECONNREFUSED/,
    );
    expect(message).not.toContain('token');
    expect(nonRetryable).toBe(false);
  });

  test.each([
    ['http://example.com/hooks', 'the receiver is not https: add example.com to VIDEOGEN_WEBHOOK_ALLOW'],
    ['https://127.0.0.1/hooks', '127.0.0.1, a loopback address'],
    ['ftp://example.com/hooks', 'callbackUrl must be'],
    [undefined, 'no longer has VIDEOGEN_WEBHOOK_URL'],
  ])('to %s is refused for good', async (url, reason) => {
    const { message, nonRetryable } = await failureOf(send(url === undefined ? {} : { url }, {}));
    expect(message).toContain(reason);
    expect(nonRetryable).toBe(true);
  });

  test("goes to the worker's own receiver, at any address, unless its job names another", async () => {
    const [own, other] = [await receiver(), await receiver()];
    await send({}, { url: own.url });
    await send({ url: other.url }, { url: own.url });
    expect([own.requests.length, other.requests.length]).toEqual([1, 1]);
  });

  test('is not sent without a secret, and a later attempt may send it', async () => {
    const { sendWebhook } = createMemoryWorld().activities;
    const { message, nonRetryable } = await failureOf(startAttempt(sendWebhook, event).result);
    expect(message).toContain('VIDEOGEN_WEBHOOK_SECRET');
    expect(nonRetryable).toBe(false);
  });
});

describe('who waits for a job that somebody else has started', () => {
  type Described = { closeTime?: Date; memo?: object; raw?: object };
  const SCHEDULED_MS = 1_000_000;
  const before = new Date(SCHEDULED_MS - 1);

  /** What the activity answers about a job that Temporal describes so, and that ended with this. */
  function awaitJob(
    described: Described | undefined,
    end: () => Promise<unknown> = async () => 'result',
    input: Partial<Input<'awaitJob'>> = {},
  ) {
    const describe = async () => {
      if (described === undefined) throw new WorkflowNotFoundError('gone', 'fox', undefined);
      return { workflowId: 'fox', runId: 'run', raw: {}, ...described };
    };
    const client = { workflow: { getHandle: () => ({ describe, result: end }) } };
    const { activities } = createMemoryWorld();
    const info = { scheduledTimestampMs: SCHEDULED_MS };
    return startAttempt(activities.awaitJob, { name: 'fox', ...input }, info, [], client).result;
  }

  it('asks again while it runs, and is told at once when it needs a decision', async () => {
    expect(await awaitJob({}).catch((error: ApplicationFailure) => error.type)).toBe('JobStillRuns');
    const heldSince = '2026-01-01T00:00:00.000Z';
    const memo = { [LOST_SUBMIT_MEMO]: heldSince };
    expect(await awaitJob({ memo })).toEqual({ heldSince });
    // It is being submitted again.
    const raw = { pendingActivities: [{}] };
    await expect(awaitJob({ memo, raw })).rejects.toThrow('still runs');
    // It has a task after all, its caller knows, or somebody else wrote the memo.
    const adopted = { ...memo, [TASK_ID_MEMO]: 'task-1' };
    const others = [awaitJob({ memo: adopted }), awaitJob({ memo: { [LOST_SUBMIT_MEMO]: 7 } })];
    for (const asked of [...others, awaitJob({ memo }, undefined, { isHeld: true })])
      await expect(asked).rejects.toMatchObject({ type: 'JobStillRuns', category: 'BENIGN' });
    expect(await awaitJob({ memo, raw: { pendingActivities: [] } })).toEqual({ heldSince });
  });

  it('gets nothing of a job that is for something else', async () => {
    const identity = { request: { prompt: 'A red fox' } };
    const memo = { [IDENTITY_MEMO]: identity };
    const found = (described: Described, prompt: string) =>
      awaitJob(described, undefined, { identity: { request: { prompt } } });
    expect(await found({ closeTime: before, memo }, 'A red fox')).toMatchObject({ result: 'result' });
    for (const described of [{ memo }, {}])
      expect(await found({ closeTime: before, ...described }, 'An owl')).toEqual({
        hadEnded: true,
        failure: 'InvalidRequest',
        details: {
          message: expect.stringContaining('fox is the name of another job'),
          advice: 'Choose another name.',
        },
      });
  });

  it('gets its result, and learns whether it had ended before', async () => {
    expect(await awaitJob({ closeTime: before })).toEqual({ hadEnded: true, result: 'result' });
    const later = new Date(SCHEDULED_MS + 1);
    expect(await awaitJob({ closeTime: later })).toEqual({ hadEnded: false, result: 'result' });
    const since = { sinceMs: SCHEDULED_MS + 1 };
    expect(await awaitJob({ closeTime: later }, undefined, since)).toMatchObject({ hadEnded: true });
  });

  it('gets its failure, with what its memo says was paid for', async () => {
    const cost = { estimated: { amount: 1, currency: 'USD' } };
    const memo = { [TASK_ID_MEMO]: 'task-1', [COST_MEMO]: cost, [SERVICE_MEMO]: null };
    const failing = (cause?: Error) => () =>
      Promise.reject(new WorkflowFailedError('failed', cause, RetryState.NON_RETRYABLE_FAILURE));
    const terminated = failing(new TerminatedFailure('by hand'));
    const { failure, details: known } = Object(await awaitJob({ closeTime: before, memo }, terminated));
    expect([failure, known]).toEqual(['Cancelled', expect.objectContaining({ taskId: 'task-1', cost })]);
    expect(known).not.toHaveProperty('service');
    const refused = failing(createFailure('ContentRefused', { code: 'nsfw' }));
    const { details } = Object(await awaitJob({ closeTime: before }, refused));
    expect(details).toEqual({ code: 'nsfw' });
    expect(await awaitJob({ closeTime: before }, failing(new Error('a bug')))).toMatchObject({
      failure: 'Unexpected',
      details: { message: expect.stringContaining('a bug') },
    });
    const deleted = { message: 'its job was never started, or is deleted' };
    expect(await awaitJob(undefined)).toEqual({ hadEnded: true, failure: 'Cancelled', details: deleted });
    const unreachable = () => Promise.reject(new Error('no route'));
    await expect(awaitJob({ closeTime: before }, unreachable)).rejects.toThrow('no route');
  });
});

describe('a job with several services begins', () => {
  const request = { prompt: 'A red fox' };
  const ended = { closeTime: new Date() };
  /** The jobs of the fox that Temporal still has, and whose names it was asked about. */
  function findTurn(jobs: Record<string, object>, input: Partial<Input<'findTurn'>> = {}) {
    const asked: string[] = [];
    const getHandle = (name: string) => ({
      describe: async () => {
        asked.push(name);
        if (jobs[name] === undefined) throw new WorkflowNotFoundError('gone', name, undefined);
        return jobs[name];
      },
    });
    const { activities } = createMemoryWorld(undefined, { services: SERVICES, storage });
    const given = { request, services: ['a', 'b', 'c'], isVouchedFor: false, ...input };
    const client = { workflow: { getHandle } };
    return { asked, turn: startAttempt(activities.findTurn, given, asJob('fox'), [], client).result };
  }

  test.each<[what: string, jobs: Record<string, object>, paidAt: string | undefined, turn: number]>([
    ['at the first when no run before has got further', {}, undefined, 0],
    ['at the first when the others have ended and paid nothing', { 'fox.b': ended }, undefined, 0],
    ['where a job of a run before still runs', { 'fox.b': {} }, undefined, 1],
    ['at the last of those, after whom others were refused', { 'fox.b': {}, 'fox.c': {} }, undefined, 2],
    ['where something may have been paid, after Temporal deleted it', {}, 'fox.b', 1],
    ['where something may have been paid, also if one before it runs', { 'fox.b': {} }, 'fox.c', 2],
  ])('%s', async (_what, jobs, paidAt, turn) => {
    if (paidAt !== undefined) {
      const owner = { namespace: 'test', job: paidAt };
      const record = new JobRecord(storage, owner, digestOfJob(owner, request));
      await record.add({ event: 'sending', request });
    }
    const found = findTurn(jobs);
    expect(await found.turn).toBe(turn);
    expect(found.asked).toEqual(['fox.c', 'fox.b'].slice(0, 3 - Math.max(turn, 1)));
  });

  test('only if its worker has all of them, or its caller knows that workers do', async () => {
    const services = ['a', 'gone'];
    expect(await failed(findTurn({}, { services }).turn)).toMatchObject({
      type: 'InvalidRequest',
      details: { message: expect.stringContaining('no service gone') },
    });
    expect(await findTurn({}, { services, isVouchedFor: true }).turn).toBe(0);
  });
});

describe('a worker says', () => {
  test('where its jobs are submitted and downloaded, who hears of them, and that it lacks their service', async () => {
    const queues = { submit: 'paid', download: 'big', servedHere: true };
    const webhooks = { secret: () => WEBHOOK_SECRET, url: 'https://example.com/hooks' };
    const { routeJob } = createMemoryWorld(undefined, { services: SERVICES, queues, webhooks }).activities;
    const route = { ...queues, hasReceiver: true };
    for (const service of [undefined, 'b']) expect(await routeJob({ service })).toEqual(route);
    const problem = expect.stringContaining('no service gone');
    expect(await routeJob({ service: 'gone' })).toEqual({ ...route, problem });
    expect(await createMemoryWorld().activities.routeJob({})).toEqual({});
  });

  test.each([
    [[{ identity: 'worker' }], true],
    [[], false],
    [undefined, false],
  ])('whether anybody serves a queue, whose pollers are %j: %j', async (pollers, isServed) => {
    const describeTaskQueue = jest.fn(async () => ({ pollers }));
    const client = { connection: { workflowService: { describeTaskQueue } } };
    const { activities } = createMemoryWorld();
    const asked = startAttempt(activities.isServed, { queue: 'big' }, {}, [], client);
    expect(await asked.result).toBe(isServed);
    const queue = { namespace: 'test', taskQueue: { name: 'big' }, taskQueueType: 2 };
    expect(describeTaskQueue).toHaveBeenCalledWith(queue);
  });
});
