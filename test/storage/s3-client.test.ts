import { StorageFault } from '../../src/storage';
import { loadS3Sdk } from '../../src/storage/s3-client';

it.each(['@aws-sdk/client-s3', '@aws-sdk/lib-storage'])(
  'without %s the error says what to install',
  async (missing) => {
    jest.doMock(missing, () => {
      throw Object.assign(new Error(`Cannot find module '${missing}'`), { code: 'MODULE_NOT_FOUND' });
    });
    try {
      const loading = loadS3Sdk();
      await expect(loading).rejects.toThrow(StorageFault);
      await expect(loading).rejects.toThrow(
        'the AWS SDK, which stores videos in S3, is not installed: run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`',
      );
    } finally {
      jest.dontMock(missing);
    }
  },
);
