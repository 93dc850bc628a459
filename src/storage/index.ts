export { createStorage, type StorageConfig, storageAddress } from './create-storage';
export { fileName } from './file-name';
export { createFileStorage } from './file-storage';
export { IMAGE_LINK_PATH, ImageLinks, readLinkedImage } from './image-links';
export {
  BadImage,
  bytesUpTo,
  type CheckedImage,
  checkImage,
  hasImage,
  readUpTo,
  storeImage,
  storeOnce,
  tooLarge,
} from './images';
export { isStored } from './is-stored';
export type { S3Connection, S3Credentials } from './s3-connection';
export { createS3Storage, readS3Uri, type S3StorageOptions } from './s3-storage';
export { inTime, readSmallFile, readSmallText, writeSmallJson } from './small-files';
export type {
  ByteRange,
  IncomingVideo,
  LinkValidity,
  ListedFile,
  PublishedVideo,
  ReceiveOptions,
  VideoStorage,
  WholeVideo,
} from './storage';
export {
  asStorageFault,
  StorageFault,
  type StorageFaultOptions,
  StorageUnusable,
  storageFault,
} from './storage-fault';
export { ANOTHER_FOLDER } from './storage-fixes';
