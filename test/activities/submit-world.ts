import {
  createVideoActivities,
  type SubmittedTask,
  type SubmitVideoInput,
  type VideoActivityDeps,
} from '../../activities';
import {
  createFileStorage,
  digestOfJob,
  JobRecord,
  RECORD_IO_MS,
  type RecordedJob,
  type VideoStorage,
} from '../../src/storage';
import type { EmulatorOptions } from '../../src/testing';
import { type ActivityWorld, type Attempt, asJob, createActivityWorld } from './activity-world';

export const REQUEST = { prompt: 'A red fox', duration: 5 };
/** Of the environment that the SDK mocks. */
export const NAMESPACE = 'test';

/** Jobs at one emulator, each of which is named `fox-…` and has a record of its own. */
export interface SubmitWorld extends ActivityWorld {
  storage: VideoStorage;
  /** The name of the job of this test. */
  job: string;
  /** The record of the job. */
  record: JobRecord;
  /** A worker with the services a and b, which are the same emulator: what counts is which one a request is meant for. */
  worker(deps?: Partial<VideoActivityDeps>): ReturnType<typeof createVideoActivities>;
  /** A submit of the job in a new run, which knows no heartbeats. */
  submit(
    input?: Partial<SubmitVideoInput>,
    options?: { info?: object; deps?: Partial<VideoActivityDeps>; client?: object },
  ): Attempt<SubmittedTask>;
  read(): Promise<RecordedJob>;
  /** What the entries say happened, in their order. */
  events(): Promise<string[]>;
  /** The requests of this test that have arrived. */
  posted(): ActivityWorld['emulator']['calls'];
  posts(): number;
  /** The log lines of this test that are in the table of events. */
  logged(): object[];
}

/** No result, failure, heartbeat or log line of its attempts has the key. */
export function useSubmitWorld(options?: EmulatorOptions): SubmitWorld {
  const here = {} as SubmitWorld;
  let jobs = 0;
  let before = { calls: 0, reported: 0 };
  beforeAll(async () => {
    Object.assign(here, await createActivityWorld(options));
    here.storage = createFileStorage(here.folder);
    // The first call loads the HTTP client, which a busy machine may need longer for than for a heartbeat.
    await here.run(here.activities.submitVideo, { request: REQUEST }, asJob()).result;
  });
  afterAll(async () => {
    expect(here.everythingReported()).not.toContain(here.emulator.apiKey);
    await here.close();
  });
  beforeEach(() => {
    here.job = `fox-${++jobs}`;
    const owner = { namespace: NAMESPACE, job: here.job };
    here.record = new JobRecord(here.storage, owner, digestOfJob(owner, REQUEST));
    before = { calls: here.emulator.calls.length, reported: here.reported.length };
  });
  here.worker = (deps = {}) => {
    const { service, storage } = here;
    return createVideoActivities({ service, services: { a: service, b: service }, storage, ...deps });
  };
  here.submit = (input = {}, { info = {}, deps, client } = {}) =>
    here.run(
      here.worker(deps).submitVideo,
      { request: REQUEST, ...input },
      { ...asJob(here.job), ...info },
      client,
    );
  here.read = () => here.record.read();
  here.events = async () => (await here.read()).entries.map(({ event }) => event);
  here.posted = () => here.emulator.calls.slice(before.calls).filter(({ call }) => call === 'submit');
  here.posts = () => here.posted().length;
  here.logged = () =>
    here.reported
      .slice(before.reported)
      .map((one) => Object(one))
      .filter((one) => typeof one.event === 'string');
  return here;
}

/** The last heartbeat of an attempt, which the next one reads. */
export const noteOf = ({ beats }: { beats: unknown[] }) => beats.at(-1);

export const following = (attempt: { beats: unknown[] }, number = 2) => ({
  info: { attempt: number, heartbeatDetails: noteOf(attempt) },
});

/** Runs what meets a storage that does not answer: `unanswered` is a call of it, whose caller waits no moment of the clock. */
export async function withoutWaits<T>(work: (unanswered: () => Promise<never>) => Promise<T>): Promise<T> {
  const never = new Promise<never>(() => undefined);
  jest.useFakeTimers({
    doNotFake: ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', ...IMMEDIATE],
  });
  const unanswered = () => {
    setImmediate(() => jest.advanceTimersByTime(RECORD_IO_MS));
    return never;
  };
  return work(unanswered).finally(() => jest.useRealTimers());
}

const IMMEDIATE = ['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const;
