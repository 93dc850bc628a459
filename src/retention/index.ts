export { type DueVideo, expiryOf } from './due-marks';
export { type ExpiredVideos, expireVideos } from './expire-videos';
export {
  digestOfJob,
  type JobName,
  type JobRecord,
  readRecord,
  recordId,
  recordKey,
  type StoredRecord,
  writeRecord,
} from './job-records';
export { keepForGood, keepUntil, shareVideo } from './keep-video';
export { type Removal, removeVideo } from './remove-video';
export { canRemove, type RemovingStorage } from './removing-storage';
