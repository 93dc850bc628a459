import { createVideoActivities, type SubmitVideoInput, type VideoActivityDeps } from '../../../activities';
import {
  createFileStorage,
  digestOfJob,
  JobRecord,
  type RecordedJob,
  type VideoStorage,
} from '../../../src/storage';
import { type ActivityWorld, asJob, createActivityWorld, startAttempt } from '../activity-world';

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
    options?: { info?: object; deps?: Partial<VideoActivityDeps>; client?: object; reported?: unknown[] },
  ): ReturnType<typeof startAttempt<SubmitVideoInput, { taskId: string; service?: string | undefined }>>;
  read(): Promise<RecordedJob>;
  /** What the entries say happened, in their order. */
  events(): Promise<string[]>;
  /** How many requests of this test have arrived. */
  posts(): number;
}

export function useSubmitWorld(): SubmitWorld {
  const here = {} as SubmitWorld;
  let jobs = 0;
  let before = 0;
  beforeAll(async () => {
    Object.assign(here, await createActivityWorld());
    here.storage = createFileStorage(here.folder);
    // The first call loads the HTTP client, which a busy machine may need longer for than for a heartbeat.
    await here.run(here.activities.submitVideo, { request: REQUEST }, asJob()).result;
  });
  afterAll(() => here.close());
  beforeEach(() => {
    here.job = `fox-${++jobs}`;
    const owner = { namespace: NAMESPACE, job: here.job };
    here.record = new JobRecord(here.storage, owner, digestOfJob(owner, REQUEST));
    before = here.emulator.calls.length;
  });
  here.worker = (deps = {}) => {
    const { service, storage } = here;
    return createVideoActivities({ service, services: { a: service, b: service }, storage, ...deps });
  };
  here.submit = (input = {}, { info = {}, deps, client, reported } = {}) =>
    startAttempt(
      here.worker(deps).submitVideo,
      { request: REQUEST, ...input },
      { ...asJob(here.job), ...info },
      reported,
      client,
    );
  here.read = () => here.record.read();
  here.events = async () => (await here.read()).entries.map(({ event }) => event);
  here.posts = () => here.emulator.calls.slice(before).filter(({ call }) => call === 'submit').length;
  return here;
}
