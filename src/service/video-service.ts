import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { RefusedContent } from '../contract/failure-details';
import type { Money } from '../contract/money';
import type { VideoRequest } from '../contract/request';
import type { ServiceProfile } from './profile';

/** A task that the service has started. */
export interface StartedTask {
  taskId: string;
  /** What contradicts the reading of the answer, a sentence each. */
  doubts?: string[];
  /** What the service cannot do of the request: they reach the result of the job. */
  warnings?: string[];
}

/**
 * The state of a task; only `succeeded` has a video, behind a link or as its bytes. `word` is the service's own word for it, ''
 * if there is none.
 */
export type VideoState =
  | { state: 'queued' | 'running'; word: string; percent?: number }
  | { state: 'succeeded'; word: string; videoUrl?: string; videoBytes?: Uint8Array }
  | { state: 'failed'; word: string }
  | { state: 'cancelled'; word: string }
  | { state: 'unknown'; word: string };

/** The service's own code and message, never ''. Usually an error, but it may also be "Task accepted". */
export interface ServiceMessage {
  code?: string;
  message?: string;
}

/** What the service says about a task. */
export interface TaskReading {
  /** The task's id in the answer, if it has one. */
  taskId?: string;
  task: VideoState;
  serviceMessage?: ServiceMessage;
  /** Set if the task failed because of the content policy of the service. */
  refusedContent?: RefusedContent;
  /** What the task cost, once it has ended and if the service says it. */
  charged?: Money;
  /** How long the service asks us to wait before the next call. */
  retryAfterMs?: number;
  /** As those of a started task. */
  doubts?: string[];
  warnings?: string[];
}

/** The body of a video, still to be read. */
export interface VideoBody {
  stream: Readable;
  contentType?: string | undefined;
  /** Where in the video the stream begins: the requested offset, or 0 (default) when the server starts over. */
  offset?: number;
  /** The length of the whole video; undefined when the server does not say. */
  bytes?: number | undefined;
  /** A strong ETag that another request can resume with; undefined when it cannot. */
  validator?: string | undefined;
}

/** Where to resume a download, and the validator that came with the bytes so far. */
export interface ResumePoint {
  offset: number;
  validator: string;
}

export interface OpenVideoOptions {
  signal?: AbortSignal;
  /** Where to resume a video of which a part is stored. */
  from?: ResumePoint;
}

export type CancelAnswer = 'asked' | 'refused' | 'not-offered';

/**
 * A video generation service. Each call is one attempt: only Temporal retries. One of your own needs three methods, which throw
 * a `ServiceFault` when a call fails: docs/other-services.md has an example.
 */
export interface VideoService {
  /** Any error but a `ServiceFault` counts as an answer that was lost: the task may exist. */
  start(request: VideoRequest, options: { idempotencyKey: string }): Promise<StartedTask>;
  status(taskId: string, options?: { signal?: AbortSignal }): Promise<TaskReading>;
  /** Opens the link to a video, and resumes at `from` if it can. */
  open(link: string, options?: OpenVideoOptions): Promise<VideoBody>;
  /** Asks the service to stop a task. */
  cancel?(taskId: string, options?: { signal?: AbortSignal }): Promise<CancelAnswer>;
  /** Names the service in what workers learn about its tasks. They learn nothing about one without a name and an address. */
  readonly address?: string | undefined;
  /** Fields of a request, prices and polling interval. */
  readonly profile?: ServiceProfile;
}

/** A service with connections. Close it when you no longer need it. */
export interface OpenedVideoService extends VideoService {
  close(): Promise<void>;
}

const SECOND = 1_000;

/**
 * Milliseconds for a whole exchange, however steadily bytes come. They must stay below the timeouts of SUBMIT_POLICY and
 * POLL_POLICY, so that a trickling answer fails as a lost submit or a failed poll and a draining worker can stop.
 */
export interface ServiceTimeouts {
  /** Until connected. */
  connect: number;
  submit: number;
  /** A poll may take two exchanges: one for the task, one for its link. */
  poll: number;
  /** Until the first byte of a video, redirects included. */
  video: number;
}

export const DEFAULT_TIMEOUTS: ServiceTimeouts = {
  connect: 10 * SECOND,
  // Some services hold the POST while they check the prompt and the image.
  submit: 90 * SECOND,
  poll: 25 * SECOND,
  // Some storages take a while to find a video, and then send it fast.
  video: 120 * SECOND,
};

/** The address of the service, with one slash at its end. Without the lookbehind, very many slashes would take seconds. */
export function baseOf(baseUrl: string): URL {
  return new URL(`${baseUrl.replace(/(?<!\/)\/+$/, '')}/`);
}

/** What the service was asked. */
export interface SentRequest {
  method: string;
  path: string;
  /** JSON; only submits have one. */
  body?: string;
}

/** One answer of the service without secrets: it may be recorded and shown to others. */
export interface ServiceAnswer {
  call: 'submit' | 'poll' | 'link' | 'cancel';
  /** What it answers, without secrets too. */
  sent?: SentRequest;
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  body: string;
}

/** Options of createVideoService. */
export interface VideoServiceOptions {
  baseUrl: string;
  /** Called for every request, so that a rotated key is used at once. */
  apiKey: () => string;
  /** For a slower service. */
  timeouts?: Partial<ServiceTimeouts>;
  /** Where the service differs from the interface. */
  profile?: ServiceProfile;
  /**
   * Hosts, by name or IP address, that videos may come from without TLS or at an address that is not public. The
   * service's own host may be at any address.
   */
  downloadAllow?: readonly string[];
  /** Called with every answer of the service, good or bad, to record how it answers. Not called for videos. */
  onAnswer?: (answer: ServiceAnswer) => void;
}
