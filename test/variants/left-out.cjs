// Tests that cannot hold under a variant by nature. `test` is a part of the full name; without it the whole file is meant.
const SEARCH_ATTRIBUTES = 'test/real-server/shown-in-temporal.test.ts';
const WITHOUT_TASK_ID = 'expects VideoTaskId, which a client that encrypts leaves out';
const ALONE = [
  { file: 'test/real-server/encryption.test.ts', reason: 'sets keys and data converters itself' },
  {
    file: 'test/real-server/other-callers.test.ts',
    test: 'without any SDK of ours',
    reason: "Temporal's command and its Python SDK have neither the keys nor the converter",
  },
];

/** Histories stay short where large payloads are small or elsewhere. */
const NEVER_LONG = [
  {
    file: 'test/real-server/one-job.test.ts',
    test: 'is one of many in a batch that continues as new',
    reason: 'the history stays too short to continue as new',
  },
];

/** @type {Record<string, { file: string; test?: string; reason: string }[]>} */
const LEFT_OUT = {
  codec: [
    ...ALONE,
    ...[
      'a job is found by its task, its phase and its outcome',
      'a job that waits for a decision is found, and so is its task',
      'a job that adopts a task is found by it',
      'a job that continues as new is still found',
    ].map((test) => ({ file: SEARCH_ATTRIBUTES, test, reason: WITHOUT_TASK_ID })),
  ],
  'no-cache': [
    {
      file: 'test/model/model.test.ts',
      test: 'jobs, batches and fallbacks do what the model allows',
      reason:
        'workflow tasks of hundreds of jobs without a cache time out at the time-skipping server, which skips no time meanwhile',
    },
  ],
  'host-converter': [...ALONE, ...NEVER_LONG],
  'external-storage': [...ALONE, ...NEVER_LONG],
};

/** The files that a variant leaves out as a whole. */
function filesLeftOut(variant) {
  return (LEFT_OUT[variant] ?? []).filter(({ test }) => test === undefined).map(({ file }) => file);
}

/** The row for a test of a file, if the variant leaves it out. */
function leftOut(variant, file, test) {
  return (LEFT_OUT[variant] ?? []).find(
    (row) => row.file === file && row.test !== undefined && test.includes(row.test),
  );
}

module.exports = { LEFT_OUT, filesLeftOut, leftOut };
