import { reportLines, type StatusReport } from '../../src/cli/status';
import { STEERING } from '../support/hostile-text';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const report = (more: Partial<StatusReport>): StatusReport => ({
  workflowId: 'fox-1',
  runId: 'run',
  kind: 'job',
  state: 'failed',
  phase: 'failed',
  failure: 'DeadlineExceeded',
  taskId: 'task_1',
  startedAt: '2026-11-16T11:00:00.000Z',
  endedAt: '2026-11-16T11:10:00.000Z',
  taskQueue: 'films',
  commands: ['videogen retry fox-1'],
  ...more,
});

test('a failed job shows what happened, what to do, and the command', () => {
  const error = {
    type: 'DeadlineExceeded',
    message: 'It took too long.',
    taskId: 'task_1',
    advice: 'Try again.',
  };
  expect(reportLines(report({ error, summary: 'text to video: "A fox"' }), NOW)).toEqual([
    'job       fox-1',
    'request   text to video: "A fox"',
    'state     failed: DeadlineExceeded',
    'task      task_1',
    'problem   It took too long.',
    'started   2026-11-16T11:00:00.000Z, 60 min ago',
    'ended     2026-11-16T11:10:00.000Z, after 10 min',
    'queue     films',
    'advice    Try again.',
    '  videogen retry fox-1',
  ]);
});

test('a job of several services shows which of them made no task, and why', () => {
  const refusedBy = [
    {
      service: 'fal',
      failure: 'Unauthorized' as const,
      message: 'The service refused the API key: HTTP 401.',
    },
  ];
  const progress = { phase: 'waiting' as const, polls: 1, startedAt: '', deadlineAt: '', refusedBy };
  const lines = reportLines(report({ service: 'veo', progress }), NOW);
  expect(lines.slice(4, 6)).toEqual([
    'service   veo',
    'refused   fal: The service refused the API key: HTTP 401.',
  ]);
});

test('a running one without a worker shows what Temporal knows', () => {
  const lines = reportLines(
    report({
      state: 'running',
      phase: 'submitting',
      failure: undefined,
      endedAt: undefined,
      taskId: undefined,
      isCancelling: true,
      retrying: { activity: 'submitVideo', attempt: 3, message: 'HTTP 429' },
      note: 'No worker answers, so this is what Temporal knows.',
    }),
    NOW,
  );
  expect(lines).toContain('state     running: cancellation requested');
  expect(lines).toContain('phase     submitting');
  expect(lines).toContain('retry     attempt 3 of submitVideo: HTTP 429');
  expect(lines).toContain('note      No worker answers, so this is what Temporal knows.');
});

test('a held one says until when somebody has to decide', () => {
  const hold = {
    since: '2026-11-16T11:00:00.000Z',
    until: '2026-11-17T11:00:00.000Z',
    message: 'A paid task may exist.',
  };
  const { failure: _failure, endedAt: _endedAt, taskId: _taskId, ...running } = report({});
  const progress = {
    phase: 'needs-decision' as const,
    polls: 0,
    startedAt: running.startedAt,
    deadlineAt: '2026-11-16T12:00:00.000Z',
    hold,
  };
  const held = { ...running, state: 'needs-decision' as const, phase: 'needs-decision' as const, progress };
  expect(reportLines(held, NOW)).toEqual(
    expect.arrayContaining([
      'problem   A paid task may exist.',
      'decide by 2026-11-17T11:00:00.000Z, in 23 h',
    ]),
  );
  expect(
    reportLines({ ...held, progress: { ...progress, hold: { ...hold, until: hold.since } } }, NOW),
  ).toContain('decide by 2026-11-16T11:00:00.000Z, in 0 s');
});

test('names steer no terminal', () => {
  const hostile = 'a\u001b[31mb\u0007\u202ec';
  const lines = reportLines(report({ workflowId: hostile, taskId: hostile, taskQueue: hostile }), NOW);
  expect(lines.join('')).not.toMatch(STEERING);
});
