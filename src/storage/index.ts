export { createFileStorage } from './file-storage';
export { type Saved, type SaveOptions, StorageFault, type VideoStorage } from './storage';
