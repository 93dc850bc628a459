import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ServiceError } from '@temporalio/client';
import { type ModelJobOptions, videoModel } from '../../src/ai-sdk';
import type { AiSdkCallOptions } from '../../src/ai-sdk/video-model-types';
import { TemporalUnreachable } from '../../src/client/refusals';
import type { VideoClient } from '../../src/client/video-client';
import { readFailure, VideoFailure } from '../../src/contract/video-failure';
import { createFileStorage, StorageFault } from '../../src/storage';
import { HTML, PNG, sha256Of } from '../support/images';
import { callOf } from './model-call';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Call = Partial<AiSdkCallOptions> & { webhookUrl?: string };

/** A client whose jobs start at once, and that remembers what it was asked for. */
function clientOf(parts: object = {}) {
  const started: { input: object; workflowId: string }[] = [];
  const start = async (input: object, { workflowId }: { workflowId: string }) => {
    started.push({ input, workflowId });
    return { workflowId };
  };
  return { client: { start, ...parts } as unknown as VideoClient, started };
}

async function started(
  given: Call = {},
  options: { job?: Omit<ModelJobOptions, 'name'>; scope?: string } = {},
) {
  const { client, started: jobs } = clientOf();
  const model = videoModel({ client, storage: createFileStorage(folder), ...options });
  const { operation, warnings } = await model.doStart(callOf(given));
  return { operation, warnings, input: jobs[0]?.input };
}

const videogen = (options: object): Call => ({ providerOptions: { videogen: options } });
const nameOf = async (given: Call = {}) => (await started(given)).operation;

describe('the name of a call', () => {
  test('is the same for the same call, however its options are written down', async () => {
    const one = {
      deadline: '2h',
      polling: { min: '1s', max: '5s' },
      request: { style: 'noir', mood: 'dark' },
    };
    const two = {
      request: { mood: 'dark', style: 'noir' },
      polling: { max: '5s', min: '1s' },
      deadline: '2h',
    };
    expect(await nameOf(videogen(two))).toBe(await nameOf(videogen(one)));
  });

  test('stays the same in every release, so that a call that is repeated after an update pays once', async () => {
    const call = { ...videogen({ deadline: '2h' }), duration: 5, resolution: '1280x720' };
    expect(await nameOf(call)).toBe('ai-sdk-dce4259036c224036d6aca1256491d5c');
  });

  test.each<[string, Call]>([
    ['prompt', { prompt: 'A grey fox' }],
    ['option of the job', videogen({ storage: 'foxes/' })],
    ['field for the service', videogen({ request: { style: 'noir' } })],
    ['Idempotency-Key of the caller', { headers: { 'Idempotency-Key': 'order-17' } }],
  ])('differs with another %s', async (_what, given) => {
    expect(await nameOf(given)).not.toBe(await nameOf());
  });

  test('ignores options of other providers, an empty key, and the key that ai makes anew for each start', async () => {
    expect(await nameOf({ providerOptions: { fal: { loop: true } } })).toBe(await nameOf());
    for (const key of ['', 'aisdk_vid_f3Xk9'])
      expect(await nameOf({ headers: { 'idempotency-key': key, 'user-agent': 'ai/7' } })).toBe(
        await nameOf(),
      );
  });

  test('is made of the key of the caller alone, if there is one', async () => {
    const headers = { 'Idempotency-Key': 'order-17' };
    const other = { ...videogen({ deadline: '2h' }), headers };
    expect(await nameOf(other)).toBe(await nameOf({ headers }));
  });

  test('begins with the scope of the model, also if the caller gives it', async () => {
    const inShop = async (given?: Call) => (await started(given, { scope: 'shop-' })).operation;
    expect(await inShop()).toBe((await nameOf()).replace(/^ai-sdk-/, 'shop-'));
    expect(await inShop(videogen({ name: 'order-17' }))).toBe('shop-order-17');
    expect(await inShop(videogen({ name: 'shop-order-17' }))).toBe('shop-order-17');
    expect(() => videoModel({ scope: '' })).toThrow(/scope must be text of 1 to 100 characters/);
  });
});

test('options of a call go before those of the model, and fields for the service are put together', async () => {
  const job = { deadline: '1h', holdFor: '30d', request: { style: 'noir', mood: 'dark' } } as const;
  const providerOptions = { videogen: { deadline: '2h', request: { mood: 'bright' } } };
  const { input } = await started({ providerOptions, webhookUrl: 'https://example.com/done' }, { job });
  expect(input).toEqual({
    request: { prompt: 'A red fox', style: 'noir', mood: 'bright' },
    deadline: '2h',
    holdFor: '30d',
    callbackUrl: 'https://example.com/done',
  });
});

test.each<[Call, RegExp]>([
  [videogen({ deadlin: '2h' }), /"deadlin": not a field of a job; the fields are .*deadline/],
  [videogen({ deadline: 'soon' }), /deadline must be milliseconds or a duration/],
  [videogen({ name: 7 }), /name must be text/],
  [{ n: 2 }, /n is 2, and the same call is the same job: make one call for each video/],
  [{ duration: 12 }, /duration must be at most 10/],
  [{ resolution: '1300x700' }, /resolution must be one of 854x480, /],
])('a call with %j is refused', async (given, sentence) => {
  await expect(started(given)).rejects.toThrow(sentence);
});

test.each<[Call, object]>([
  [
    { aspectRatio: '9:16', duration: 5, seed: 7 },
    { aspect_ratio: '9:16', duration: 5, seed: 7 },
  ],
  [
    { resolution: '1280x720', aspectRatio: '9:16' },
    { resolution: '720p', aspect_ratio: '9:16' },
  ],
  [{ image: { type: 'url', url: 'https://a.example/fox.png' } }, { image_url: 'https://a.example/fox.png' }],
])('a call with %j asks for %j, without a warning', async (given, fields) => {
  const { input, warnings } = await started(given);
  expect([input, warnings]).toEqual([{ request: { prompt: 'A red fox', ...fields } }, []]);
});

const image = { type: 'url', url: 'https://example.com/fox.png' } as const;

test.each<[feature: string, given: Call]>([
  ['fps', { fps: 24 }],
  ['generateAudio', { generateAudio: false }],
  ['frameImages', { frameImages: [{ image, frameType: 'last_frame' }] }],
  ['inputReferences', { inputReferences: [image] }],
])('%s, which the interface has no field for, is a warning', async (feature, given) => {
  const { input, warnings } = await started(given);
  expect(input).toEqual({ request: { prompt: 'A red fox' } });
  const details = expect.stringContaining('providerOptions.videogen.request');
  expect(warnings).toEqual([{ type: 'unsupported', feature, details }]);
});

test.each<[string, string | Uint8Array]>([
  ['bytes', new Uint8Array(PNG)],
  ['base64', PNG.toString('base64')],
])('an image as %s is stored, and the job has only its name', async (_how, data) => {
  const { input } = await started({ image: { type: 'file', mediaType: 'image/png', data } });
  expect(input).toMatchObject({ request: { image_url: `videogen-image:_ai_sdk/${sha256Of(PNG)}.png` } });
});

test('an image that is a web page is refused', async () => {
  const image = { type: 'file', mediaType: 'image/png', data: HTML } as const;
  await expect(started({ image })).rejects.toThrow(/the image is not a PNG/);
});

describe('a finished video', () => {
  const CONTENT = Buffer.from('not a real video, but its bytes');

  /** What the model hands over for a job that stored these bytes. */
  async function delivered(content: string | Buffer, facts: object = {}) {
    const file = join(folder, 'fox.mp4');
    await writeFile(file, content);
    const video = {
      uri: pathToFileURL(file).href,
      bytes: CONTENT.length,
      sha256: sha256Of(CONTENT),
      contentType: 'video/mp4',
      ...facts,
    };
    const { client } = clientOf({
      find: async () => ({ kind: 'job', endedAt: 'now' }),
      handle: () => ({ result: async () => ({ video, warnings: [] }) }),
    });
    return videoModel({ client, storage: createFileStorage(folder) }).doStatus({ operation: 'ai-sdk-1' });
  }

  test.each([
    ['longer', `${CONTENT} and more`],
    ['another', CONTENT.toString().toUpperCase()],
  ])('whose file has become %s is not handed over', async (_how, content) => {
    await expect(delivered(content)).rejects.toMatchObject({
      isRetryable: false,
      message: expect.stringMatching(/^The file file:.*fox[.]mp4 is no longer the video of the job/),
    });
  });

  test.each([
    [{ uri: 's3://films/fox.mp4' }, /stored at s3:.*, which this process cannot read: set VIDEOGEN_STORAGE/],
    [
      { bytes: 1e12 },
      /fox[.]mp4 has 1000000000000 bytes, .*: fetch it with `videogen generate --id NAME --out FILE`/,
    ],
  ])('with %j says where it is and what to do', async (facts, sentence) => {
    await expect(delivered(CONTENT, facts)).rejects.toThrow(sentence);
  });
});

describe('an error of a call', () => {
  const errorOf = (cause: unknown) => {
    const { client } = clientOf({ start: () => Promise.reject(cause) });
    return videoModel({ client })
      .doStart(callOf())
      .catch((error: unknown) => error);
  };
  const unavailable = new ServiceError('Failed', {
    cause: Object.assign(new Error('14 UNAVAILABLE'), { code: 14, details: 'no', metadata: {} }),
  });

  test.each<[Error, isRetryable: boolean, message: RegExp]>([
    [new TemporalUnreachable('Temporal cannot be reached'), true, /cannot be reached/],
    [unavailable, true, /^Temporal does not answer. Nothing is lost/],
    [new StorageFault('EIO'), true, /storage of the videos does not answer: EIO[.]/],
    [new StorageFault('denied', { isFinal: true }), false, /denied/],
  ])(
    '%s is one of the AI SDK that says whether the call may be repeated',
    async (cause, isRetryable, words) => {
      expect(await errorOf(cause)).toMatchObject({
        name: 'AI_APICallError',
        [Symbol.for('vercel.ai.error.AI_APICallError')]: true,
        isRetryable,
        message: expect.stringMatching(words),
        cause,
      });
    },
  );

  test('that is a failed job has its type, its task and the status for a web service', async () => {
    const failure = new VideoFailure('ContentRefused', { taskId: 'task_1' });
    const error = await errorOf(failure);
    expect(error).toMatchObject({
      isRetryable: false,
      message: failure.message,
      statusCode: 451,
      data: { type: 'ContentRefused', taskId: 'task_1', advice: failure.advice },
    });
    expect(readFailure(error)).toBe(failure);
  });

  test('that is a bug stays as it is, so that nothing repeats it', async () => {
    const bug = new TypeError('x is undefined');
    expect(await errorOf(bug)).toBe(bug);
  });
});
