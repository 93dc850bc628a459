import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createFileStorage } from './file-storage';
import { createS3Storage, type S3StorageOptions } from './s3-storage';
import type { VideoStorage } from './storage';

export { fileName } from '../contract/digest';
export { isPartName, newPartName, replaceFile } from './disk-files';
export { DamagedEntry, EntryLog } from './entry-log';
export { createFileStorage } from './file-storage';
export * from './images';
export * from './job-record';
export { PartFile, sweepParts } from './part-file';
export { createS3Storage, type S3StorageOptions } from './s3-storage';
export * from './small-files';
export * from './storage';
export * from './storage-fault';
export * from './task-claims';

/** Where videos are stored, as the settings say. */
export type StorageConfig = { kind: 'file'; folder: string } | ({ kind: 's3' } & S3StorageOptions);

export function createStorage(config: StorageConfig): VideoStorage {
  return config.kind === 'file' ? createFileStorage(config.folder) : createS3Storage(config);
}

/** Names a storage: two settings that mean the same folder or bucket have the same address. */
export function storageAddress(config: StorageConfig): string {
  if (config.kind === 'file') return pathToFileURL(resolve(config.folder)).href;
  const { bucket, prefix, endpoint } = config;
  return `s3://${bucket}${prefix ? `/${prefix}` : ''}${endpoint === undefined ? '' : ` at ${endpoint}`}`;
}
