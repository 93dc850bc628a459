export { batchProgress, generateVideos } from './batch/generate-videos';
export { deliverWebhook } from './deliver-webhook';
export { generateVideoWithFallback } from './fallback';
export { generateVideo } from './generate-video';
export { keepLedger, ledgerCounts } from './keep-ledger';
export { decideSubmit, pollNow, progress, waitForTask } from './messages';
