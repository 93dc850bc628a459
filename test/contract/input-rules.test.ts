import {
  decisionProblem,
  fieldProblems,
  isCaller,
  isPlainKey,
  isTaskId,
  isWorkflowId,
  JOB_FIELDS,
} from '../../src/contract/input-rules';

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

it.each(['video-1', 'a', 'x'.repeat(1_000), 'ä'.repeat(500), 'jobs-1', 'our/jobs', 'jobs.mp4'])(
  'a job may be named %s',
  (name) => {
    expect(isWorkflowId(name)).toBe(true);
  },
);

it.each(['', '  ', 'x'.repeat(1_001), 'ä'.repeat(501), 'half \ud83e', 1, null, 'Tasks', 'gateway/1'])(
  'a job cannot be named %j',
  (name) => {
    expect(isWorkflowId(name)).toBe(false);
  },
);

// A quotation mark takes two bytes as JSON.
it.each([
  ['x', 1_000],
  ['ä', 500],
  ['"', 500],
])('a task id of 1,000 bytes as JSON is accepted, one of more is not: %s', (letter, most) => {
  expect(isTaskId(letter.repeat(most))).toBe(true);
  expect(isTaskId(letter.repeat(most + 1))).toBe(false);
});

it('a storage key has at most 500 characters', () => {
  const folders = `${'a'.repeat(240)}/${'b'.repeat(240)}/`;
  expect(isPlainKey(`${folders}${'c'.repeat(500 - folders.length)}`)).toBe(true);
  expect(isPlainKey(`${folders}${'c'.repeat(501 - folders.length)}`)).toBe(false);
});

it('a storage key may have a colon, but no drive', () => {
  expect(isPlainKey('foxes/take:2.mp4')).toBe(true);
  expect(isPlainKey('c:/foxes.mp4')).toBe(false);
});

it.each([
  'http://example.com',
  'HTTPS://example.com:8443/hooks?a=1#b',
  `https://example.com/${'x'.repeat(1_980)}`,
])('a job may call back %s', (callbackUrl) => {
  expect(fieldProblems({ callbackUrl }, JOB_FIELDS)).toEqual([]);
});

it.each([
  5,
  [['https://example.com']],
  'example.com',
  'ftp://example.com/https://example.com',
  'https://example.com/two words',
  'https://example.com/füchse',
  'https://[::1',
  'https://:8443/hooks',
  'https://me@example.com',
  'https://:secret@example.com',
  'https://me:secret@example.com',
  `https://example.com/${'x'.repeat(1_981)}`,
])('a job cannot call back %j', (callbackUrl) => {
  expect(fieldProblems({ callbackUrl }, JOB_FIELDS)[0]).toMatch(/^callbackUrl must be an http\(s\) URL/);
});

it.each(['a', '7', 'web_shop', 'a__b', 'x'.repeat(63)])('a caller may be named %s', (name) => {
  expect(isCaller(name)).toBe(true);
});

it.each(['', '_a', 'a_', 'Shop', 'web-shop', 'web shop', 'x'.repeat(64), 7, [['shop']], null])(
  'a caller cannot be named %j',
  (name) => {
    expect(isCaller(name)).toBe(false);
  },
);
