import { createFailure } from '../../src/contract/video-failure';
import { createLogger, type LoggerOptions } from '../../src/worker/logger';
import { STEERING } from '../support/hostile-text';

const FORMATS = ['json', 'pretty'] as const;

function logging(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const logger = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(line),
    ...options,
  });
  return { lines, logger, parsed: () => lines.map((line) => JSON.parse(line)) };
}

/** What the SDK adds to each line of an activity. */
const ACTIVITY = {
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
};

describe('a line in JSON', () => {
  it('names the event, the job, the run, the task and the attempt', () => {
    const { logger, parsed } = logging();
    logger.info('submitted', { ...ACTIVITY, sdkComponent: 'activity', event: 'submitted', taskId: 'vid_1' });
    expect(parsed()).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        level: 'info',
        event: 'submitted',
        message: 'submitted',
        workflowId: 'fox',
        runId: ACTIVITY.workflowRunId,
        taskId: 'vid_1',
        attempt: 1,
        activityId: '1',
        activityType: 'submitVideo',
        workflowType: 'generateVideo',
        namespace: 'default',
        taskQueue: 'video-generation-submit',
        sdkComponent: 'activity',
      },
    ]);
  });

  it('is below the level of the log or is written', () => {
    const { lines, logger } = logging({ level: 'warn' });
    logger.event('stored', { taskId: 'vid_1' });
    logger.event('polled', { taskId: 'vid_1' });
    expect(lines).toEqual([]);
    logger.event('held', { taskId: 'vid_1' });
    logger.log('ERROR', 'broken');
    expect(lines).toHaveLength(2);
  });
});

describe('a line for people', () => {
  it('is short, and says whose change it is', () => {
    const { lines, logger } = logging({ format: 'pretty' });
    logger.info('stored', { ...ACTIVITY, event: 'stored', taskId: 'vid_1', bytes: 1_948_997, sha256: 'ab' });
    expect(lines).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d info fox: stored, taskId vid_1, bytes 1948997$/),
    ]);
  });

  it('of a failed attempt names the activity, the attempt and what to do', () => {
    const { lines, logger } = logging({ format: 'pretty' });
    const cause = new Error('cut: ECONNRESET read ECONNRESET');
    const error = createFailure('SubmitUnconfirmed', { message: 'read ECONNRESET' }, { cause });
    logger.warn('Activity failed', { ...ACTIVITY, attempt: 2, error, durationMs: 60 });
    expect(lines[0]).toMatch(/^\S+ warn submitVideo of fox, attempt 2: Activity failed, /);
    expect(lines[0]).toContain(error.message);
  });
});

describe.each(FORMATS)('in the format %s', (format) => {
  it('no line has a control character, even if names in it do', () => {
    const { lines, logger } = logging({ format });
    const workflowId = 'fox\u001b]0;title\u0007\u202e\u009b2J\nnext';
    logger.warn(`the job\u001b[2J failed ${workflowId}`, {
      workflowId,
      [workflowId]: workflowId,
      nested: { [workflowId]: [workflowId] },
      error: new Error(workflowId),
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(STEERING);
    expect(lines[0]).toContain('the job failed');
  });

  it('an error shows neither the signature of a link nor a bearer token', () => {
    const { lines, logger } = logging({ format });
    const message = 'GET https://cdn.example.com/v.mp4?sig=s3cr3t-mark with Bearer abcdefgh12345678mark';
    logger.error('broken', { error: new Error(message) });
    logger.warn('broken', { error: `Status { code: Unknown, message: "${message}", details: b"\\x08" }` });
    logger.warn('broken', { error: createFailure('Unexpected', { message }) });
    expect(lines.join()).toContain('cdn.example.com');
    expect(lines.join()).not.toMatch(/s3cr3t-mark|12345678mark/);
  });

  it('a line is bounded, however much it is given', () => {
    const { lines, logger } = logging({ format });
    const long = 'x'.repeat(50_000);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field${index}`, long]));
    const deep = { a: { b: { c: { d: long } } } };
    logger.warn(long, { ...many, deep, list: Array(500).fill(deep), error: new Error(long) });
    expect(lines[0]?.length).toBeLessThan(50_000);
    if (format === 'pretty') expect(lines[0]?.length).toBeLessThanOrEqual(1_000);
  });

  it('a value that throws when it is read as text is still a line', () => {
    const { lines, logger } = logging({ format });
    const hostile = {
      toString() {
        throw new Error('no');
      },
    };
    logger.warn('odd', { hostile, error: Object.assign(Object.create(hostile), { message: 1 }), at: 1n });
    expect(lines).toHaveLength(1);
  });
});

describe('lines of the SDK', () => {
  const failure = createFailure('GenerationFailed', { taskId: 'vid_1' });
  const CASES: [what: string, level: 'info' | 'warn', message: string, fields: Record<string, unknown>][] = [
    ['the state of a worker', 'info', 'Worker state changed', { sdkComponent: 'worker' }],
    ['a worker without workflows', 'warn', 'No workflows registered. Did you…', { sdkComponent: 'worker' }],
    ['the failure of a job, which has a line of ours', 'warn', 'Workflow failed', { error: failure }],
    ['a failed poll', 'warn', 'Activity failed', { ...ACTIVITY, activityType: 'pollVideo', error: failure }],
  ];
  it.each(CASES)('about %s are only for debugging', (_, level, message, fields) => {
    const { lines, logger } = logging({ level: 'info' });
    logger[level](message, fields);
    expect(lines).toEqual([]);
    const debugging = logging({ level: 'debug' });
    debugging.logger[level](message, fields);
    expect(debugging.parsed()).toEqual([expect.objectContaining({ level: 'debug', message })]);
  });

  it('about anything else keep their level', () => {
    const { parsed, logger } = logging();
    logger.warn('Workflow failed', { error: new TypeError('a bug') });
    logger.warn('Activity failed', { ...ACTIVITY, error: failure });
    logger.error('Failed to connect', { sdkComponent: 'core' });
    expect(parsed().map(({ level }) => level)).toEqual(['warn', 'warn', 'error']);
  });
});
