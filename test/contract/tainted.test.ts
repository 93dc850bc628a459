import { isTainted } from '../../src/contract/redact';

const KEY = 'sk-live-4f9a8b7c6d5e4f3a2b1c';
const secrets = { keys: [KEY], wholeValues: [] };
const bytes = Buffer.from(KEY);

it.each([
  ['the key', KEY],
  ['the key among other text', `task-${KEY.toUpperCase()}-1`],
  ['all but its last characters', KEY.slice(0, -3)],
  ['all but its first characters', KEY.slice(3)],
  ['its second half', KEY.slice(KEY.length / 2)],
  ['its hex', bytes.toString('hex')],
  ['its hex in capitals', `t-${bytes.toString('hex').toUpperCase()}`],
  ['its base64', bytes.toString('base64')],
  ['its base64url after other bytes', Buffer.from(`x:${KEY}`).toString('base64url')],
  ['its escapes', KEY.replace(/[a-f]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)],
])('a task id that holds %s is tainted', (_what, id) => {
  expect(isTainted(id, secrets)).toBe(true);
});

it.each(['task-1', 'sk-live-task-0001', 'task-4f9a8b7c-0000', '4f9a8b7c-6d5e-5000-8000-000000000000'])(
  'a task id that shares only a small piece with the key is accepted: %s',
  (id) => {
    expect(isTainted(id, secrets)).toBe(false);
  },
);

it('a key of eight characters taints a task id, one of seven does not', () => {
  expect(isTainted('task-a1b2c3d4', { keys: ['a1b2c3d4'], wholeValues: [] })).toBe(true);
  expect(isTainted('task-a1b2c3d', { keys: ['a1b2c3d'], wholeValues: [] })).toBe(false);
});

it('a key that is an ordinary word taints no task id', () => {
  expect(isTainted('the-key-1', { keys: ['key', ''], wholeValues: [] })).toBe(false);
});
