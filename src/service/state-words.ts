import type { TaskState } from '../contract/job';

export type NamedState = Exclude<TaskState, 'unknown'>;

// `expired` and `moderated` are failures to us; the reading keeps the service's word, which gives the reason.
const WORDS = {
  queued: [
    ...['queued', 'queueing', 'queuing', 'in_queue', 'pending', 'submitted', 'created', 'waiting', 'wait'],
    ...['preparing', 'starting', 'throttled', 'not_start', 'staged', 'accepted'],
  ],
  running: ['running', 'processing', 'in_progress', 'generating', 'dreaming', 'started', 'rendering'],
  succeeded: ['succeeded', 'succeed', 'success', 'completed', 'complete', 'done', 'finished', 'ready', 'ok'],
  failed: [
    ...['failed', 'fail', 'failure', 'error', 'rejected', 'nsfw', 'moderated', 'content_moderated'],
    ...['timeout', 'timed_out', 'expired'],
  ],
  cancelled: ['cancelled', 'canceled', 'cancel', 'aborted', 'deleted'],
} satisfies Record<NamedState, readonly string[]>;

// Separators are dropped rather than unified, so that `InProgress` is read as `in_progress` is.
export const foldWord = (word: string) => word.toLowerCase().replace(/[-_\s]/g, '');

// A Map, because the word comes from outside: `constructor` must not find anything.
const STATE_OF = new Map<string, NamedState>(
  (Object.keys(WORDS) as NamedState[]).flatMap((state) =>
    WORDS[state].map((word) => [foldWord(word), state]),
  ),
);

export function stateOfWord(word: string): NamedState | undefined {
  return STATE_OF.get(foldWord(word));
}

/** Gateways wrap every answer in one of these: they may mean that the call worked, not that the video exists. */
export function isEnvelopeWord(word: string): boolean {
  return ['success', 'ok'].includes(foldWord(word));
}

/** These as well: they mean that the call failed, and `failed` that the task did. */
const FAILED_CALL_WORDS = ['error', 'fail', 'failure'];

/** Whether a word tells the state of a task, and not merely how the call went. */
export function isTaskWord(word: string, stateOf: (word: string) => NamedState | undefined): boolean {
  return stateOf(word) !== undefined && !isEnvelopeWord(word) && !isFailedCallWord(word);
}

export function isFailedCallWord(word: string): boolean {
  return FAILED_CALL_WORDS.includes(foldWord(word));
}
