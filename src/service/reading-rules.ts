import type { RefusedContent } from '../contract/failure-details';
import type { TaskState } from '../contract/job';

/** How the answers of one service are read. */
export interface ReadingRules {
  paths: AnswerPaths;
  stateOf: (word: string) => NamedState | undefined;
  /** Whether the profile itself says what the word means. */
  isOwnWord?: (word: string) => boolean;
  /** What the profile says about refused content. */
  content: readonly ContentRule[];
}

/** Answers that mean that content was refused: those that have all of what the rule names. */
export interface ContentRule {
  /** Exact codes, or their beginnings followed by `*`. */
  codes?: readonly string[];
  /** Words for the state, in the form of `normalizeWord`. */
  states?: readonly string[];
  /** A text in the message, in small letters. */
  says?: string;
  refused: RefusedContent;
}

/**
 * Where in an answer a value is: keys joined by dots, such as `data.videos[].url`. `[]` after a key takes every entry
 * of a list, or the value itself if it is not a list.
 */
export type AnswerPath = string;

/** Where a service may put each value, the most specific path first. */
export interface AnswerPaths {
  /** Objects that may hold the task. The whole answer is always tried first. */
  within: readonly AnswerPath[];
  taskId: readonly AnswerPath[];
  /** Paths of `taskId` that may also mean something else: ignored in a refusal. */
  vagueIds: readonly AnswerPath[];
  /** Paths of `taskId` that may only name the HTTP call: ignored next to an unknown error code. */
  callIds: readonly AnswerPath[];
  state: readonly AnswerPath[];
  done: readonly AnswerPath[];
  percent: readonly AnswerPath[];
  videoUrl: readonly AnswerPath[];
  error: readonly AnswerPath[];
  code: readonly AnswerPath[];
  /** A message is ignored when the value at its `codePath` means success. */
  message: readonly { path: AnswerPath; codePath?: AnswerPath }[];
  charged: readonly ChargedPath[];
}

/** Where an answer says what a task cost. */
export interface ChargedPath {
  path: AnswerPath;
  currency: string;
  /** How many of the units that the service counts in are one of the currency: 100 for cents. */
  divideBy?: number | undefined;
}

const CALL_IDS = ['request_id', 'requestId', 'name'];

const DEFAULT_PATHS: AnswerPaths = {
  within: ['data', 'task', 'output', 'result'],
  // Last, because `request_id` often names only the HTTP call.
  taskId: ['task_id', 'taskId', 'id', 'generation_id', 'job_id', 'video_id', ...CALL_IDS],
  vagueIds: ['id', ...CALL_IDS],
  callIds: CALL_IDS,
  state: ['status', 'state', 'task_status', 'taskStatus'],
  done: ['done'],
  percent: ['progress', 'progress_percent', 'percentage'],
  // Links to covers, thumbnails, watermarked copies, last frames and status pages are not listed, so they are never read.
  videoUrl: [
    ...['video_url', 'videoUrl', 'content.video_url', 'content.url', 'video.url', 'videos[].url'],
    ...['videos[].video_url', 'task_result.videos[].url', 'assets.video', 'output.video_url'],
    ...['output.videos[].url', 'output.url', 'output[]', 'outputs[]', 'results[]', 'resultUrls[]'],
    ...['resultJson.resultUrls[]', 'creations[].url', 'response.generatedVideos[].video.uri'],
    ...['response.generateVideoResponse.generatedSamples[].video.uri', 'result_url', 'download_url', 'url'],
  ],
  error: ['error'],
  code: [
    ...['error.code', 'error.type', 'code', 'err_code', 'ErrCode', 'failureCode', 'failCode'],
    'base_resp.status_code',
  ],
  message: [
    { path: 'error.message', codePath: 'error.code' },
    { path: 'error' },
    { path: 'errors[].message' },
    { path: 'message', codePath: 'code' },
    { path: 'msg', codePath: 'code' },
    { path: 'detail' },
    { path: 'detail[].msg' },
    { path: 'failure' },
    { path: 'failure_reason' },
    { path: 'failMsg' },
    { path: 'task_status_msg' },
    { path: 'ErrMsg', codePath: 'ErrCode' },
    { path: 'base_resp.status_msg', codePath: 'base_resp.status_code' },
  ],
  // Only names that say their unit. `cost` and `credits` may be anything: dollars, cents, what is left, an estimate.
  charged: [
    // xAI: ten billion ticks are a dollar.
    { path: 'usage.cost_in_usd_ticks', currency: 'USD', divideBy: 1e10 },
    { path: 'cost_usd', currency: 'USD' },
    { path: 'usage.cost_usd', currency: 'USD' },
    { path: 'credits_charged', currency: 'credits' },
    { path: 'credits_used', currency: 'credits' },
  ],
};

export type NamedState = Exclude<TaskState, 'unknown'>;

// `expired` and `moderated` count as failed; the reading also returns the service's word, which gives the reason.
const WORDS = {
  queued: [
    ...['queued', 'queueing', 'queuing', 'in_queue', 'pending', 'submitted', 'created', 'waiting', 'wait'],
    ...['preparing', 'starting', 'throttled', 'not_start', 'staged', 'accepted'],
  ],
  running: ['running', 'processing', 'in_progress', 'generating', 'dreaming', 'started', 'rendering'],
  succeeded: ['succeeded', 'succeed', 'success', 'completed', 'complete', 'done', 'finished', 'ready', 'ok'],
  failed: [
    ...['failed', 'fail', 'failure', 'error', 'rejected', 'nsfw', 'moderated', 'content_moderated'],
    ...['request_moderated', 'timeout', 'timed_out', 'expired'],
  ],
  cancelled: ['cancelled', 'canceled', 'cancel', 'aborted', 'deleted'],
} satisfies Record<NamedState, readonly string[]>;

/** Without separators, so that `InProgress` equals `in_progress`. */
export const normalizeWord = (word: string) => word.toLowerCase().replace(/[-_\s]/g, '');

// A Map, because the word comes from outside: `constructor` must not find anything.
const STATE_OF = new Map<string, NamedState>(
  (Object.keys(WORDS) as NamedState[]).flatMap((state) =>
    WORDS[state].map((word) => [normalizeWord(word), state]),
  ),
);

export function stateOfWord(word: string): NamedState | undefined {
  return STATE_OF.get(normalizeWord(word));
}

/** For a service without a profile. */
export const DEFAULT_RULES: ReadingRules = { paths: DEFAULT_PATHS, stateOf: stateOfWord, content: [] };

/** Gateways put these around any answer: the call worked, which does not mean that the video exists. */
export function isEnvelopeWord(word: string): boolean {
  return ['success', 'ok'].includes(normalizeWord(word));
}

/** Gateways put these around any answer too: the call failed, not the task. */
export function isFailedCallWord(word: string): boolean {
  return ['error', 'fail', 'failure'].includes(normalizeWord(word));
}

/** Failures of the call or of the task: they are the task's where the answer names it. */
export function mayBeOfCall(word: string): boolean {
  return isFailedCallWord(word) || ['timeout', 'timedout'].includes(normalizeWord(word));
}

/** Whether a word describes the task and not only the call. */
export function isTaskWord(word: string, stateOf: ReadingRules['stateOf']): boolean {
  return stateOf(word) !== undefined && !isEnvelopeWord(word) && !isFailedCallWord(word);
}
