export { batchProgress, decideItem } from './batch/batch-messages';
export { generateVideos } from './batch/generate-videos';
export { deliverWebhook } from './deliver-webhook';
export { generateVideo } from './generate-video';
export { keepLedger, ledgerCounts } from './keep-ledger';
export { decideSubmit, pollNow, progress, waitForTask } from './messages';
