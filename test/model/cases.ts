import type { BatchScript, FallbackScript, Fate, JobScript, Script } from './script';

const FATE: Fate = {
  idempotencyKeys: 'ignored',
  cancelling: false,
  jobTimeMs: 40_000,
  taskEnds: 'succeeded',
  submits: [],
  polls: [],
  downloads: [],
  deeds: [],
};

const OPTIONS = { deadlineMs: 600_000, holdForMs: 60_000, continues: true };

const PLAIN: JobScript = { kind: 'job', start: 'request', ...OPTIONS, ...FATE };

const BATCH: BatchScript = {
  kind: 'batch',
  ...OPTIONS,
  window: 2,
  onFailure: 'continue',
  fromFile: false,
  items: [FATE, FATE, FATE],
  deeds: [],
};

const FALLBACK: FallbackScript = {
  kind: 'fallback',
  ...OPTIONS,
  fallbackAfterMs: 60_000,
  services: [FATE, FATE],
  deeds: [],
};

/** Scripts that once failed, or that stand for what must never fail. */
export const CASES: { name: string; script: Script }[] = [
  { name: 'all goes well', script: PLAIN },
  {
    name: 'a Retry-After beyond the attempts of a poll is carried over',
    script: { ...PLAIN, deadlineMs: 120_000, polls: [{ kind: 'rate-limited', retryAfter: 400 }] },
  },
  {
    name: 'time held counts after the job has continued as new',
    script: {
      ...PLAIN,
      submits: [{ kind: 'lost', how: 'reset' }],
      deeds: [{ atMs: 50_000, deed: { kind: 'adopt', generation: 0 } }],
      jobTimeMs: 500_000,
      deadlineMs: 300_000,
    },
  },
  {
    name: 'the service sets the polling bounds of a job that continues as new',
    script: { ...PLAIN, servicePolling: { min: 11_000, max: 17_000 } },
  },
  {
    name: 'one request to poll now is followed by polls at their times',
    script: { ...PLAIN, deeds: [{ atMs: 7_000, deed: { kind: 'poll-now' } }] },
  },
  {
    name: 'a job is cancelled while its submit, which is lost, waits for its next attempt',
    script: {
      ...PLAIN,
      submits: Array.from({ length: 6 }, () => ({ kind: 'killed', at: 'start', notes: 'kept' })),
      deeds: [{ atMs: 20_000, deed: { kind: 'cancel' } }],
    },
  },
  {
    name: 'a job is cancelled while its submit, which has noted its task, waits for its next attempt',
    script: {
      ...PLAIN,
      submits: [
        { kind: 'killed', at: 'before-record', notes: 'kept' },
        ...Array.from({ length: 5 }, () => ({ kind: 'killed', at: 'start', notes: 'kept' }) as const),
      ],
      deeds: [{ atMs: 20_000, deed: { kind: 'cancel' } }],
    },
  },
  {
    name: 'a task is to be adopted at the end of the hold, and the service asks to wait before it is polled',
    script: {
      ...PLAIN,
      holdForMs: 22_000,
      submits: [{ kind: 'lost', how: 'bad-json' }],
      polls: [{ kind: 'rate-limited', retryAfter: 45 }],
      deeds: [{ atMs: 21_500, deed: { kind: 'adopt', generation: 0 } }],
    },
  },
  {
    name: 'a job is terminated after its worker died with the answer, and started again',
    script: {
      ...PLAIN,
      submits: [
        { kind: 'killed', at: 'before-record', notes: 'kept' },
        ...Array.from({ length: 5 }, () => ({ kind: 'killed', at: 'start', notes: 'kept' }) as const),
      ],
      deeds: [
        { atMs: 20_000, deed: { kind: 'restart' } },
        { atMs: 40_000, deed: { kind: 'adopt', generation: 0 } },
      ],
    },
  },
  {
    name: 'a lost submit is repeated by a worker that dies before it has written anything down',
    script: {
      ...PLAIN,
      submits: [
        { kind: 'lost', how: 'reset' },
        { kind: 'killed', at: 'start', notes: 'lost' },
      ],
      deeds: [{ atMs: 30_000, deed: { kind: 'resubmit' } }],
    },
  },
  {
    name: 'a job is to adopt the task of another, and then its own',
    script: {
      ...PLAIN,
      submits: [{ kind: 'lost', how: 'reset' }],
      deeds: [
        { atMs: 10_000, deed: { kind: 'adopt', generation: 'taken' } },
        { atMs: 20_000, deed: { kind: 'adopt', generation: 0 } },
      ],
    },
  },
  { name: 'all goes well in a batch', script: BATCH },
  {
    name: 'a batch reads its requests page by page, and a lost submit of it is decided on its own job',
    script: {
      ...BATCH,
      fromFile: true,
      items: Array.from({ length: 5 }, (_, index) =>
        index === 3
          ? {
              ...FATE,
              submits: [{ kind: 'lost', how: 'reset' }],
              deeds: [{ atMs: 100_000, deed: { kind: 'resubmit' } }],
            }
          : FATE,
      ),
    },
  },
  {
    name: 'a batch is terminated and started again while one item is held and one has its task',
    script: {
      ...BATCH,
      items: [{ ...FATE, submits: [{ kind: 'lost', how: 'reset' }] }, FATE, FATE],
      deeds: [{ atMs: 20_000, deed: { kind: 'restart' } }],
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
        { ...FATE, submits: [{ kind: 'lost', how: 'reset' }] },
        { ...FATE, jobTimeMs: 200_000 },
      ],
      deeds: [{ atMs: 60_000, deed: { kind: 'restart' } }],
    },
  },
  {
    name: 'a batch is cancelled',
    script: { ...BATCH, deeds: [{ atMs: 20_000, deed: { kind: 'cancel' } }] },
  },
  {
    name: 'the first of two services refuses',
    script: { ...FALLBACK, services: [{ ...FATE, submits: [{ kind: 'refused', status: 401 }] }, FATE] },
  },
  {
    name: 'the first of two services accepts no more requests',
    script: {
      ...FALLBACK,
      services: [{ ...FATE, submits: Array.from({ length: 8 }, () => ({ kind: 'rate-limited' })) }, FATE],
    },
  },
  {
    name: 'the first of two services loses a submit, and it is decided there',
    script: {
      ...FALLBACK,
      services: [
        {
          ...FATE,
          submits: [
            { kind: 'lost', how: 'reset' },
            { kind: 'refused', status: 401 },
          ],
          deeds: [{ atMs: 30_000, deed: { kind: 'resubmit' } }],
        },
        FATE,
      ],
    },
  },
  {
    name: 'a fallback is to poll now, and its job has just ended',
    script: {
      ...FALLBACK,
      deadlineMs: 80_000,
      services: [{ ...FATE, jobTimeMs: 0 }, FATE],
      deeds: [
        { atMs: 1_000, deed: { kind: 'restart' } },
        { atMs: 20_000, deed: { kind: 'poll-now' } },
      ],
    },
  },
  {
    name: 'a fallback is terminated and started again while the second service makes the video',
    script: {
      ...FALLBACK,
      services: [{ ...FATE, submits: [{ kind: 'refused', status: 401 }] }, FATE],
      deeds: [{ atMs: 20_000, deed: { kind: 'restart' } }],
    },
  },
  {
    name: 'a fallback is cancelled after the job that it joined and waited for has ended',
    script: {
      kind: 'fallback',
      deadlineMs: 73800,
      holdForMs: 67606,
      onLostSubmit: 'hold',
      polling: { min: 2322, max: 30486 },
      continues: false,
      fallbackAfterMs: 1071,
      services: [
        {
          servicePolling: { min: 9317, max: 18106 },
          idempotencyKeys: 'honoured',
          cancelling: true,
          jobTimeMs: 8610,
          taskEnds: 'failed',
          submits: [
            { kind: 'refused', status: 401 },
            { kind: 'refused', status: 401 },
            { kind: 'refused', status: 401 },
          ],
          polls: [{ kind: 'ok' }],
          downloads: [{ kind: 'server-error' }, { kind: 'server-error' }, { kind: 'server-error' }],
          deeds: [
            { atMs: 35858, deed: { kind: 'resubmit' } },
            { atMs: 71229, deed: { kind: 'poll-now' } },
            { atMs: 34922, deed: { kind: 'abandon' } },
            { atMs: 67948, deed: { kind: 'adopt', generation: 1 } },
            { atMs: 69507, deed: { kind: 'poll-now' } },
            { atMs: 41022, deed: { kind: 'poll-now' } },
          ],
        },
        {
          servicePolling: { min: 2440, max: 10553 },
          idempotencyKeys: 'ignored',
          cancelling: true,
          jobTimeMs: 45574,
          taskEnds: 'succeeded',
          submits: [
            { kind: 'killed', at: 'after-send', notes: 'lost' },
            { kind: 'killed', at: 'after-send', notes: 'lost' },
            { kind: 'killed', at: 'after-send', notes: 'lost' },
            { kind: 'killed', at: 'after-send', notes: 'lost' },
            { kind: 'killed', at: 'after-send', notes: 'lost' },
          ],
          polls: [
            { kind: 'refused', status: 404 },
            { kind: 'ok' },
            { kind: 'rate-limited' },
            { kind: 'no-video' },
            { kind: 'server-error' },
            { kind: 'reset' },
            { kind: 'unknown-state', word: 'resting' },
          ],
          downloads: [{ kind: 'reset' }, { kind: 'refused', status: 403 }, { kind: 'web-page' }],
          deeds: [
            { atMs: 1884, deed: { kind: 'resubmit' } },
            { atMs: 15602, deed: { kind: 'resubmit', about: 'another' } },
            { atMs: 39688, deed: { kind: 'adopt', generation: 'taken' } },
          ],
        },
        {
          servicePolling: { min: 2500 },
          idempotencyKeys: 'honoured',
          cancelling: true,
          jobTimeMs: 42768,
          taskEnds: 'cancelled',
          submits: [{ kind: 'killed', at: 'start', notes: 'kept' }, { kind: 'server-error' }],
          polls: [{ kind: 'refused', status: 401 }],
          downloads: [],
          deeds: [{ atMs: 97995, deed: { kind: 'adopt', generation: 1 } }],
          learnedMs: 112899,
        },
      ],
      deeds: [
        { atMs: 78513, deed: { kind: 'cancel' } },
        { atMs: 45314, deed: { kind: 'restart' } },
        { atMs: 95915, deed: { kind: 'poll-now' } },
      ],
    },
  },
];
