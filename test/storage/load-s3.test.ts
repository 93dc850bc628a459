import { StorageFault } from '../../src/storage';
import { loadS3 } from '../../src/storage/load-s3';

it.each(['@aws-sdk/client-s3', '@aws-sdk/lib-storage'])(
  'whoever lacks %s is told what to install',
  async (lacking) => {
    jest.doMock(lacking, () => {
      throw Object.assign(new Error(`Cannot find module '${lacking}'`), { code: 'MODULE_NOT_FOUND' });
    });
    try {
      const loading = loadS3();
      await expect(loading).rejects.toThrow(StorageFault);
      await expect(loading).rejects.toThrow(
        'the AWS SDK, which keeps videos in S3, is not installed: run `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage`',
      );
    } finally {
      jest.dontMock(lacking);
    }
  },
);
