import { isStorageKey } from './input-rules';

/** Rules of a batch's own fields that doors and workflow share. */

const WIDEST_WINDOW = 500;
export const DEFAULT_WINDOW = 20;

export const WINDOW_RULE = `must be a whole number from 1 to ${WIDEST_WINDOW}`;
export const BATCH_STORAGE_RULE =
  'must end with / or have {workflowId} or {taskId} in it, so that each video has a place of its own';

export function isWindow(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= WIDEST_WINDOW;
}

/** Of all items together: one key is for one video. */
export function isBatchStorage(storage: unknown): boolean {
  if (storage == null) return true;
  return isStorageKey(storage) && (storage.endsWith('/') || /\{(workflowId|taskId)\}/.test(storage));
}
