export { batchProgress, generateVideos } from './batch/generate-videos';
export { generateVideoWithFallback } from './fallback';
export { generateVideo } from './generate-video';
export { keepLedger, ledgerCounts } from './ledger';
export { decideSubmit, pollNow, progress, waitForTask } from './messages';
export { deliverWebhook } from './notify';
