import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CancelledFailure } from '@temporalio/common';
import { createVideoActivities } from '../../activities';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS, RECORD_IO_MS } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { createFileStorage, StorageFault, type VideoStorage } from '../../src/storage';
import { replyJson, startRawServer } from '../service/raw-server';
import { recordsIn } from '../support/stored-files';
import { type ActivityWorld, createActivityWorld, failureOf } from './activity-world';

const REQUEST: VideoRequest = { prompt: 'A red fox', resolution: '720p', seed: 7 };

let world: ActivityWorld;
beforeEach(async () => {
  world = await createActivityWorld();
});
afterEach(async () => {
  expect(world.everythingReported()).not.toContain(world.emulator.apiKey);
  await world.close();
});

/** What an attempt writes before it sends. */
const SENDING = { state: 'sending', sender: 'another', at: new Date(0).toISOString() };

/** A submit in another run of the job, without the heartbeats of the earlier one. */
const inAnotherRun = () => ({ workflowExecution: { workflowId: 'test', runId: randomUUID() } });

const submit = (more = {}, info = {}) =>
  world.run(world.activities.submitVideo, { request: REQUEST, ...more }, info);

const readRecord = async () => {
  const [name = 'there is no record'] = await recordsIn(world.folder);
  return JSON.parse(await readFile(join(world.folder, name), 'utf8'));
};

const writeOverRecord = async (content: string) => {
  const [name = 'there is no record'] = await recordsIn(world.folder);
  await writeFile(join(world.folder, name), content);
};

describe('before a POST leaves', () => {
  it('the send is on record, and then the task as soon as it is known', async () => {
    let atPost: unknown;
    const server = await startRawServer(async (request) => {
      atPost = await readRecord();
      replyJson(request, { task_id: 'task-1' });
    });
    const { submitVideo } = world.activitiesAt(server.url);
    const { taskId, record } = await world.run(submitVideo, { request: REQUEST }).result;
    expect(atPost).toMatchObject({ state: 'sending', job: 'test', request: REQUEST });
    expect(await readRecord()).toMatchObject({ state: 'submitted', taskId });
    expect(await recordsIn(world.folder)).toEqual([`jobs/test.${record}.json`]);
    await server.close();
  });

  it.each<[string, Partial<VideoStorage>]>([
    ['cannot be written', { write: () => Promise.reject(new StorageFault('no space left')) }],
    ['cannot be read', { read: () => Promise.reject(new StorageFault('no space left')) }],
  ])('nothing is sent while the storage %s, in every attempt', async (_what, broken) => {
    const storage = { ...createFileStorage(world.folder), ...broken };
    const { submitVideo } = createVideoActivities({ service: world.service, storage });
    for (const attempt of [1, 50]) {
      const info = { attempt, heartbeatDetails: { attemptWithoutTask: attempt - 1 } };
      const run = world.run(submitVideo, { request: REQUEST }, info);
      const { failure, details } = await failureOf(run);
      expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
      expect(details.message).toBe('nothing was sent, because the storage failed: no space left');
      // So the next attempt does not treat it as lost.
      expect(run.beats.at(-1)).toMatchObject({ attemptWithoutTask: attempt });
    }
    expect(world.emulator.calls).toHaveLength(0);
  });

  it('a damaged record prevents it', async () => {
    await submit().result;
    for (const content of [
      '',
      '{"state":"su',
      '{"state":"paid"}',
      '{"state":"submitted"}',
      ' '.repeat(2 ** 21),
    ]) {
      await writeOverRecord(content);
      const { failure } = await failureOf(submit({}, inAnotherRun()));
      expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
      expect(failure.message).toContain('in the storage is damaged');
    }
    expect(world.emulator.generations()).toHaveLength(1);
  });
});

describe('a job whose history Temporal has deleted', () => {
  it('finds its task on record, and nothing is sent', async () => {
    const { taskId, record } = await submit().result;
    expect(await submit({}, inAnotherRun()).result).toEqual({ taskId, record });
    expect(world.emulator.calls).toHaveLength(1);
  });

  it('finds that its submit was lost, and nothing is sent', async () => {
    world.emulator.next('submit', { kind: 'reset' });
    await failureOf(submit());
    const { failure, details } = await failureOf(submit({}, inAnotherRun()));
    expect([failure.type, failure.nonRetryable]).toEqual(['SubmitUnconfirmed', true]);
    expect(details).toMatchObject({ onLostSubmit: 'hold' });
    expect(details.message).toMatch(/^a request was sent at .* and its answer is not on record$/);
    expect(world.emulator.calls).toHaveLength(1);
  });

  it('submits again what is on record as lost, when an operator or the policy says so', async () => {
    for (const choice of [{ resubmits: true }, { onLostSubmit: 'resubmit' }]) {
      const job = randomUUID();
      world.emulator.next('submit', { kind: 'reset' });
      await failureOf(submit({ job }));
      await submit({ job, ...choice }, inAnotherRun()).result;
    }
    expect(world.emulator.calls).toHaveLength(4);
  });

  it('is submitted when the record has only a refusal', async () => {
    world.emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    await failureOf(submit());
    expect(await readRecord()).toMatchObject({ state: 'refused' });
    await submit({}, inAnotherRun()).result;
    expect(world.emulator.generations()).toHaveLength(1);
  });

  it('remembers a lost submit before a refused one', async () => {
    world.emulator.next('submit', { kind: 'reset' }, { kind: 'rate-limited' });
    const first = submit({ onLostSubmit: 'resubmit' });
    await failureOf(first);
    await failureOf(
      submit({ onLostSubmit: 'resubmit' }, { attempt: 2, heartbeatDetails: first.beats.at(-1) }),
    );
    expect((await failureOf(submit({}, inAnotherRun()))).failure.type).toBe('SubmitUnconfirmed');
    expect(world.emulator.calls).toHaveLength(2);
  });

  it('is another job under another name, in another namespace or for another request', async () => {
    await submit().result;
    await submit({ job: 'another' }).result;
    await submit({}, { namespace: 'another' }).result;
    await submit({ request: { ...REQUEST, seed: 8 } }).result;
    expect(world.emulator.generations()).toHaveLength(4);
  });
});

describe('an attempt after a killed worker', () => {
  it('returns the task that was recorded before the worker could report it', async () => {
    const { taskId, record } = await submit().result;
    expect(await submit({}, { attempt: 2, heartbeatDetails: { sending: 1 } }).result).toEqual({
      taskId,
      record,
    });
    expect(world.emulator.calls).toHaveLength(1);
  });

  it('submits after a refusal that is in the heartbeat but not in the record', async () => {
    world.emulator.next('submit', { kind: 'rate-limited' });
    const first = submit();
    await failureOf(first);
    const { sendWithoutTask: send } = Object(first.beats.at(-1));
    await writeOverRecord(JSON.stringify({ ...(await readRecord()), ...SENDING, send }));
    await submit({}, { attempt: 2, heartbeatDetails: first.beats.at(-1) }).result;
    expect(world.emulator.generations()).toHaveLength(1);
  });

  it('sends nothing when it has number 1 again and the heartbeats are gone', async () => {
    world.emulator.next('submit', { kind: 'reset' });
    await failureOf(submit());
    expect((await failureOf(submit())).failure.type).toBe('SubmitUnconfirmed');
    // A decision before this activity started is not about what the activity itself has sent.
    expect((await failureOf(submit({ resubmits: true }))).failure.type).toBe('SubmitUnconfirmed');
    expect(world.emulator.calls).toHaveLength(1);
  });

  it('sends nothing when the heartbeat is from an attempt before the last one', async () => {
    world.emulator.next('submit', { kind: 'rate-limited' });
    const first = submit();
    await failureOf(first);
    await writeOverRecord(JSON.stringify({ ...(await readRecord()), ...SENDING, send: 'another' }));
    // As after a reset during an attempt: attempts count from 1 again, and the old heartbeat is still there.
    const second = submit({}, { attempt: 2, heartbeatDetails: first.beats.at(-1) });
    expect((await failureOf(second)).failure.type).toBe('SubmitUnconfirmed');
    expect(world.emulator.calls).toHaveLength(1);
  });
});

describe('an attempt whose storage does not answer', () => {
  const activitiesWith = (broken: Partial<VideoStorage>) => {
    const files = createFileStorage(world.folder);
    return createVideoActivities({ service: world.service, storage: { ...files, ...broken } });
  };
  const never = () => new Promise<never>(() => undefined);

  // All in one test, because each takes as long as the timeout of a record.
  it('sends nothing and is retryable, or returns the task it was given', async () => {
    const readsNothing = world.run(activitiesWith({ read: never }).submitVideo, {
      request: REQUEST,
      job: 'r',
    });
    const writesNothing = world.run(activitiesWith({ write: never }).submitVideo, {
      request: REQUEST,
      job: 'w',
    });
    const files = createFileStorage(world.folder);
    const write: VideoStorage['write'] = (key, content, type) =>
      String(content).includes('"submitted"') ? never() : files.write(key, content, type);
    const cannotRecord = world.run(activitiesWith({ write }).submitVideo, { request: REQUEST });

    for (const run of [readsNothing, writesNothing]) {
      const { failure } = await failureOf(run);
      expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
      expect(failure.message).toContain(`no answer within ${RECORD_IO_MS / 1_000} s`);
      expect(run.beats.at(-1)).toMatchObject({ attemptWithoutTask: 1 });
    }
    const { taskId } = await cannotRecord.result;
    expect(world.emulator.generations()).toMatchObject([{ taskId }]);
    // If the attempt had ended there, the next one would find the task in the heartbeat.
    const again = submit({}, { attempt: 2, heartbeatDetails: cannotRecord.beats.at(-1) });
    expect(await again.result).toMatchObject({ taskId });
    expect(world.emulator.calls).toHaveLength(1);
  });
});

describe('an attempt that Temporal may have given up on', () => {
  /** A storage that writes only after the promise resolves. */
  const heldBack = (until: Promise<void>) => {
    const files = createFileStorage(world.folder);
    const write: VideoStorage['write'] = async (...args) => {
      await until;
      return files.write(...args);
    };
    return createVideoActivities({ service: world.service, storage: { ...files, write } });
  };

  it('sends nothing when it was cancelled before its POST', async () => {
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    const run = world.run(heldBack(until).submitVideo, { request: REQUEST });
    await run.beat((note) => JSON.stringify(note) === '{"sending":1}');
    run.cancel();
    release();
    await expect(run.result).rejects.toThrow(CancelledFailure);
    expect(world.emulator.calls).toHaveLength(0);
    expect(await readRecord()).toMatchObject({ state: 'refused' });
  });

  it('sends nothing when it started long ago', async () => {
    const { now } = performance;
    let leapMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + leapMs);
    const files = createFileStorage(world.folder);
    const write: VideoStorage['write'] = (...args) => {
      leapMs = POST_WITHIN_MS;
      return files.write(...args);
    };
    const { submitVideo } = createVideoActivities({ service: world.service, storage: { ...files, write } });
    const { failure } = await failureOf(world.run(submitVideo, { request: REQUEST }));
    jest.restoreAllMocks();
    expect([failure.type, failure.nonRetryable]).toEqual(['StorageFailed', false]);
    expect(world.emulator.calls).toHaveLength(0);
  });

  it('sends nothing right before the deadline of the job', async () => {
    const late = { scheduleToCloseTimeoutMs: POST_BEFORE_DEADLINE_MS };
    const { failure } = await failureOf(submit({}, late));
    expect([failure.type, failure.nonRetryable]).toEqual(['DeadlineExceeded', true]);
    expect(world.emulator.calls).toHaveLength(0);
  });

  it('is not paused by the rate limiter right before the deadline, because no attempt would follow', async () => {
    world.emulator.next('submit', { kind: 'rate-limited', retryAfter: 60 });
    await failureOf(submit());
    const late = { scheduleToCloseTimeoutMs: POST_BEFORE_DEADLINE_MS };
    const { failure } = await failureOf(submit({}, late));
    expect([failure.type, failure.nonRetryable]).toEqual(['DeadlineExceeded', true]);
  });
});

describe('a submit that is recalled', () => {
  const recall = (more = {}) =>
    world.run(world.activities.recallSubmit, { request: REQUEST, ...more }).result;

  it('has its task, made none, or may have made one, as the record says', async () => {
    expect(await recall()).toEqual({ madeNoTask: false, onLostSubmit: 'hold' });
    world.emulator.next('submit', { kind: 'rate-limited' }, { kind: 'reset' });
    const refused = submit();
    await failureOf(refused);
    expect(await recall()).toMatchObject({ madeNoTask: true });
    await failureOf(submit({}, { attempt: 2, heartbeatDetails: refused.beats.at(-1) }));
    expect(await recall()).toEqual({ madeNoTask: false, onLostSubmit: 'hold', lostAt: {} });
    const { taskId } = await submit({ resubmits: true }, inAnotherRun()).result;
    expect(await recall()).toMatchObject({ task: { taskId }, madeNoTask: false });
  });

  it('has the task that an operator adopted from then on', async () => {
    world.emulator.next('submit', { kind: 'reset' });
    await failureOf(submit());
    const [{ taskId } = { taskId: '' }] = world.emulator.generations();
    const { task } = await recall({ adopts: taskId });
    expect(task).toMatchObject({ taskId, record: expect.any(String) });
    expect(await submit({}, inAnotherRun()).result).toMatchObject({ taskId });
    expect(world.emulator.calls).toHaveLength(1);
  });
});

test('a refusal does not hide the submit that was lost before it', async () => {
  world.emulator.next('submit', { kind: 'reset' }, { kind: 'refused', status: 401, message: 'no' });
  const first = submit({ onLostSubmit: 'resubmit' });
  await failureOf(first);
  const again = { attempt: 2, heartbeatDetails: first.beats.at(-1) };
  const { failure } = await failureOf(submit({ onLostSubmit: 'resubmit' }, again));
  expect(failure.type).toBe('Unauthorized');
  expect(failure.message).toContain('a task may still exist, because attempt 1 ended before');
});

describe('a record', () => {
  it('contains neither the signature of a link nor the bytes of an image', async () => {
    const image = `data:image/png;base64,${'A'.repeat(150_000)}`;
    const request = {
      ...REQUEST,
      image_url: 'https://user:pass@images.example.com/fox.png?X-Signature=s3cret#part',
      tail: { image_url: image, frames: ['https://images.example.com/a.png?token'] },
      prompt: 'A red fox '.repeat(2_000),
    };
    const server = await startRawServer((received) => replyJson(received, { task_id: 'task-1' }));
    const { submitVideo } = world.activitiesAt(server.url, { profile: { requestFields: ['tail'] } });
    await world.run(submitVideo, { request }).result;
    await server.close();
    const record = await readRecord();
    expect(record.request).toMatchObject({
      image_url: 'https://images.example.com/fox.png?…',
      prompt: `${'A red fox '.repeat(1_000)}… (20000 characters)`,
    });
    expect(JSON.stringify(record)).not.toMatch(/s3cret|pass|AAAAAA|\?token/);
    expect(JSON.stringify(record).length).toBeLessThan(25_000);
  });

  it('has a valid file name, whatever the name of the job', async () => {
    for (const job of ['../../escape', 'a/b', `${'x'.repeat(900)}`, '.hidden', 'a\u0000b']) {
      await submit({ job }).result;
    }
    const records = await recordsIn(world.folder);
    expect(records).toHaveLength(5);
    for (const name of records) expect(name).toMatch(/^jobs[\\/][^\\/.][^\\/]*\.json$/);
  });
});

describe('a download whose video is on record', () => {
  const download = async (more = {}) => {
    const { taskId, record } = await submit().result;
    return world.run(world.activities.downloadVideo, { taskId, record, ...more });
  };

  it('returns it without calling the service', async () => {
    const first = await (await download()).result;
    const before = world.emulator.calls.length;
    expect(await submit({}, inAnotherRun()).result).toMatchObject({ isStored: true });
    expect(await (await download()).result).toEqual(first);
    expect(world.emulator.calls).toHaveLength(before);
  });

  it('warns that the video stays under its first key', async () => {
    await (await download()).result;
    const { warnings } = await (await download({ storage: 'elsewhere.mp4' })).result;
    expect(warnings).toEqual(['the video was stored before as test.mp4 and stays there']);
  });

  it('downloads it again when it is gone', async () => {
    const { video } = await (await download()).result;
    await rm(fileURLToPath(video.uri));
    expect((await (await download()).result).video).toEqual(video);
    expect(await world.files()).toEqual(expect.arrayContaining(['test.mp4']));
  });

  it('does not mistake another file for it', async () => {
    const { video } = await (await download()).result;
    await chmod(fileURLToPath(video.uri), 0o600);
    await writeFile(fileURLToPath(video.uri), 'another');
    const { failure } = await failureOf(await download());
    expect(failure.message).toContain('the key "test.mp4" is taken');
  });

  it('succeeds when the record cannot be written', async () => {
    const { taskId, record } = await submit().result;
    const files = createFileStorage(world.folder);
    const storage: VideoStorage = {
      ...files,
      write: (key, ...rest) =>
        key.startsWith('jobs/') ? Promise.reject(new StorageFault('no')) : files.write(key, ...rest),
    };
    const { downloadVideo } = createVideoActivities({ service: world.service, storage });
    const { warnings } = await world.run(downloadVideo, { taskId, record }).result;
    expect(warnings).toEqual([]);
    await mkdir(join(world.folder, 'jobs'), { recursive: true });
  });
});
