import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ActivityCancellationDetails } from '@temporalio/common';
import type { FailureType } from '../../../src/contract/failure-table';
import type { Faults } from '../../../src/testing';
import { type ActivityWorld, failureOf } from '../activity-world';
import { sha256, useDownloadWorld } from './download-world';

const here = useDownloadWorld();
let world: ActivityWorld;
let taskId: string;
beforeEach(() => {
  ({ world, taskId } = here);
});

const download = (storage?: string, info = {}) =>
  world.run(world.activities.downloadVideo, { taskId, storage }, info);

/** Faults that one attempt survives twice, and the failure when they continue. */
const CONNECTIONS: [what: string, fault: Faults['download'], type: FailureType, message: string | RegExp][] =
  [
    ['cut', { kind: 'cut', afterBytes: 20_000 }, 'ServiceUnreachable', /closed|ECONNRESET/],
    ['cut at once', { kind: 'cut', afterBytes: 0 }, 'ServiceUnreachable', /closed|ECONNRESET/],
    ['reset', { kind: 'reset' }, 'ServiceUnreachable', /ECONNRESET|closed/],
    [
      'refused because the link has expired',
      { kind: 'refused', status: 403, code: 'AccessDenied', message: 'Request has expired' },
      'VideoUnavailable',
      'HTTP 403, code AccessDenied, Request has expired',
    ],
    [
      'refused because the link needs another key',
      { kind: 'refused', status: 401, message: 'no' },
      'VideoUnavailable',
      'HTTP 401',
    ],
    ['not there', { kind: 'refused', status: 404, message: 'no' }, 'VideoUnavailable', 'HTTP 404'],
    ['gone', { kind: 'refused', status: 410, message: 'gone' }, 'VideoUnavailable', 'HTTP 410'],
  ];

describe('a download that is', () => {
  it.each(CONNECTIONS)('%s asks for a fresh link and resumes', async (_what, fault) => {
    world.emulator.next('download', fault, fault);
    const { video } = await download().result;
    expect(video.sha256).toBe(sha256(await world.emulator.video(taskId)));
    const calls = world.emulator.calls.slice(1).map(({ call }) => call);
    expect(calls).toEqual(['status', 'download', 'status', 'download', 'status', 'download']);
    expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  });

  it.each(CONNECTIONS)('%s repeatedly is left to the retry policy', async (_what, fault, type, message) => {
    world.emulator.next('download', fault, fault, fault);
    const { failure, details } = await failureOf(download(undefined, { attempt: 3 }));
    expect([failure.type, failure.nonRetryable]).toEqual([type, false]);
    expect(details).toMatchObject({ taskId, attempt: 3 });
    expect(failure.message).toMatch(message);
    expect(failure.message).toContain(`(task ${taskId})`);
  });

  it('refused at the eighth attempt is not retried', async () => {
    const refused = { kind: 'refused', status: 403, message: 'no' } as const;
    world.emulator.next('download', refused, refused, refused);
    const { failure } = await failureOf(download(undefined, { attempt: 8 }));
    expect([failure.type, failure.nonRetryable]).toEqual(['VideoUnavailable', true]);
    expect(await world.files()).toEqual([]);
  });
});

it('a download continues as long as each connection makes progress', async () => {
  const cut = { kind: 'cut', afterBytes: 70_000 } as const;
  world.emulator.next('download', cut, cut, cut, cut);
  await download().result;
  expect(ranges()).toEqual([undefined, ...Array(4).fill(expect.stringMatching(/^bytes=\d+-$/))]);
});

const ranges = () => world.emulator.calls.flatMap(({ call, range }) => (call === 'download' ? [range] : []));

describe('the next attempt', () => {
  /** Fails with a part of the video. Its last heartbeat is what the next attempt reads. */
  async function leavePart(info: object = { scheduleToCloseTimeoutMs: 3_600_000 }) {
    const cut = (afterBytes: number) => ({ kind: 'cut', afterBytes }) as const;
    world.emulator.next('download', cut(200_000), cut(10), cut(10), cut(10));
    const attempt = download(undefined, info);
    await failureOf(attempt);
    return Object(attempt.beats.at(-1)) as { part?: string; bytes: number };
  }
  const next = (heartbeatDetails: unknown) => download(undefined, { attempt: 2, heartbeatDetails });
  const expectComplete = async (attempt: ReturnType<typeof next>) => {
    const { video } = await attempt.result;
    expect(video.sha256).toBe(sha256(await world.emulator.video(taskId)));
    expect(await world.files()).toEqual(['test.mp4', 'test.mp4.json']);
  };

  it('resumes what the last one left, and deletes the partial file', async () => {
    const note = await leavePart();
    expect(note.part).toMatch(/[.]part$/);
    // Bytes that were still being written when the connection broke are lost.
    expect(note.bytes).toBeGreaterThan(100_000);
    expect(await world.files()).toHaveLength(1);
    await expectComplete(next(note));
    expect(ranges().slice(4)).toEqual([`bytes=${note.bytes}-`]);
  });

  it.each([
    ['is paused', 'PAUSED', { paused: true }],
    ['runs on a worker that shuts down', 'WORKER_SHUTDOWN', { workerShutdown: true }],
  ] as const)('resumes one that %s', async (_what, reason, details) => {
    world.emulator.next('download', { kind: 'stall', afterBytes: 200_000 });
    const attempt = download();
    await attempt.beat((beat) => Object(beat).bytes > 0);
    attempt.cancel(reason, new ActivityCancellationDetails(details));
    await expect(attempt.result).rejects.toThrow();
    const note = attempt.beats.at(-1);
    await expectComplete(next(note));
    expect(ranges()).toEqual([undefined, `bytes=${Object(note).bytes}-`]);
  });

  it('heartbeats with the note of the last one until it has its own', async () => {
    const note = await leavePart();
    world.emulator.next('status', { kind: 'server-error' });
    const attempt = next(note);
    await failureOf(attempt);
    expect(attempt.beats[0]).toEqual(note);
  });

  it.each<[what: string, harm: (path: string) => Promise<void>]>([
    ['is gone', (path) => rm(path)],
    ['is shorter than noted', (path) => truncate(path, 99_999)],
    ['was changed, as by a power cut', (path) => writeFile(path, Buffer.alloc(300_000))],
  ])('starts over when the partial file %s', async (_what, harm) => {
    const note = await leavePart();
    const [part = ''] = await world.files();
    await harm(join(world.folder, part));
    await expectComplete(next(note));
    expect(ranges().slice(4)).toEqual([undefined]);
  });

  it('starts over when the video has changed', async () => {
    const note = await leavePart();
    await expectComplete(next({ ...note, validator: '"another"' }));
    expect(ranges().slice(4)).toEqual([`bytes=${note.bytes}-`]);
  });

  it.each([undefined, null, 7, 'x', {}, { bytes: 1 }, { key: 'test.mp4', part: '../../x', bytes: 5 }])(
    'starts over when the note is %j',
    (note) => expectComplete(next(note)),
  );
});
