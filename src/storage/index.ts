export { createStorage, type StorageConfig, storageAddress } from './create-storage';
export { createFileStorage } from './file-storage';
export type { S3Connection, S3Credentials } from './s3-connection';
export { createS3Storage, readS3Uri, type S3StorageOptions } from './s3-storage';
export {
  type IncomingVideo,
  type ReceiveOptions,
  StorageFault,
  type StorageFaultOptions,
  type VideoStorage,
  type WholeVideo,
} from './storage';
export { asStorageFault, storageFault } from './storage-fault';
export { ANOTHER_FOLDER } from './storage-fixes';
export { StorageUnusable } from './storage-unusable';
