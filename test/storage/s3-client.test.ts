import { createS3Storage, StorageFault } from '../../src/storage';
import { startScriptedS3 } from './scripted-s3';

const CONNECTION = {
  bucket: 'videos',
  region: 'eu-central-1',
  credentials: { accessKeyId: 'tester', secretAccessKey: 'short' },
};

it.each(['@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@aws-sdk/s3-request-presigner'])(
  'without %s the error says what to install',
  async (missing) => {
    jest.doMock(missing, () => {
      throw Object.assign(new Error(`Cannot find module '${missing}'`), { code: 'MODULE_NOT_FOUND' });
    });
    try {
      const reading = createS3Storage(CONNECTION).read('fox.mp4');
      await expect(reading).rejects.toThrow(StorageFault);
      await expect(reading).rejects.toThrow(
        'the AWS SDK, which stores videos in S3, is not installed: run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner`',
      );
    } finally {
      jest.dontMock(missing);
    }
  },
);

it('an SDK that cannot be loaded for another reason says that reason', async () => {
  jest.doMock('@aws-sdk/lib-storage', () => {
    throw new SyntaxError('Unexpected token');
  });
  try {
    await expect(createS3Storage(CONNECTION).read('fox.mp4')).rejects.toThrow('Unexpected token');
  } finally {
    jest.dontMock('@aws-sdk/lib-storage');
  }
});

it.each([
  [undefined, true, 'https://s3.eu-central-1.amazonaws.com/videos/a%20fox.mp4?'],
  [undefined, undefined, 'https://videos.s3.eu-central-1.amazonaws.com/a%20fox.mp4?'],
  ['http://127.0.0.1:9000', true, 'http://127.0.0.1:9000/videos/a%20fox.mp4?'],
])('a link has the address that the client would call: %s', async (endpoint, pathStyle, start) => {
  const storage = createS3Storage({ ...CONNECTION, endpoint, pathStyle });
  const validity = { from: new Date(Date.UTC(2026, 10, 16)), seconds: 60 };
  const link = new URL((await storage.link?.('a fox.mp4', validity)) ?? '');
  expect(link.href.startsWith(start)).toBe(true);
  const { searchParams } = link;
  expect(searchParams.get('X-Amz-Date')).toBe('20261116T000000Z');
  expect(searchParams.get('X-Amz-Expires')).toBe('60');
  // Services that follow the link send no other header.
  expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host');
});

it('256 videos that nobody reads keep neither records nor each other waiting', async () => {
  const body = 'x'.repeat(1024 * 1024);
  const s3 = await startScriptedS3((call) => (call.includes('fox.mp4') ? { body } : undefined));
  try {
    const storage = s3.storage();
    const unread = await Promise.all(Array.from({ length: 256 }, () => storage.read('fox.mp4')));
    await storage.write('record.json', '{}', 'application/json');
    for (const stream of unread) stream?.destroy();
  } finally {
    await s3.stop();
  }
});
