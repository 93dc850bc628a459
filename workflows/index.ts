export { generateVideo } from './generate-video';
export { decideSubmit, lookNow, progress, waitForTask } from './messages';
