import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createVideoActivities, type VideoActivities } from '../../activities';
import type { ItemResult } from '../../src/contract/batch';
import { RECORD_WITHIN_MS, REQUEST_BYTES_AT_ONCE, REQUESTS_AT_ONCE } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { LARGEST_REQUESTS_FILE_BYTES } from '../../src/contract/sizes';
import { readFailure, type VideoFailure } from '../../src/contract/video-failure';
import { createVideoService, type ServiceProfile } from '../../src/service';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { startAttempt } from './activity-world';

const FROM = 'in/foxes.jsonl';
const NOTHING = { done: '', succeeded: 0, failed: 0, spent: { sums: [], unknown: 0 } };
const RESULTS = 'batches/foxes/results.jsonl';

/** A folder as storage, with faults for the next calls. */
function folderWithFaults() {
  const path = mkdtempSync(join(tmpdir(), 'videogen-batch-files-'));
  const real = createFileStorage(path);
  const faults: Error[] = [];
  const orFault = async <T>(call: () => Promise<T>) => {
    const fault = faults.shift();
    if (fault) throw fault;
    return call();
  };
  const storage: VideoStorage = {
    ...real,
    write: (...args) => orFault(() => real.write(...args)),
    read: (key) => orFault(() => real.read(key)),
  };
  return { path, faults, storage };
}

/** The files of batches whose service has this profile. */
function filesFor(profile: ServiceProfile | undefined) {
  const service = createVideoService({
    baseUrl: 'https://video.example.com',
    apiKey: () => 'key',
    ...(profile && { profile }),
  });
  const all = createVideoActivities({ service, storage: folder.storage });
  type Input<Name extends keyof VideoActivities> = Parameters<VideoActivities[Name]>[0];
  return {
    openBatch: (input: Input<'openBatch'>) => startAttempt(all.openBatch, input).result,
    readRequests: (input: Input<'readRequests'>) => startAttempt(all.readRequests, input).result,
    recordResults: (input: Input<'recordResults'>) => startAttempt(all.recordResults, input).result,
  };
}

let folder: ReturnType<typeof folderWithFaults>;
let files: ReturnType<typeof filesFor>;
beforeEach(() => {
  folder = folderWithFaults();
  files = filesFor({ requestFields: ['model'] });
});
afterEach(() => rmSync(folder.path, { recursive: true }));

const foxes = (count: number): VideoRequest[] =>
  Array.from({ length: count }, (_, index) => ({ prompt: `Fox ${index + 1}` }));
const toLines = (all: object[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');
const putText = (content: string) => {
  mkdirSync(join(folder.path, 'in'), { recursive: true });
  writeFileSync(join(folder.path, FROM), content);
};
const put = (requests: object[]) => putText(toLines(requests));

/** Opens the requests file under the name of a batch. */
const open = (batch: string = randomUUID()) => files.openBatch({ batch, requestsFrom: FROM });

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

test('a file of requests is counted when it is opened, and identified by its content', async () => {
  put(foxes(3));
  const opened = await open();
  expect(opened).toEqual({ items: 3, sha256: expect.stringMatching(/^[0-9a-f]{64}$/), earlier: NOTHING });
  expect(await open()).toEqual(opened);
  put(foxes(4));
  expect((await open()).sha256).not.toBe(opened.sha256);
});

test('a file of requests is read page by page, with a limit of requests', async () => {
  const requests = foxes(2 * REQUESTS_AT_ONCE + 1);
  put(requests);
  expect(await readFrom(0)).toEqual(requests.slice(0, REQUESTS_AT_ONCE));
  expect(await readFrom(REQUESTS_AT_ONCE)).toEqual(requests.slice(REQUESTS_AT_ONCE, 2 * REQUESTS_AT_ONCE));
  expect(await readFrom(2 * REQUESTS_AT_ONCE)).toEqual(requests.slice(-1));
  expect(await readFrom(requests.length)).toEqual([]);
});

test('a file of requests is read in pages with a limit of bytes', async () => {
  const prompt = '狐'.repeat(10_000);
  const requests = foxes(50).map((fox) => ({ prompt: `${fox.prompt}: ${prompt}` }));
  put(requests);
  const read: VideoRequest[] = [];
  while (read.length < requests.length) {
    const page = await readFrom(read.length);
    expect(page.length).toBeGreaterThan(0);
    const bytes = page.map((request) => Buffer.byteLength(JSON.stringify(request)));
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(REQUEST_BYTES_AT_ONCE);
    read.push(...page);
  }
  expect(read).toEqual(requests);
});

test('a file of requests that is larger than a worker accepts is refused for good, and not read to its end', async () => {
  let bytesRead = 0;
  const chunk = Buffer.alloc(LARGEST_REQUESTS_FILE_BYTES / 10, ' ');
  const content = function* () {
    for (let chunks = 0; chunks < 15; chunks++) {
      bytesRead += chunk.length;
      yield chunk;
    }
  };
  folder.storage.read = async () => Readable.from(content(), { highWaterMark: 1 });
  const failure = await failed(open());
  expect(failure).toMatchObject({ type: 'InvalidRequest', isRetryable: false });
  expect(failure.message).toContain(
    `${FROM}: the file is larger than 100.0 MB; split it into several batches`,
  );
  expect(bytesRead).toBeLessThan(LARGEST_REQUESTS_FILE_BYTES + 4 * chunk.length);
});

test('a file of requests that has changed since the batch began ends the batch', async () => {
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
])('a file of requests with %s is refused for good', async (_what, content, message) => {
  if (content !== undefined) putText(content);
  const failure = await failed(open());
  expect(failure).toMatchObject({ type: 'InvalidRequest', isRetryable: false });
  expect(failure.message).toContain(message);
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
  const recorded = () => readFileSync(join(folder.path, RESULTS), 'utf8');

  it('are one line each, and returned by key and URI', async () => {
    expect(await record([result(1), result(2)])).toEqual({
      key: RESULTS,
      uri: pathToFileURL(join(folder.path, RESULTS)).href,
    });
    expect(recorded()).toBe(toLines([result(1), result(2)]));
  });

  it('are the same after a repeated attempt, and the last result of an item counts', async () => {
    await record([result(1), result(2, 'cancelled')]);
    await record([result(3), result(2, 'stored after all')]);
    await record([result(3), result(2, 'stored after all')]);
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
    await open('foxes');
    await record([result(1)]);
    writeFileSync(join(folder.path, 'batches/foxes', name), '{"item":1,');
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

it.each<[string, () => Promise<unknown>]>([
  ['opening the requests', () => open()],
  ['reading them', () => files.readRequests({ from: FROM, sha256: '', skip: 0 })],
  ['recording results', () => files.recordResults({ batch: 'foxes', results: [] })],
  ['opening requests in the input', () => files.openBatch({ batch: 'foxes', requests: foxes(1) })],
])('a storage that fails while %s is retried, unless it says that this is useless', async (_what, call) => {
  put(foxes(1));
  for (const fault of [new StorageFault('disk full'), new StorageFault('access denied', { isFinal: true })]) {
    folder.faults.push(fault);
    const failure = await failed(call());
    expect(failure).toMatchObject({ type: 'StorageFailed', isRetryable: !fault.isFinal });
    expect(failure.message).toContain(fault.message);
  }
});
