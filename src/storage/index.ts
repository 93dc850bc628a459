export { fileName } from '../contract/digest';
export {
  createStorage,
  type StorageConfig,
  storageAddress,
} from './create-storage';
export { type Appended, DamagedEntry, EntryLog } from './entry-log';
export { createFileStorage } from './file-storage';
export { IMAGE_LINK_PATH, ImageLinks, readLinkedImage } from './image-links';
export {
  BadImage,
  type CheckedImage,
  checkImage,
  hasImage,
  storeImage,
  tooLarge,
} from './images';
export { isStored } from './is-stored';
export {
  digestOfJob,
  type JobEntry,
  type JobName,
  JobRecord,
  NO_TASK,
  type NoTask,
  RECORD_FOLDER,
  type RecordedJob,
  readRecordAt,
  recordId,
  recordIds,
  recordOfKey,
  recordsOf,
  type StoredEntry,
} from './job-record';
export { createPart, isPartName, partsFolderOf, sweepParts } from './part-files';
export type { S3Connection, S3Credentials } from './s3-connection';
export { createS3Storage, readS3Uri, type S3StorageOptions } from './s3-storage';
export { inTime, readSmallFile, readSmallText, writeSmallJson } from './small-files';
export {
  type ByteRange,
  canRemove,
  type FileToPublish,
  type LinkValidity,
  type ListedFile,
  type RemovingStorage,
  type VideoStorage,
} from './storage';
export {
  asStorageFault,
  StorageFault,
  type StorageFaultOptions,
  StorageUnusable,
  storageFault,
} from './storage-fault';
export { ANOTHER_FOLDER } from './storage-fixes';
export {
  type Claim,
  claimTask,
  type TaskClaim,
  type TaskName,
  type TaskOwner,
} from './task-claims';
