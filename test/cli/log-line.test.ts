import { logLine } from '../../src/cli/log-line';
import { STEERING } from '../support/hostile-text';

const entry = {
  level: 'WARN',
  message: 'the job\u001b[2J failed',
  timestampNanos: 1_750_000_000_000_000_000n,
} as const;

test('a line of the log has no control character, whatever names are in it', () => {
  expect(logLine({ ...entry, meta: undefined })).toBe('2025-06-15T15:06:40.000Z [WARN] the job failed\n');
  const workflowId = 'fox\u001b]0;title\u0007\u202e\u009b2J';
  const line = logLine({ ...entry, meta: { workflowId, error: new Error(workflowId) } });
  expect(line).not.toMatch(STEERING);
  expect(line).toContain('workflowId:');
});
