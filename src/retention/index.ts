export { type DueVideo, expiryOf, writeDue } from './due-marks';
export { type ExpiredVideos, expireVideos } from './expire-videos';
export {
  FORGOTTEN_PARTS,
  type ForgottenPart,
  type ForgottenParts,
  type FoundRecord,
  forgetFiles,
  forgetVideo,
  type JobToForget,
  type KeptPart,
  orStopped,
  recordKeys,
  recordsOf,
} from './forget-files';
export { forgetImage } from './forget-image';
export { ForgetStopped } from './forget-stopped';
export {
  DamagedRecord,
  digestOfJob,
  type JobName,
  type JobRecord,
  type JobRecordContent,
  RECORD_FOLDER,
  type RecordedFacts,
  readRecord,
  readRecordKey,
  recordId,
  recordKey,
  type StoredRecord,
  writeForgotten,
  writeRecord,
} from './job-records';
export { keepForGood, keepUntil, shareVideo } from './keep-video';
export { type Removal, removeVideo } from './remove-video';
export { canRemove, type RemovingStorage } from './removing-storage';
