import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WorkflowNotFoundError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import type { AdoptTaskInput } from '../../activities';
import { POST_BEFORE_DEADLINE_MS, POST_WITHIN_MS } from '../../src/contract/policies';
import type { VideoRequest } from '../../src/contract/request';
import { requestSizeProblem } from '../../src/contract/sizes';
import type { VideoService } from '../../src/service';
import { digestOfJob, JobRecord, RECORD_IO_MS, StorageFault, type VideoStorage } from '../../src/storage';
import { claimTask } from '../../src/storage/task-claims';
import { signedLinks } from '../support/signed-links';
import { asJob, expectFailure, failureOf } from './activity-world';
import { createMemoryWorld } from './memory-world';
import { following, NAMESPACE, REQUEST, useSubmitWorld, withoutWaits } from './submit-world';

const here = useSubmitWorld();
const { submit } = here;

const RESET = { kind: 'reset' } as const;
const LIMITED = { kind: 'rate-limited' } as const;

/** A storage that treats entries of an event otherwise. */
const storageThat = (create: () => Promise<boolean>, event = ''): VideoStorage => ({
  ...here.storage,
  create: (key, text) =>
    key.startsWith('jobs/') && text.includes(`"event": "${event}`)
      ? create()
      : here.storage.create(key, text),
});
const failing = () => Promise.reject(new StorageFault('no space left'));
const firstEntry = () => join(here.folder, here.record.key, '0001.json');

describe('before a POST leaves', () => {
  test('the send is on record, and the task as soon as it is known', async () => {
    let atPost: unknown;
    const service: VideoService = {
      ...here.service,
      start: async (...call) => {
        atPost = (await here.read()).entries;
        return here.service.start(...call);
      },
    };
    const attempt = submit({}, { deps: { service } });
    const { taskId } = await attempt.result;
    const send = { event: 'sending', namespace: NAMESPACE, job: here.job, request: REQUEST };
    expect(atPost).toEqual([expect.objectContaining(send)]);
    const { task, lastSend, openSends } = await here.read();
    expect(task).toMatchObject({ taskId, send: lastSend?.id });
    expect(openSends).toEqual([]);
    expect(attempt.beats[0]).toEqual({ sends: [{ id: lastSend?.id, attempt: 1 }] });
  });

  test.each<[string, Partial<VideoStorage>]>([
    ['cannot be written', { create: failing }],
    ['cannot be read', { read: failing }],
  ])('nothing is sent while the storage %s, in every attempt', async (_what, broken) => {
    for (const attempt of [1, 50]) {
      const info = { attempt, heartbeatDetails: { attemptWithoutTask: attempt - 1 } };
      const run = submit({}, { info, deps: { storage: { ...here.storage, ...broken } } });
      const { details } = await expectFailure(run, 'StorageFailed', 'retryable');
      expect(details.message).toMatch(/^nothing was sent, because the storage failed: .*no space left$/);
      // So the next attempt does not treat it as lost.
      expect(run.beats.at(-1)).toMatchObject({ attemptWithoutTask: attempt });
    }
    expect(here.posts()).toBe(0);
  });

  const entry = (more: object) =>
    JSON.stringify({ id: 'x', at: new Date(0).toISOString(), namespace: 'n', job: 'j', ...more });
  test.each([
    ['breaks off', '{"event":"sen'],
    ['names a task that could not be shown', entry({ event: 'task', taskId: 'a\u001b[2J' })],
    ['names a service that leads elsewhere', entry({ event: 'task', taskId: 'a', service: '../b' })],
    ['follows one that is not there', entry({ event: 'task', taskId: 'a', follows: 'y' })],
  ])('an entry that %s prevents it, and the failure names it', async (_what, content) => {
    await mkdir(join(firstEntry(), '..'), { recursive: true });
    await writeFile(firstEntry(), content);
    const { details } = await expectFailure(submit(), 'StorageFailed', 'retryable');
    expect(details.message).toContain(`${here.record.key}/0001.json`);
    expect(here.posts()).toBe(0);
  });
});

describe('a job whose history Temporal has deleted', () => {
  test('finds its task on record, and nothing is sent', async () => {
    const { taskId } = await submit({ service: 'b' }).result;
    const found = { taskId, service: 'b', record: here.record.id, nextPollMs: 0 };
    expect(await submit({ service: 'a' }).result).toEqual(found);
    // Also on a worker without that service: another one polls it.
    expect(await submit({}, { deps: { services: {} } }).result).toEqual(found);
    expect(here.posts()).toBe(1);
  });

  test('is submitted when the record has only refusals', async () => {
    here.emulator.next('submit', { kind: 'refused', status: 401, message: 'no' });
    await failureOf(submit());
    expect(await here.events()).toEqual(['sending', 'refused']);
    await submit().result;
    expect(here.posts()).toBe(2);
  });

  test('is not paid again after it was forgotten', async () => {
    await submit().result;
    await here.record.forget(here.storage);
    const { details } = await expectFailure(submit(), 'InvalidRequest', 'for good');
    expect(details.message).toContain(`${here.job} was forgotten at `);
    expect(here.posts()).toBe(1);
    expect(await readFile(firstEntry(), 'utf8')).not.toContain(REQUEST.prompt);
  });

  test('is another job under another name, in another namespace or for another request', async () => {
    await submit().result;
    await submit({}, { info: asJob() }).result;
    await submit({}, { info: { namespace: 'another' } }).result;
    await submit({ request: { ...REQUEST, duration: 6 } }).result;
    expect(here.posts()).toBe(4);
  });
});

test('an attempt submits after a refusal that is in the heartbeat but not in the record', async () => {
  here.emulator.next('submit', LIMITED);
  const first = submit({}, { deps: { storage: storageThat(failing, 'refused') } });
  await failureOf(first);
  expect(await here.events()).toEqual(['sending']);
  expect(here.logged()).toMatchObject([{ event: 'recordNotWritten', record: here.record.key }]);
  await submit({}, following(first)).result;
  expect(here.posts()).toBe(2);
});

test('a task that was made while the disk was full is written down before its video is stored: no other job gets it', async () => {
  let isFull = false;
  const create: VideoStorage['create'] = (key, text) => (isFull ? failing() : here.storage.create(key, text));
  const service = {
    ...here.service,
    start: (...given: Parameters<typeof here.service.start>) => {
      isFull = true;
      return here.service.start(...given);
    },
  };
  const deps = { service, storage: { ...here.storage, create } };
  const { taskId, record } = await submit({}, { deps }).result;
  expect(await here.events()).toEqual(['sending']);
  isFull = false;
  const { downloadVideo } = here.worker();
  await here.run(downloadVideo, { taskId, record, caller: 'shop' }, asJob(here.job)).result;
  expect(await here.events()).toEqual(['sending', 'task', 'stored']);
  expect((await here.read()).openSends).toEqual([]);
  const other = { namespace: NAMESPACE, job: 'another', record: 'r' };
  expect(await claimTask(here.storage, { taskId }, other)).toMatchObject({ job: here.job, caller: 'shop' });
});

test('a task that cannot be written down is tried once more', async () => {
  let faults = 1;
  const create: VideoStorage['create'] = (key, text) =>
    text.includes('"event": "task') && faults-- > 0 ? failing() : here.storage.create(key, text);
  await submit({}, { deps: { storage: { ...here.storage, create } } }).result;
  expect(await here.events()).toEqual(['sending', 'task']);
});

test('a task that cannot be written down is returned all the same, is in the log, and is written down by the next attempt', async () => {
  const first = submit({}, { deps: { storage: storageThat(failing, 'task') } });
  const { taskId } = await first.result;
  expect(await here.events()).toEqual(['sending']);
  expect(here.logged()).toContainEqual(expect.objectContaining({ event: 'recordNotWritten', taskId }));
  expect(await submit({}, following(first)).result).toMatchObject({ taskId });
  expect(await submit().result).toMatchObject({ taskId });
  expect(here.posts()).toBe(1);
});

test('an attempt whose storage does not answer sends nothing and is retryable, or returns the task it was given', () =>
  withoutWaits(async (unanswered) => {
    for (const storage of [{ ...here.storage, read: unanswered }, storageThat(unanswered, 'sending')]) {
      const run = submit({}, { info: asJob(), deps: { storage } });
      const { failure } = await expectFailure(run, 'StorageFailed', 'retryable');
      expect(failure.message).toContain(`no answer within ${RECORD_IO_MS / 1_000} s`);
      expect(run.beats.at(-1)).toMatchObject({ attemptWithoutTask: 1 });
    }
    expect(here.posts()).toBe(0);
    const records = submit({}, { deps: { storage: storageThat(unanswered, 'task') } });
    expect(await records.result).toMatchObject({ taskId: expect.any(String) });
  }));

describe('an attempt that Temporal may have given up on', () => {
  test('sends nothing when it was cancelled before its POST', async () => {
    const create: VideoStorage['create'] = (...entry) => {
      run.cancel();
      return here.storage.create(...entry);
    };
    const run = submit({}, { deps: { storage: { ...here.storage, create } } });
    await expect(run.result).rejects.toThrow(CancelledFailure);
    expect(await here.events()).toEqual(['sending', 'refused']);
    expect(here.posts()).toBe(0);
  });

  test('sends nothing when it started too long ago for its heartbeat', async () => {
    const { now } = performance;
    const sentAfter = async (leapMs: number) => {
      let leapt = 0;
      jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + leapt);
      const create: VideoStorage['create'] = (...entry) => {
        leapt = leapMs;
        return here.storage.create(...entry);
      };
      const run = submit({}, { info: asJob(), deps: { storage: { ...here.storage, create } } });
      return run.result.catch(() => failureOf(run)).finally(() => jest.restoreAllMocks());
    };
    expect(await sentAfter(POST_WITHIN_MS)).toMatchObject({
      failure: { type: 'StorageFailed', nonRetryable: false },
    });
    expect(here.posts()).toBe(0);
    expect(await sentAfter(POST_WITHIN_MS - 5_000)).toMatchObject({ taskId: expect.any(String) });
  });

  test('sends nothing right before the deadline of the job, counting the attempts before it', async () => {
    // The attempts before this one, and the pauses between them, took nine seconds.
    const spent = { scheduledTimestampMs: 1_000, currentAttemptScheduledTimestampMs: 10_000 };
    const noted = { attempt: 3, heartbeatDetails: { attemptWithoutTask: 2 } };
    const at = (leftMs: number) =>
      submit({}, { info: { ...noted, ...spent, scheduleToCloseTimeoutMs: 9_000 + leftMs } });
    await expectFailure(at(POST_BEFORE_DEADLINE_MS), 'DeadlineExceeded', 'for good');
    expect(here.posts()).toBe(0);
    await at(POST_BEFORE_DEADLINE_MS + 5_000).result;
  });

  test('is not paused by the rate limiter right before the deadline, because no attempt would follow', async () => {
    here.emulator.next('submit', { kind: 'rate-limited', retryAfter: 60 });
    const { submitVideo } = here.worker();
    const run = (info = {}) => here.run(submitVideo, { request: REQUEST }, { ...asJob(), ...info });
    expect((await failureOf(run())).failure.type).toBe('RateLimited');
    await expectFailure(
      run({ scheduleToCloseTimeoutMs: POST_BEFORE_DEADLINE_MS }),
      'DeadlineExceeded',
      'for good',
    );
  });

  test.each([undefined, 0])('sends if it has no deadline (%s)', async (scheduleToCloseTimeoutMs) => {
    await submit({}, { info: { scheduleToCloseTimeoutMs } }).result;
  });
});

describe('a submit that is recalled', () => {
  const recall = (more = {}) =>
    here.run(here.worker().recallSubmit, { request: REQUEST, ...more }, asJob(here.job));

  test('has its task, made none, or is lost, as the record says', async () => {
    expect(await recall().result).toEqual({ mayHaveTask: false });
    here.emulator.next('submit', LIMITED, RESET);
    const refused = submit({ service: 'b' });
    await failureOf(refused);
    expect(await recall({ mayHaveSent: true }).result).toEqual({ mayHaveTask: false });
    const lost = submit({ service: 'b' }, following(refused));
    const { lostSubmit: id = '' } = (await failureOf(lost)).details;
    const { details } = await expectFailure(
      recall({ onLostSubmit: 'resubmit' }),
      'SubmitUnconfirmed',
      'for good',
    );
    expect(details).toMatchObject({ lostSubmit: id, service: 'b', onLostSubmit: 'resubmit' });
    expect(await recall({ repeats: [id] }).result).toEqual({ mayHaveTask: true });
    const { taskId } = await submit({ repeats: [id] }).result;
    expect(await recall().result).toMatchObject({ task: { taskId, service: 'b' } });
  });

  test('is lost if an attempt may have sent it and the record is empty, or its note says so', async () => {
    const unknown = await failureOf(recall({ mayHaveSent: true }));
    expect(unknown.details).toMatchObject({ lostSubmit: expect.stringContaining('/'), onLostSubmit: 'hold' });
    const note = { attemptWithoutTask: 2, sends: [{ id: 'send-1', attempt: 1, service: 'gone' }] };
    const { details } = await failureOf(recall({ note }));
    expect(details).toMatchObject({ lostSubmit: 'send-1', service: 'gone' });
    const [send] = note.sends;
    const ended = (outcome: string) => recall({ note: { sends: [{ ...send, outcome }] } }).result;
    expect(await ended('refused')).toEqual({ mayHaveTask: false });
    expect(await ended('unclear')).toEqual({ mayHaveTask: true });
  });

  test('has the task that the notes of an attempt name, from then on', async () => {
    const note = { taskId: 'task-1', service: 'b' };
    // Whether or not this worker has the service.
    for (const service of ['b', 'gone'])
      expect(await recall({ note, service }).result).toMatchObject({ task: note });
    expect(await submit().result).toMatchObject(note);
    expect(here.posts()).toBe(0);
  });
});

describe('a download whose video is on record', () => {
  const download = async (more = {}) => {
    const { taskId } = await submit().result;
    const { downloadVideo } = here.worker();
    return here.run(downloadVideo, { taskId, record: here.record.id, ...more }, asJob(here.job));
  };

  test('returns it without calling the service', async () => {
    const first = await (await download()).result;
    const before = here.emulator.calls.length;
    expect(await submit().result).toMatchObject({ isStored: true });
    expect(await (await download()).result).toEqual(first);
    expect(here.emulator.calls).toHaveLength(before);
  });

  test('downloads it again when it is gone, and the log says so', async () => {
    const { video } = await (await download()).result;
    await rm(fileURLToPath(video.uri));
    expect((await (await download()).result).video).toEqual(video);
    expect(here.logged()).toContainEqual(expect.objectContaining({ event: 'storedVideoGone' }));
  });

  test('is not taken for the video of another task', async () => {
    await (await download()).result;
    const { failure } = await failureOf(await download({ taskId: 'another' }));
    expect(failure.type).toBe('TaskUnknown');
  });
});

describe('the cost of a job', () => {
  const usd = (amount: number) => ({ amount, currency: 'USD' });
  const cost = { estimated: usd(0.5), service: 'Ark' };
  const submitAt = (perSecond: number) => {
    const prices = { currency: 'USD', table: [{ perSecond }] };
    const service = here.serviceAt(here.emulator.url, { profile: { name: 'Ark', prices } });
    return submit({}, { deps: { service } }).result;
  };

  test('is estimated by the submit, and recorded with the send and with the task', async () => {
    expect(await submitAt(0.1)).toMatchObject({ cost });
    expect((await here.read()).entries).toMatchObject([
      { event: 'sending', cost },
      { event: 'task', cost },
    ]);
  });

  test('is what the record says, whatever the prices are now', async () => {
    const { taskId } = await submitAt(0.1);
    const paid = { ...cost, charged: usd(0.45) };
    const { downloadVideo } = here.worker();
    await here.run(downloadVideo, { taskId, record: here.record.id, cost: paid }, asJob(here.job)).result;
    expect(await submitAt(9)).toMatchObject({ taskId, isStored: true, cost: paid });
  });
});

describe('a recorded request', () => {
  const SECRET = 'a1B2c3D4e5F6g7H8i9J0';
  /** As much as an entry of a record may have. */
  const MIB = 1024 * 1024;

  /** The request as it is on record after its submit, and the size of its entry. */
  async function recorded(given: object) {
    const request: VideoRequest = { prompt: 'A fox', ...given };
    expect(requestSizeProblem(request)).toBeUndefined();
    // Nothing of a request is refused here: what is on record is what counts.
    const profile = { requestFields: ['extra', 'long', 'image'] };
    const world = createMemoryWorld(undefined, { service: { profile } });
    await world.submit({ request }).result;
    const [first = ''] = [...world.stored.keys()].filter((key) => key.startsWith('jobs/')).sort();
    return { request: world.json(first).request, bytes: world.stored.get(first)?.length ?? 0 };
  }

  test.each(signedLinks(SECRET))('has no secret of %s, wherever the link is', async (link) => {
    const { request } = await recorded({
      prompt: `A fox as in ${link} and in the snow`,
      image: link,
      extra: { deep: [{ links: [link], note: `see (${link})` }], [link]: 1 },
    });
    expect(JSON.stringify(request)).not.toContain(SECRET);
    expect(request.prompt).toMatch(/^A fox as in .* and in the snow$/);
  });

  const cut = (text: string, chars: number) => `${text}… (${chars} characters)`;
  test.each<[what: string, given: unknown, onRecord: unknown]>([
    ['an image, of which the type is kept', ' DATA:image/png;base64,AAAA', cut('DATA:image/png,', 27)],
    ['what only looks like one', `data:${'x'.repeat(200)}`, cut(`data:${'x'.repeat(95)},`, 205)],
    ['a link with a query', ' https://example.com/fox.png?size=2#a', 'https://example.com/fox.png?…'],
    ['a link without one', 'http://example.com/fox.png', 'http://example.com/fox.png'],
    ['what is no link', 'https://', 'https://'],
    [
      'a text that mentions them',
      'not data: nor https://me:x@example.com/',
      'not data: nor https://…@example.com/',
    ],
    ['a long text', 'x'.repeat(10_000), 'x'.repeat(10_000)],
    ['a longer one', 'x'.repeat(10_001), cut('x'.repeat(10_000), 10_001)],
    ['values of other kinds', [null, 7, true, { deep: [1.5] }], [null, 7, true, { deep: [1.5] }]],
    [
      'a long list',
      ['x'.repeat(5_000), 'y'.repeat(5_000)],
      cut(`["${'x'.repeat(5_000)}","${'y'.repeat(4_995)}`, 10_007),
    ],
  ])('has %s', async (_what, extra, onRecord) => {
    expect((await recorded({ extra })).request).toEqual({ prompt: 'A fox', extra: onRecord });
  });

  test('fits into an entry, however large it is, or it could never be sent', async () => {
    const long = Array.from({ length: 200_000 }, (_, index) => index % 10);
    expect((await recorded({ long })).bytes).toBeLessThan(MIB / 2);
  });
});

describe('a job that adopts a task', () => {
  let taskId: string;
  beforeEach(() => {
    taskId = `task-of-${here.job}`;
  });
  const OWL = 'owl';

  /** Temporal, where the job of the owl is in this state, and all others run. */
  function temporalSaying(state: string | Error) {
    const asked: string[] = [];
    const getHandle = (workflowId: string) => ({
      describe: async () => {
        asked.push(workflowId);
        if (state instanceof Error) throw state;
        const name = workflowId === OWL ? state : 'RUNNING';
        return { status: { name }, closeTime: name === 'RUNNING' ? undefined : new Date() };
      },
    });
    return { connection: {}, workflow: { getHandle }, asked };
  }
  const DELETED = new WorkflowNotFoundError('gone', OWL, undefined);

  interface Adoption {
    job?: string;
    namespace?: string;
    client?: object;
    storage?: VideoStorage;
  }
  const adopt = (
    input: Partial<AdoptTaskInput> = {},
    { job = here.job, namespace, client, storage }: Adoption = {},
  ) =>
    here.run(
      here.worker(storage && { storage }).adoptTask,
      { taskId, ...input },
      { ...asJob(job), ...(namespace && { namespace }) },
      client ?? temporalSaying(new Error('nobody is to be asked')),
    );
  const adoptBeside = (state: string | Error) => adopt({}, { client: temporalSaying(state) });

  /** The record of a job that adopted the task by its id alone. */
  function recordOf(job: string) {
    const owner = { namespace: NAMESPACE, job };
    return new JobRecord(here.storage, owner, digestOfJob(owner, { taskId }));
  }

  const stored = () => ({
    event: 'stored' as const,
    taskId,
    key: 'fox.mp4',
    video: { uri: 'file:///fox.mp4', bytes: 5, sha256: 'aa', contentType: 'video/mp4' },
    warnings: [],
  });

  test('puts it on record at its service, polls it at once, and may adopt it again', async () => {
    const record = recordOf(here.job);
    const task = { taskId, service: 'b', record: record.id, nextPollMs: 0 };
    for (const _ of [1, 2]) expect(await adopt({ service: 'b' }).result).toEqual(task);
    expect((await record.read()).entries).toMatchObject([{ event: 'task', taskId, service: 'b' }]);
    await record.add(stored());
    expect(await adopt({ service: 'b' }).result).toEqual({ ...task, isStored: true });
  });

  test('does not adopt it again under a name that was forgotten', async () => {
    await adopt().result;
    await recordOf(here.job).forget(here.storage);
    const { details } = await expectFailure(adopt(), 'InvalidRequest', 'for good');
    expect(details.message).toContain(`${here.job} was forgotten at `);
  });

  const expectRefused = async (attempt: ReturnType<typeof adopt>) => {
    const { details } = await expectFailure(attempt, 'InvalidRequest', 'for good');
    expect(details.message).toBe(
      `the task ${taskId} belongs to the job ${OWL}, which is running or has its video`,
    );
    expect((await recordOf(here.job).read()).entries).toEqual([]);
  };

  test.each<
    [what: string, isFree: boolean, state: string | Error, onRecord: 'stored' | 'forgotten' | 'task']
  >([
    ['runs', false, 'RUNNING', 'task'],
    ['has its video', false, 'COMPLETED', 'task'],
    ['failed', true, 'FAILED', 'task'],
    ['was deleted in Temporal', true, DELETED, 'task'],
    ['was deleted in Temporal and has its video on record', false, DELETED, 'stored'],
    ['ended before it could hand its video over', true, 'TERMINATED', 'stored'],
    ['was forgotten', true, 'COMPLETED', 'forgotten'],
  ])('gets the task of another one that %s: %j', async (_what, isFree, state, onRecord) => {
    await adopt({}, { job: OWL }).result;
    const record = recordOf(OWL);
    await record.read();
    if (onRecord === 'stored') await record.add(stored());
    if (onRecord === 'forgotten') await record.forget(here.storage);
    if (!isFree) return expectRefused(adoptBeside(state));
    expect(await adoptBeside(state).result).toMatchObject({ taskId });
    // The other job does not get it back.
    const { details } = await failureOf(
      adopt({ request: REQUEST }, { job: OWL, client: temporalSaying('RUNNING') }),
    );
    expect(details.message).toContain(`belongs to the job ${here.job}`);
  });

  test('does not get the task of one in another namespace: nobody here knows whether that runs', async () => {
    await adopt({}, { job: OWL, namespace: 'another' }).result;
    const client = temporalSaying('FAILED');
    await expectRefused(adopt({}, { client }));
    expect(client.asked).toEqual([]);
  });

  test('waits while Temporal cannot be asked about another one', async () => {
    await adopt({}, { job: OWL }).result;
    await expect(adoptBeside(new Error('no route')).result).rejects.toThrow('no route');
    expect(await adoptBeside('FAILED').result).toMatchObject({ taskId });
  });

  test('learns nothing about tasks of other callers, not even that they exist', async () => {
    const asCaller = (caller?: string) =>
      failureOf(adopt({ ...(caller && { caller }) }, { client: temporalSaying('RUNNING') }));
    await adopt({ caller: 'shop' }, { job: OWL }).result;
    const { failure, details } = await asCaller('thief');
    expect([failure.type, failure.nonRetryable]).toEqual(['TaskUnknown', true]);
    expect(details).toEqual({ taskId, attempt: 1 });
    expect(failure.message).not.toContain('owl');
    const unknown = await failureOf(adopt({ taskId: 'no such task', caller: 'thief', isPolled: true }));
    expect(failure.type).toBe(unknown.failure.type);
    // Operators and the caller itself learn which job has it.
    for (const caller of ['shop', undefined])
      expect((await asCaller(caller)).failure.type).toBe('InvalidRequest');
    taskId = `without-caller-${taskId}`;
    await adopt({}, { job: OWL }).result;
    expect((await asCaller('thief')).failure.type).toBe('TaskUnknown');
  });

  test('is refused the task that another submitted, which a later job of the name and request of that finds', async () => {
    ({ taskId } = await submit({ caller: 'shop' }).result);
    const { details } = await failureOf(adopt({}, { job: OWL, client: temporalSaying('RUNNING') }));
    expect(details.message).toContain(`belongs to the job ${here.job}`);
    expect(await adopt({ request: REQUEST }).result).toMatchObject({ taskId, record: here.record.id });
    expect(await here.events()).toEqual(['sending', 'task']);
  });

  test('keeps a task that another job then submits; the log says so', async () => {
    const service = { ...here.service, start: async () => ({ taskId }) };
    await adopt({}, { job: OWL }).result;
    expect(await submit({}, { deps: { service } }).result).toMatchObject({ taskId });
    expect(here.logged()).toContainEqual(expect.objectContaining({ event: 'taskOfAnotherJob' }));
    const { details } = await failureOf(adopt({}, { job: 'hare', client: temporalSaying('RUNNING') }));
    expect(details.message).toContain('belongs to the job owl');
  });

  test('polls the task of a lost submit first, so that a mistyped id is claimed by nobody', async () => {
    const { failure } = await failureOf(adopt({ request: REQUEST, isPolled: true }));
    expect(failure.type).toBe('TaskUnknown');
    expect(await adopt({}, { job: OWL }).result).toMatchObject({ taskId });
  });

  test('finds the task of a lost submit at the service that got the request, and so does its next submit', async () => {
    here.emulator.next('submit', RESET);
    await failureOf(submit({ service: 'b' }));
    taskId = here.emulator.generations().at(-1)?.taskId ?? '';
    const adopted = await adopt({ request: REQUEST, service: 'a', isPolled: true }).result;
    expect(adopted).toMatchObject({ taskId, service: 'b', record: here.record.id });
    expect(await submit().result).toMatchObject({ taskId, service: 'b' });
    expect(here.posts()).toBe(1);
  });

  test.each(['tasks/', 'jobs/'])(
    'tries again when it cannot write into %s, and succeeds then',
    async (folder) => {
      const create: VideoStorage['create'] = (key, text) =>
        key.startsWith(folder) ? failing() : here.storage.create(key, text);
      await expectFailure(adopt({}, { storage: { ...here.storage, create } }), 'StorageFailed', 'retryable');
      expect(await adopt().result).toMatchObject({ taskId });
    },
  );
});
