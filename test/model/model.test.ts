import { atLength } from '../support/nightly';
import { fc } from '../support/properties';
import { REPLAY } from '../support/seed';
import { BREAKS, changeOnce } from './breaks';
import { checkScripts } from './check-scripts';
import { compare } from './compare';
import type {
  BatchScript,
  FallbackScript,
  JobScript,
  Script,
  ServiceScript,
  SubmitAnswer,
} from './random-script';
import type { Observed } from './running-script';
import { bundleWorkflows, ScriptRunner, silenceLogs } from './script-runner';

/** `npm run model` runs more, in as many processes as there are cores. */
const SCRIPTS = atLength(6, 1_000);
/** For each script, on a machine with much else to do. */
const PATIENCE_MS = 1_000;
/** Once more on a new server, if need be. */
const GROUP_TIMEOUT_MS = 300_000;

let code: string;
let runner: ScriptRunner;
beforeAll(async () => {
  silenceLogs();
  code = await bundleWorkflows();
  runner = await ScriptRunner.open(code);
}, GROUP_TIMEOUT_MS);
afterAll(() => runner?.close());

test(
  `jobs, batches and fallbacks do what the model allows, whatever happens to them (${REPLAY})`,
  async () => {
    const { seed = 0 } = fc.readConfigureGlobal();
    const { failure, ...counts } = await checkScripts(runner, { seed, from: 0, scripts: SCRIPTS });
    expect(failure).toBeUndefined();
    expect(counts.scripts).toBe(SCRIPTS);
    // Otherwise nothing was carried over.
    expect(counts.runs).toBeGreaterThan(counts.jobs * 1.5);
  },
  GROUP_TIMEOUT_MS + SCRIPTS * PATIENCE_MS,
);

const AT_SERVICE: ServiceScript = {
  idempotencyKeys: 'ignored',
  cancelling: false,
  jobTimeMs: 40_000,
  taskEnds: 'succeeded',
  submits: [],
  polls: [],
  downloads: [],
  actions: [],
};

const OPTIONS = { deadlineMs: 600_000, holdForMs: 60_000, continues: true };
/** Each poll takes time of the machine. */
const SELDOM = { min: 10_000, max: 20_000 };

const JOB: JobScript = { kind: 'job', start: 'request', ...OPTIONS, ...AT_SERVICE };

const BATCH: BatchScript = {
  kind: 'batch',
  ...OPTIONS,
  polling: SELDOM,
  window: 2,
  onFailure: 'continue',
  fromFile: false,
  items: [AT_SERVICE, AT_SERVICE],
  actions: [],
};

const FALLBACK: FallbackScript = {
  kind: 'fallback',
  ...OPTIONS,
  polling: SELDOM,
  fallbackAfterMs: 60_000,
  services: [AT_SERVICE, AT_SERVICE],
  actions: [],
};

const LOST: SubmitAnswer = { kind: 'lost', how: 'reset' };
const UNAUTHORIZED: SubmitAnswer = { kind: 'refused', status: 401 };
const DIES_WITH_ITS_TASK: SubmitAnswer = { kind: 'killed', at: 'before-record', heartbeats: 'kept' };
const diesAtStart = (times: number) =>
  Array.from({ length: times }, (): SubmitAnswer => ({ kind: 'killed', at: 'start', heartbeats: 'kept' }));

/** Scripts that once failed, or that stand for what must never fail. */
const CASES: { name: string; script: Script }[] = [
  {
    name: 'a Retry-After beyond the attempts of a poll is carried over',
    script: { ...JOB, deadlineMs: 120_000, polls: [{ kind: 'rate-limited', retryAfter: 400 }] },
  },
  {
    name: 'time held counts after the job has continued as new',
    script: {
      ...JOB,
      submits: [LOST],
      actions: [{ atMs: 50_000, action: { kind: 'adopt', task: 0 } }],
      jobTimeMs: 500_000,
      deadlineMs: 300_000,
    },
  },
  {
    name: 'one request to poll now is followed by polls at their times',
    script: { ...JOB, actions: [{ atMs: 7_000, action: { kind: 'poll-now' } }] },
  },
  {
    name: 'a job is cancelled while its submit, which is lost, waits for its next attempt',
    script: {
      ...JOB,
      submits: diesAtStart(6),
      actions: [{ atMs: 20_000, action: { kind: 'cancel' } }],
    },
  },
  {
    name: 'a job is cancelled while its submit, which has noted its task, waits for its next attempt',
    script: {
      ...JOB,
      submits: [DIES_WITH_ITS_TASK, ...diesAtStart(5)],
      actions: [{ atMs: 20_000, action: { kind: 'cancel' } }],
    },
  },
  {
    name: 'a task is to be adopted at the end of the hold, and the service asks to wait before it is polled',
    script: {
      ...JOB,
      holdForMs: 22_000,
      submits: [{ kind: 'lost', how: 'bad-json' }],
      polls: [{ kind: 'rate-limited', retryAfter: 45 }],
      actions: [{ atMs: 21_500, action: { kind: 'adopt', task: 0 } }],
    },
  },
  {
    name: 'a job is terminated after its worker died with the answer, and started again',
    script: {
      ...JOB,
      submits: [DIES_WITH_ITS_TASK, ...diesAtStart(5)],
      actions: [
        { atMs: 20_000, action: { kind: 'restart' } },
        { atMs: 40_000, action: { kind: 'adopt', task: 0 } },
      ],
    },
  },
  {
    name: 'a lost submit is repeated by a worker that dies before it has written anything down',
    script: {
      ...JOB,
      submits: [LOST, { kind: 'killed', at: 'start', heartbeats: 'lost' }],
      actions: [{ atMs: 30_000, action: { kind: 'resubmit' } }],
    },
  },
  {
    name: 'a job is to adopt the task of another, and then its own',
    script: {
      ...JOB,
      submits: [LOST],
      actions: [
        { atMs: 10_000, action: { kind: 'adopt', task: 'taken' } },
        { atMs: 20_000, action: { kind: 'adopt', task: 0 } },
      ],
    },
  },
  {
    name: 'a batch reads its requests page by page, and a lost submit of it is decided on its own job',
    script: {
      ...BATCH,
      fromFile: true,
      items: [
        AT_SERVICE,
        AT_SERVICE,
        { ...AT_SERVICE, submits: [LOST], actions: [{ atMs: 100_000, action: { kind: 'resubmit' } }] },
      ],
    },
  },
  {
    name: 'a batch is terminated and started again while one item is held and one has its task',
    script: {
      ...BATCH,
      items: [{ ...AT_SERVICE, submits: [LOST] }, AT_SERVICE],
      actions: [{ atMs: 20_000, action: { kind: 'restart' } }],
    },
  },
  {
    name: 'a batch is terminated and started again, and stops before it comes to an item that it had begun',
    script: {
      ...BATCH,
      window: 1,
      onFailure: 'stop',
      holdForMs: 30_000,
      items: [
        { ...AT_SERVICE, submits: [LOST] },
        { ...AT_SERVICE, jobTimeMs: 200_000 },
      ],
      actions: [{ atMs: 60_000, action: { kind: 'restart' } }],
    },
  },
  {
    name: 'the first of two services loses a submit, which is decided there, and then refuses',
    script: {
      ...FALLBACK,
      services: [
        {
          ...AT_SERVICE,
          submits: [LOST, UNAUTHORIZED],
          actions: [{ atMs: 30_000, action: { kind: 'resubmit' } }],
        },
        AT_SERVICE,
      ],
    },
  },
  {
    name: 'a fallback is to poll now, and its job has just ended',
    script: {
      ...FALLBACK,
      deadlineMs: 80_000,
      services: [{ ...AT_SERVICE, jobTimeMs: 0 }, AT_SERVICE],
      actions: [
        { atMs: 1_000, action: { kind: 'restart' } },
        { atMs: 20_000, action: { kind: 'poll-now' } },
      ],
    },
  },
  {
    name: 'a fallback that was started again while the second service made the video is cancelled after that job has ended',
    script: {
      ...FALLBACK,
      services: [{ ...AT_SERVICE, submits: [UNAUTHORIZED, UNAUTHORIZED] }, AT_SERVICE],
      actions: [
        { atMs: 20_000, action: { kind: 'restart' } },
        { atMs: 100_000, action: { kind: 'cancel' } },
      ],
    },
  },
];

describe('the model allows what happens', () => {
  let observed: Observed[];
  beforeAll(async () => {
    observed = await runner.run(CASES.map(({ script }) => script));
  }, GROUP_TIMEOUT_MS);

  test.each(CASES.map(({ name }, index) => ({ name, index })))('when $name', ({ index }) => {
    expect(observed.slice(index, index + 1).map(compare)).toEqual([[]]);
  });
});

test.each(Object.entries(BREAKS).filter(([, change]) => !('file' in change)))(
  'the break %s has its place in the workflows',
  (_, { from, to }) => {
    expect(changeOnce(code, from, to)).not.toBe(code);
  },
);
