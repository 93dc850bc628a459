import type { Dialect } from './dialect';
import type { ChaosOptions, EmulatedCall } from './faults';

/** Options of startEmulator. */
export interface EmulatorOptions {
  /** The host to listen on. Default: 127.0.0.1. */
  host?: string;
  /** The port to listen on. Default: a free one. */
  port?: number;
  /** The key that callers must send. Default: `emulator-key`. */
  apiKey?: string;
  /** How long a task takes from its submit to its video. Default: 5000. */
  jobTimeMs?: number;
  /** Serves files of this many bytes of noise instead of painted videos: faster to make, and of a known size. */
  videoBytes?: number;
  /** The time by which tasks run. Default: `Date.now`. */
  clock?: () => number | Promise<number>;
  /** A file for the tasks, so that they survive a restart of the emulator. */
  tasksFile?: string;
  /** How many tasks run at once; further submits are refused. Default: no limit. */
  concurrentTasks?: number;
  /** `honoured`: a second submit with the same key gets the first task. Default: `ignored`, as in most services. */
  idempotencyKeys?: 'ignored' | 'honoured';
  /** Fetches the image of each submit, as real services do, and refuses the submit if it cannot. Default: false. */
  fetchImages?: boolean;
  /** Adds `DELETE /v1/videos/{task_id}`, which the interface does not have. Default: false. */
  cancelling?: boolean;
  /** What each video costs in dollars, as the answers about ended tasks then say. Default: they say nothing. */
  charge?: number;
  /** Random faults for calls that have no scripted fault. Default: none. */
  chaos?: ChaosOptions;
  /** Another service's calls and words. Default: those of the interface. */
  dialect?: Dialect;
  /** Called after each call has its answer, or is known to get none. */
  onCall?: (call: RecordedCall) => void;
}

/** One call that the emulator received. It records whether the API key was right, but not the key. */
export interface RecordedCall {
  call: EmulatedCall | 'other';
  method: string;
  path: string;
  authorized: boolean;
  idempotencyKey?: string;
  contentType?: string;
  /** The `Range` header. */
  range?: string;
  body?: unknown;
  /** When the request had been read, by the machine's clock. */
  atMs: number;
  /** The status of the answer; missing until it is sent, and if none is sent. */
  status?: number;
}
