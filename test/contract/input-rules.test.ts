import { decisionProblem, isWorkflowId } from '../../src/contract/input-rules';

it.each([
  [{ decision: 'resubmit' }],
  [{ decision: 'abandon', taskId: null }],
  [{ decision: 'adopt', taskId: 'task_1' }],
])('%j is a decision', (decision) => {
  expect(decisionProblem(decision)).toBeUndefined();
});

it.each<[unknown, string]>([
  [undefined, 'decision must be one of'],
  [null, 'decision must be one of'],
  ['adopt', 'decision must be one of'],
  [{}, 'decision must be one of'],
  [{ decision: ['adopt'] }, 'decision must be one of'],
  [{ decision: 'adopt' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: ' \n' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: { toString: 1 } }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: 'task\u001b[2J' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: 'task\u202e' }, 'taskId must be text'],
  [{ decision: 'adopt', taskId: 'task\ud800' }, 'taskId must be text'],
  [{ decision: 'resubmit', taskId: 'task_1' }, 'resubmit takes no taskId'],
  [{ decision: 'abandon', taskId: '' }, 'abandon takes no taskId'],
])('%j is not a decision, with the reason', (given, problem) => {
  expect(decisionProblem(given)).toContain(problem);
});

it.each(['video-1', 'a', 'x'.repeat(1_000), 'ä'.repeat(500)])('a job may be named %s', (name) => {
  expect(isWorkflowId(name)).toBe(true);
});

it.each(['', '  ', 'x'.repeat(1_001), 'ä'.repeat(501), 1, null])('a job cannot be named %j', (name) => {
  expect(isWorkflowId(name)).toBe(false);
});
