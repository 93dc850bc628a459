import { createFileStorage } from './file-storage';
import { createS3Storage, type S3StorageOptions } from './s3-storage';
import type { VideoStorage } from './storage';

/** Where videos go, as the settings say it. */
export type StorageConfig = { kind: 'file'; folder: string } | ({ kind: 's3' } & S3StorageOptions);

export function createStorage(config: StorageConfig): VideoStorage {
  return config.kind === 'file' ? createFileStorage(config.folder) : createS3Storage(config);
}
