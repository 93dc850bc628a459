export { generateVideo } from './generate-video';
export { lookNow, progress, waitForTask } from './messages';
