export { batchProgress, decideItem } from './batch-messages';
export { generateVideo } from './generate-video';
export { generateVideos } from './generate-videos';
export { decideSubmit, lookNow, progress, waitForTask } from './messages';
