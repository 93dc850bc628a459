import { logLine } from '../../src/cli/log-line';
import { createFailure } from '../../src/contract/video-failure';
import { STEERING } from '../support/hostile-text';

const entry = {
  level: 'WARN',
  message: 'the job\u001b[2J failed',
  timestampNanos: 1_750_000_000_000_000_000n,
} as const;
const START = '2025-06-15T15:06:40.000Z [WARN]';

test('a line of the log has no control character, even if names in it do', () => {
  expect(logLine({ ...entry, meta: undefined })).toBe(`${START} the job failed\n`);
  const workflowId = 'fox\u001b]0;title\u0007\u202e\u009b2J\nnext';
  const line = logLine({
    ...entry,
    meta: { workflowId, [workflowId]: workflowId, error: new Error(workflowId) },
  });
  expect(line).not.toMatch(STEERING);
  expect(line).toMatch(/^[^\n]+\n$/);
  expect(line).toContain('the job failed: fox');
});

test('a lost submit has one line with the job and what to do', () => {
  const cause = new Error('cut: ECONNRESET read ECONNRESET');
  const error = createFailure('SubmitUnconfirmed', { message: 'read ECONNRESET' }, { cause });
  const meta = {
    sdkComponent: 'worker',
    taskQueue: 'video-generation-submit',
    isLocal: false,
    attempt: 1,
    namespace: 'default',
    taskToken: 'CiQwMWExZTFiNS1jMmY5LTczNWUtYmI0YS1lOTY0ZDM4NmMzZjkSA2ZveA',
    activityId: '1',
    activityType: 'submitVideo',
    workflowId: 'fox',
    workflowRunId: '01a1e1b5-f4c3-71bb-afa3-5c6479542e78',
    workflowType: 'generateVideo',
    error,
    durationMs: 60,
  };
  expect(logLine({ ...entry, message: 'Activity failed', meta })).toBe(
    `${START} Activity failed: submitVideo of fox, attempt 1, ${error.message}\n`,
  );
  const workflow = { workflowId: 'fox', code: 'ECONNRESET', attempt: 1, holdMs: 86_400_000, item: undefined };
  expect(logLine({ ...entry, message: 'the submit is lost', meta: workflow })).toBe(
    `${START} the submit is lost: fox, code ECONNRESET, holdMs 86400000\n`,
  );
});

test('an error of the native part is printed without its bytes', () => {
  const error =
    'Status { code: NotFound, message: "query task not found, or already expired", details: b"\\x08\\x05\\x12(query", metadata: MetadataMap { headers: {} }, source: None }';
  const meta = {
    sdkComponent: 'core',
    target: 'temporalio_sdk_core::worker',
    spanContexts: undefined,
    error,
  };
  expect(logLine({ ...entry, message: 'Query not found', meta })).toBe(
    `${START} Query not found: NotFound: query task not found, or already expired\n`,
  );
});

test('any other error is printed with its name and the first frame of its stack', () => {
  const error = new TypeError('x is not a function');
  error.stack =
    'TypeError: x is not a function\n    at poll (/srv/app.js:1:2)\n    at more (/srv/app.js:3:4)';
  expect(logLine({ ...entry, message: 'Failed', meta: { error } })).toBe(
    `${START} Failed: TypeError: x is not a function at poll (/srv/app.js:1:2)\n`,
  );
  expect(logLine({ ...entry, message: 'Failed', meta: { error: 'a word' } })).toBe(
    `${START} Failed: a word\n`,
  );
});

test('a line is bounded, and so is each value in it', () => {
  const long = 'x'.repeat(5_000);
  expect(logLine({ ...entry, meta: { long, other: 1 } })).toMatch(/: long x{199}…, other 1\n$/);
  const line = logLine({
    ...entry,
    message: long,
    meta: { nested: { a: { b: { c: 1 } } }, error: new Error(long) },
  });
  expect(line).toHaveLength(1_001);
});
