import { TASK_STATES, type TaskState } from '../contract/job';
import { chargedUnit, type ServiceProfile } from './profile';

/** How the answers of one service are read: where each value is, and what the service's words mean. */
export interface ReadingRules {
  paths: AnswerPaths;
  stateOf: (word: string) => NamedState | undefined;
  /** Whether the profile itself says what the word means. */
  isOwnWord: (word: string) => boolean;
  /** What the profile says about refused content. */
  content: NonNullable<NonNullable<ServiceProfile['refusals']>['content']>;
}

/**
 * Where in an answer a value is: keys joined by dots, such as `data.videos[].url`. `[]` after a key takes every entry
 * of a list, or the value itself if it is not a list.
 */
export type AnswerPath = string;

/** The values of an answer whose paths a profile can name, as `read` of a profile names them. */
export const READ_FIELDS = ['taskId', 'state', 'progress', 'video', 'code', 'message'] as const;
export type ReadField = (typeof READ_FIELDS)[number];

/** Where a service may put each value, the most specific path first. */
export interface AnswerPaths extends Record<ReadField, readonly AnswerPath[]> {
  /** Objects that may hold the task. The whole answer is always tried first. */
  within: readonly AnswerPath[];
  /** Paths of `taskId` that may also mean something else: ignored in a refusal. */
  vagueIds: readonly AnswerPath[];
  /** Paths of `taskId` that may only name the HTTP call: ignored next to an unknown error code. */
  callIds: readonly AnswerPath[];
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
  progress: ['progress', 'progress_percent', 'percentage'],
  // Links to covers, thumbnails, watermarked copies, last frames and status pages are not listed, so they are never read.
  video: [
    ...['video_url', 'videoUrl', 'content.video_url', 'content.url', 'video.url', 'videos[].url'],
    ...['videos[].video_url', 'task_result.videos[].url', 'assets.video', 'output.video_url'],
    ...['output.videos[].url', 'output.url', 'output[]', 'outputs[]', 'results[]', 'resultUrls[]'],
    ...['resultJson.resultUrls[]', 'creations[].url', 'response.generatedVideos[].video.uri'],
    ...['response.generateVideoResponse.generatedSamples[].video.uri', 'result_url', 'download_url', 'url'],
  ],
  code: [
    ...['error.code', 'error.type', 'code', 'err_code', 'ErrCode', 'failureCode', 'failCode'],
    'base_resp.status_code',
  ],
  // `message` comes late: gateways put an "all is well" there, around a task that has failed.
  message: [
    ...['error.message', 'error', 'errors[].message', 'failure', 'failure_reason', 'failMsg'],
    ...['task_status_msg', 'message', 'msg', 'detail', 'detail[].msg', 'ErrMsg', 'base_resp.status_msg'],
    ...['raiMediaFilteredReasons[]', 'response.raiMediaFilteredReasons[]'],
    'response.generateVideoResponse.raiMediaFilteredReasons[]',
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

const NAMED_STATES = TASK_STATES.filter((state): state is NamedState => state !== 'unknown');

/** What words mean. A Map, because the word comes from outside: `constructor` must not find anything. */
const meanings = (states: Partial<Record<NamedState, readonly (string | number)[] | undefined>>) =>
  new Map(
    NAMED_STATES.flatMap((state) =>
      (states[state] ?? []).map((word) => [normalizeWord(String(word)), state] as const),
    ),
  );

const KNOWN_WORDS = meanings(WORDS);

/** The default rules with the profile's own paths and words. */
export function readingRules({ read = {}, states = {}, refusals, prices }: ServiceProfile): ReadingRules {
  const own = meanings(states);
  const unit = read.charged && chargedUnit(read.charged, prices);
  return {
    paths: {
      ...DEFAULT_PATHS,
      ...Object.fromEntries(
        (['within', ...READ_FIELDS] as const).flatMap((field) =>
          read[field] === undefined ? [] : [[field, [read[field]].flat()]],
        ),
      ),
      // A path that the profile names is always the task's id.
      ...(read.taskId !== undefined && { vagueIds: [], callIds: [] }),
      charged: unit
        ? unit.paths.map((path) => ({ ...unit, path }))
        : // Credits are in no sum of dollars.
          DEFAULT_PATHS.charged.filter(({ currency }) => (prices?.currency ?? currency) === currency),
    },
    stateOf: (word) => own.get(normalizeWord(word)) ?? KNOWN_WORDS.get(normalizeWord(word)),
    isOwnWord: (word) => own.has(normalizeWord(word)),
    content: refusals?.content ?? [],
  };
}

/** For a service without a profile. */
export const DEFAULT_RULES = readingRules({});

/** Gateways put these around any answer: the call worked, which does not mean that the video exists. */
export function isEnvelopeWord(word: string): boolean {
  return ['success', 'ok'].includes(normalizeWord(word));
}

/** Gateways put these around any answer too: the call failed, not the task. */
export function isFailedCallWord(word: string): boolean {
  return ['error', 'fail', 'failure'].includes(normalizeWord(word));
}
