import { createS3Storage, type S3StorageOptions } from '../../src/storage';

// Nothing listens there: names are made without a call.
const ENDPOINT = 'http://127.0.0.1:1';
const VALIDITY = { from: new Date(), seconds: 60 };

const storageWith = (options: Partial<S3StorageOptions> = {}) =>
  createS3Storage({
    bucket: 'videos',
    endpoint: ENDPOINT,
    region: 'us-east-1',
    pathStyle: true,
    credentials: { accessKeyId: 'tester', secretAccessKey: 'not-a-secret' },
    ...options,
  });

it('a video that a job names has no key where it would name another object', async () => {
  const keyOf = (uri: string, prefix?: string) => storageWith({ prefix }).keyOf?.(uri);
  expect(keyOf('s3://videos/a/fox.mp4')).toBe('a/fox.mp4');
  expect(keyOf('s3://videos/jobs/a/fox.mp4', 'jobs')).toBe('a/fox.mp4');
  for (const key of ['a/../fox.mp4', '../fox.mp4', 'a//fox.mp4', './fox.mp4', ''])
    expect([key, keyOf(`s3://videos/jobs/${key}`, 'jobs')]).toEqual([key, undefined]);
  expect(keyOf('s3://videos/../fox.mp4')).toBeUndefined();
  expect(keyOf('s3://videos/')).toBeUndefined();
});

it('every key is in the folder of the settings, whose slashes inside count and those around it do not', async () => {
  const storage = storageWith({ prefix: '//jobs/2026//' });
  const link = await storage.link?.('fox../x.txt', VALIDITY);
  expect(link).toContain(`${ENDPOINT}/videos/jobs/2026/fox../x.txt?`);
  expect(storage.keyOf?.('s3://videos/jobs/2026/fox../x.txt')).toBe('fox../x.txt');
});

it('a link is made without a call', async () => {
  const storage = storageWith({ prefix: 'jobs' });
  const link = `${ENDPOINT}/videos/jobs/fox.mp4?X-Amz-`;
  expect(await storage.link?.('fox.mp4', VALIDITY)).toContain(link);
});
