import { type BatchInput, ON_FAILURE } from '../src/contract/batch';
import { BATCH_STORAGE_RULE, isBatchStorage, isWindow, WINDOW_RULE } from '../src/contract/batch-rules';
import { FILE_KEY_RULE, isFileKey } from '../src/contract/input-rules';
import { requestsSizeProblem } from '../src/contract/sizes';
import { checkInput, refused } from './check-input';

/** A batch may be started by any SDK, past every door that parses: what is wrong ends it with a sentence. */
export function checkBatchInput(input: BatchInput | null | undefined): void {
  if (input == null || (input.requests == null) === (input.requestsFrom == null)) {
    throw refused('a batch needs either requests or requestsFrom, and not both');
  }
  const { requests, requestsFrom, window, onFailure, ...options } = input;
  if (requests != null && !(Array.isArray(requests) && requests.length > 0)) {
    throw refused('requests must be a list with one request at least');
  }
  const tooLarge = requests == null ? undefined : requestsSizeProblem(requests);
  if (tooLarge !== undefined) throw refused(tooLarge);
  if (requestsFrom != null && !isFileKey(requestsFrom)) throw refused(`requestsFrom ${FILE_KEY_RULE}`);
  if (window != null && !isWindow(window)) throw refused(`window ${WINDOW_RULE}`);
  if (onFailure != null && !ON_FAILURE.includes(onFailure)) {
    throw refused(`onFailure must be one of ${ON_FAILURE.join(', ')}`);
  }
  if ('idempotencyKey' in options && options.idempotencyKey != null) {
    throw refused('idempotencyKey is for one job, and each item of a batch has its own');
  }
  checkInput({ ...options, taskId: 'any' });
  if (!isBatchStorage(options.storage)) throw refused(`storage ${BATCH_STORAGE_RULE}`);
}
