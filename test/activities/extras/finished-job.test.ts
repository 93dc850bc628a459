import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkflowNotFoundError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { type FinishedJob, findFinishedJob } from '../../../activities/extras/finished-job';
import {
  createTakeLastFrame,
  type TakeLastFrameDeps,
  type TakeLastFrameInput,
} from '../../../activities/extras/take-last-frame';
import { createFindTools } from '../../../activities/service-tools';
import { lastFrameUrl } from '../../../src/contract/continue-from';
import { LAST_FRAME_OWNER, parseImageReference } from '../../../src/contract/image-reference';
import { WORKFLOW_TYPE } from '../../../src/contract/names';
import {
  digestOfJob,
  type JobRecord,
  recordId,
  recordKey,
  type StoredRecord,
  writeRecord,
} from '../../../src/retention';
import { ServiceDirectory } from '../../../src/service';
import { checkImage, createFileStorage, hasImage, type VideoStorage } from '../../../src/storage';
import { PNG, sha256Of } from '../../support/images';
import { eventsIn, failureOf, startAttempt } from '../activity-world';

let folder: string;
let storage: VideoStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'videogen-finished-'));
  storage = createFileStorage(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const NOT_FOUND = 5;
const UNAVAILABLE = 14;
const grpcError = (code: number) => Object.assign(new Error('grpc'), { code, details: 'no', metadata: {} });
const gone = new WorkflowNotFoundError('no such workflow', 'fox', undefined);

const VIDEO = { uri: 'file:///videos/fox.mp4', bytes: 5, sha256: 'aa', contentType: 'video/mp4' };
const FRAME = {
  uri: 'file:///fox.png',
  bytes: 5,
  sha256: 'bb',
  contentType: 'image/png',
  width: 1,
  height: 1,
};

interface Known {
  type?: string;
  status?: string;
  result?: unknown;
}

/** What Temporal says of the job `fox`. */
const temporalSaying = (known: Known | Error) => ({
  workflow: {
    getHandle: (workflowId: string) => ({
      describe: async () => {
        if (known instanceof Error) throw known;
        if (workflowId !== 'fox') throw gone;
        return { type: known.type ?? WORKFLOW_TYPE, status: { name: known.status ?? 'COMPLETED' } };
      },
      result: async () => Object(known).result,
    }),
  },
});

const find = (known: Known | Error, used: VideoStorage = storage): Promise<FinishedJob> =>
  startAttempt(() => findFinishedJob(used, 'fox'), undefined, {}, [], temporalSaying(known)).result;

/** Records under the name `fox`, one for each request. */
async function onRecord(...records: JobRecord[]): Promise<void> {
  for (const [seed, record] of records.entries()) {
    const named = { namespace: 'test', job: 'fox' };
    const request = { prompt: 'A red fox', seed };
    const key = recordKey('fox', recordId(digestOfJob(named, request)));
    await writeRecord(storage, key, { ...named, request, ...record });
  }
}
const STORED: StoredRecord = {
  state: 'stored',
  taskId: 'task-1',
  key: 'fox.mp4',
  video: VIDEO,
  warnings: [],
};

describe('the job that another one continues from', () => {
  test('has its video and its last frame in its result', async () => {
    const result = { video: { ...VIDEO, width: 64 }, extras: { 'last-frame': FRAME } };
    expect(await find({ result })).toEqual({ video: VIDEO, lastFrame: FRAME });
    expect(await find({ result: { video: VIDEO, extras: { poster: FRAME } } })).toEqual({ video: VIDEO });
  });

  test.each([
    ['RUNNING', 'fox has not finished: wait for its video, then continue from it'],
    ['FAILED', 'fox has no video to continue from: it ended as FAILED'],
  ])('has no video while it is %s', async (status, message) => {
    await expect(find({ status, result: { video: VIDEO } })).rejects.toThrow(message);
  });

  test('is a video job', async () => {
    await expect(find({ type: 'other', result: { video: VIDEO } })).rejects.toThrow(
      'fox is not a video job, so nothing can be continued from it',
    );
  });

  test.each(['uri', 'bytes', 'sha256', 'contentType'])(
    'is not one of another program, whose result has no %s',
    async (field) => {
      await expect(find({ result: { video: { ...VIDEO, [field]: undefined } } })).rejects.toThrow(
        'there is no job fox to continue from',
      );
    },
  );

  test('may have expired', async () => {
    const until = (expiresAt: string) => ({ result: { video: { ...VIDEO, expiresAt } } });
    await expect(find(until('2020-01-01T00:00:00.000Z'))).rejects.toMatchObject({
      message: 'The video of fox has expired: it was kept until 2020-01-01T00:00:00.000Z',
    });
    await expect(find(until('9020-01-01T00:00:00.000Z'))).resolves.toMatchObject({ video: VIDEO });
  });
});

describe('a job that Temporal no longer knows', () => {
  test.each([
    ['by the error of the client', gone],
    ['by that of the server', grpcError(NOT_FOUND)],
  ])('has its video on record, %s', async (_what, unknown) => {
    await onRecord({ ...STORED, extras: { 'last-frame': FRAME } }, { state: 'refused', keySent: true });
    expect(await find(unknown)).toEqual({ video: VIDEO, lastFrame: FRAME });
  });

  test('may have no last frame on record', async () => {
    await onRecord(STORED);
    expect(await find(gone)).toEqual({ video: VIDEO });
  });

  test('is looked for only if Temporal said that it does not know it', async () => {
    await onRecord(STORED);
    await expect(find(grpcError(UNAVAILABLE))).rejects.toThrow('grpc');
    await expect(find(new Error('no route'))).rejects.toThrow('no route');
  });

  test.each<[string, JobRecord[], string]>([
    ['there is none', [], 'there is no job fox to continue from'],
    ['it is being sent', [{ state: 'sending', send: 's', sender: 'x', at: '' }], 'fox has not finished'],
    ['its task is running', [{ state: 'submitted', taskId: 't' }], 'fox has not finished'],
    [
      'one of its name is running',
      [
        { state: 'submitted', taskId: 't' },
        { state: 'refused', keySent: true },
      ],
      'fox has not finished',
    ],
    [
      'it was refused',
      [{ state: 'refused', keySent: true }],
      'fox has no video in the storage of the worker',
    ],
    ['several have a video', [STORED, STORED], 'fox is the name of several jobs with a video'],
  ])('is refused with a reason when %s', async (_what, records, reason) => {
    await onRecord(...records);
    await expect(find(gone)).rejects.toThrow(reason);
  });

  test('is unknown to a storage that cannot list its files', async () => {
    await onRecord(STORED);
    const { read, write, receive } = storage;
    await expect(find(gone, { read, write, receive })).rejects.toThrow('there is no job fox');
  });
});

describe('the last frame', () => {
  const service = { address: 'http://localhost' } as never;
  const request = { prompt: 'It looks up', image_url: lastFrameUrl('fox') };
  let reported: unknown[];
  beforeEach(() => {
    reported = [];
  });
  const take = (
    known: Known | Error,
    more: Partial<TakeLastFrameInput> = {},
    deps: Partial<TakeLastFrameDeps> = {},
  ) => {
    const takeLastFrame = createTakeLastFrame({
      find: createFindTools(new ServiceDirectory({ service }), storage),
      storage,
      ...deps,
    });
    const input = { from: 'fox', job: 'next', request, ...more };
    return startAttempt(takeLastFrame, input, {}, reported, temporalSaying(known));
  };
  const jobWithFrame = async (sha256 = sha256Of(PNG)) => {
    const { uri } = await storage.write('fox.last-frame.png', PNG, 'image/png');
    return { result: { video: VIDEO, extras: { 'last-frame': { ...FRAME, uri, sha256 } } } };
  };
  const NEXT = { namespace: 'test', job: 'next' };
  const NEXT_KEY = recordKey('next', recordId(digestOfJob(NEXT, request)));
  const recordNext = (record: JobRecord, image_url?: string) =>
    writeRecord(storage, NEXT_KEY, { ...NEXT, request: { ...request, image_url }, ...record });
  const REFUSED = { state: 'refused', keySent: true } as const;

  test('of a job that stored it is taken from there, without ffmpeg', async () => {
    const { image } = await take(await jobWithFrame()).result;
    const reference = parseImageReference(String(image));
    expect(reference?.owner).toBe(LAST_FRAME_OWNER);
    expect(reference && (await hasImage(storage, reference))).toBe(true);
    expect(eventsIn(reported)).toMatchObject([{ event: 'lastFrameTaken', job: 'next', from: 'fox', image }]);
  });

  test('that is another file now is made again, which needs ffmpeg', async () => {
    const { failure, details } = await failureOf(take(await jobWithFrame('other')));
    expect([failure.type, failure.nonRetryable]).toEqual(['InvalidRequest', true]);
    expect(details.message).toContain('the worker has no ffmpeg');
    expect(details.advice).toContain('Nothing was paid for.');
  });

  test('of a job that stored none is decoded from its video, in the folder of the work', async () => {
    const { uri } = await storage.write('fox.mp4', 'a film of a red fox', 'video/mp4');
    const [ffmpeg, frame] = [join(folder, 'ffmpeg'), join(folder, 'frame')];
    await writeFile(frame, PNG);
    const script = `case $PWD in */videogen-extras-*) ;; *) exit 1;; esac; echo 0; cat '${frame}' >&3`;
    await writeFile(ffmpeg, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const known = { result: { video: { ...VIDEO, uri } } };
    const { image } = await take(known, {}, { ffmpeg }).result;
    expect(image).toBe(checkImage(PNG, LAST_FRAME_OWNER).url);
  });

  test.each<[string, Known, Partial<TakeLastFrameDeps>, string]>([
    ['its worker cannot decode', { result: { video: VIDEO } }, {}, 'the worker has no ffmpeg: install it'],
    [
      'its video is gone',
      { result: { video: VIDEO } },
      { ffmpeg: 'ffmpeg' },
      'nothing can be continued from fox: the video is no longer in the storage',
    ],
  ])('is refused with a reason when %s', async (_what, known, deps, reason) => {
    const { failure, details } = await failureOf(take(known, {}, deps));
    expect(failure.type).toBe('InvalidRequest');
    expect(details.message?.startsWith(reason)).toBe(true);
  });

  test('that cannot be decoded is refused with what ffmpeg said', async () => {
    const { uri } = await storage.write('fox.mp4', 'a film of a red fox', 'video/mp4');
    const known = { result: { video: { ...VIDEO, uri } } };
    const { failure, details } = await failureOf(take(known, {}, { ffmpeg: join(folder, 'no-ffmpeg') }));
    expect(failure.type).toBe('InvalidRequest');
    expect(details.message).toMatch(/^the last frame of fox was not made: ./);
  });

  test('that is stored and no picture is refused', async () => {
    const text = Buffer.from('no picture');
    const { uri } = await storage.write('fox.last-frame.png', text, 'image/png');
    const extras = { 'last-frame': { ...FRAME, uri, sha256: sha256Of(text) } };
    const { failure, details } = await failureOf(take({ result: { video: VIDEO, extras } }));
    expect(failure.type).toBe('InvalidRequest');
    expect(details.message).toMatch(/^the last frame of fox (?!was not made)./);
  });

  test('is made again where the storage opens no files', async () => {
    const known = await jobWithFrame();
    const closed = { ...storage, open: undefined as never };
    const { details } = await failureOf(take(known, {}, { storage: closed }));
    expect(details.message).toContain('the worker has no ffmpeg');
  });

  test('of a cancelled attempt is no refusal', async () => {
    const attempt = take(gone);
    attempt.cancel();
    await expect(attempt.result).rejects.toThrow(CancelledFailure);
  });

  test('that was sent before is sent again: its key must not come with another one', async () => {
    const { image } = await take(await jobWithFrame()).result;
    await recordNext(REFUSED, image);
    expect(await take(gone).result).toEqual({ image });
  });

  test.each([
    ['a link of the caller', 'https://example.com/fox.png'],
    ['an image that somebody uploaded', `videogen-image:web/${'0'.repeat(64)}.png`],
    ['a frame that is gone', `videogen-image:_frames/${'0'.repeat(64)}.png`],
    ['nothing', undefined],
  ])('is taken anew when the record has %s', async (_what, image_url) => {
    await recordNext(REFUSED, image_url);
    expect((await take(await jobWithFrame()).result).image).toMatch(/^videogen-image:_frames\//);
  });

  test('is taken anew when the record has no request', async () => {
    await writeRecord(storage, NEXT_KEY, { ...NEXT, ...REFUSED });
    expect((await take(await jobWithFrame()).result).image).toMatch(/^videogen-image:_frames\//);
  });

  test.each<[string, JobRecord]>([
    ['has a task', { state: 'submitted', taskId: 'task-1' }],
    ['may have one', { ...REFUSED, lostSubmit: 'it was cut' }],
  ])('is not needed by a job that %s: its submit finds it', async (_what, record) => {
    await recordNext(record);
    expect(await take(gone).result).toEqual({});
    const decided = await failureOf(take(gone, { resubmits: true }));
    expect(decided.details.message).toBe('there is no job fox to continue from');
  });

  test('is needed by a job that paid for nothing', async () => {
    await recordNext(REFUSED);
    expect((await failureOf(take(gone))).failure.type).toBe('InvalidRequest');
  });

  test('of a job that cannot have that name is refused', async () => {
    const { failure, details } = await failureOf(take(gone, { from: '' }));
    expect(failure.type).toBe('InvalidRequest');
    expect(details.message).toMatch(/^continueFrom /);
  });

  test('of a wrong request is left to the submit, which says what is wrong', async () => {
    expect(await take(gone, { request: { prompt: 5 } as never }).result).toEqual({});
  });

  test('is tried again when the storage or Temporal fails', async () => {
    await expect(take(grpcError(UNAVAILABLE)).result).rejects.toThrow(/^grpc$/);
    await recordNext({ state: 'submitted', taskId: 'task-1' });
    await expect(take(grpcError(UNAVAILABLE)).result).rejects.toThrow(/^grpc$/);
  });
});
