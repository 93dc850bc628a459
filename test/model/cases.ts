import type { BatchScript, Script } from './script';

const PLAIN: Script = {
  start: 'request',
  deadlineMs: 600_000,
  holdForMs: 60_000,
  idempotencyKeys: 'ignored',
  cancelling: false,
  jobTimeMs: 40_000,
  taskEnds: 'succeeded',
  submits: [],
  polls: [],
  downloads: [],
  deeds: [],
  continues: true,
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
];

const PLAIN_BATCH: BatchScript = {
  ...PLAIN,
  window: 2,
  onFailure: 'continue',
  fromFile: false,
  items: Array.from({ length: 3 }, () => ({ taskEnds: 'succeeded', submits: [], polls: [], downloads: [] })),
  deeds: [],
};

export const BATCH_CASES: { name: string; script: BatchScript }[] = [
  { name: 'all goes well', script: PLAIN_BATCH },
  {
    name: 'its requests are read page by page, and one of them once more for a lost submit',
    script: {
      ...PLAIN_BATCH,
      fromFile: true,
      items: Array.from({ length: 5 }, (_, index) => ({
        taskEnds: 'succeeded',
        submits: index === 3 ? [{ kind: 'lost', how: 'reset' }] : [],
        polls: [],
        downloads: [],
      })),
      deeds: [{ atMs: 100_000, deed: { kind: 'resubmit' }, item: 4 }],
    },
  },
];
