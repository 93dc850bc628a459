import { findCandidates } from '../../src/service';
import { sample } from './answer-sample';

const FIELDS = ['taskId', 'state', 'video'] as const;
const LINK = 'https://cdn.example.com/1';

/** What may be one of the missing fields, as "field path". */
const find = (body: unknown, missing: readonly (typeof FIELDS)[number][] = FIELDS) =>
  findCandidates([sample(body)], {}, () => missing).map(({ field, path }) => `${field} ${path}`);

it('what is left over in the answers is listed with its path and value, by what it may be', () => {
  const answers = [sample({ go: { to: LINK }, mood: 'cooking' }), sample({ slip: 7 })];
  expect(findCandidates(answers, {}, () => FIELDS)).toEqual([
    { field: 'taskId', path: 'slip', value: '7' },
    { field: 'state', path: 'mood', value: 'cooking' },
    { field: 'video', path: 'go.to', value: LINK },
  ]);
});

it('only what an answer lacks is looked for, and only in that answer', () => {
  const answers = [sample({ a: 'x1', b: 'cooking' }), sample({ c: 'x2', d: 'cooking' })];
  const candidates = findCandidates(answers, {}, ({ body }) => (body.includes('x1') ? ['state'] : []));
  expect(candidates).toEqual([{ field: 'state', path: 'b', value: 'cooking' }]);
});

it('what is missing may depend on what was read', () => {
  const answers = [sample({ status: 'running', slip: 7 }), sample({ mood: 'cooking', note: 8 })];
  const candidates = findCandidates(answers, {}, (_answer, { found }) =>
    found.state ? ['taskId'] : ['state'],
  );
  expect(candidates.map(({ path }) => path)).toEqual(['slip', 'mood']);
});

it('a value that is read already is not listed, with the profile in use', () => {
  const body = { clips: [{ href: LINK }], mood: 'cooking' };
  const profile = { read: { video: 'clips[].href' } };
  expect(find(body)).toEqual(['state mood', 'video clips[].href']);
  expect(findCandidates([sample(body)], profile, () => FIELDS).map(({ path }) => path)).toEqual(['mood']);
});

it('a path is listed once, and at most five for each field', () => {
  const letters = [...'abcdefg'];
  const words = Object.fromEntries(letters.map((letter) => [letter, 'cooking']));
  const ids = Object.fromEntries(letters.map((letter) => [`no_${letter}`, 7]));
  expect(find({ ...words, ...ids, list: [LINK, LINK] })).toEqual([
    ...['taskId no_a', 'taskId no_b', 'taskId no_c', 'taskId no_d', 'taskId no_e'],
    ...['state a', 'state b', 'state c', 'state d', 'state e'],
    'video list[]',
  ]);
});

describe('the id may be', () => {
  it.each([7, 'a1', 'b-2/c', '1'.repeat(200)])('%j', (value) => {
    expect(find({ a: value }, ['taskId'])).toEqual(['taskId a']);
  });

  it.each([0, 1.5, 'abc', 'two 2', '1'.repeat(201), LINK, '1\u0000'])('but not %j', (value) => {
    expect(find({ a: value }, ['taskId'])).toEqual([]);
  });
});

describe('the state may be', () => {
  it.each(['cooking', 'in_the-oven', 'готово', 'x', 'x'.repeat(40)])('%j', (value) => {
    expect(find({ a: value }, ['state'])).toEqual(['state a']);
  });

  it.each([7, '', '7up', 'P9', 'two words', 'x'.repeat(41)])('but not %j', (value) => {
    expect(find({ a: value }, ['state'])).toEqual([]);
  });
});

describe('the video may be', () => {
  it.each([LINK, 'http://cdn.example.com/1', 'HTTPS://cdn.example.com/1'])('%j', (value) => {
    expect(find({ a: value }, ['video'])).toEqual(['video a']);
  });

  it.each(['/tasks/1', '/go?to=https://cdn.example.com', 'https://', 'ftp://example.com/1', 'x', 7])(
    'but not %j',
    (value) => {
      expect(find({ a: value }, ['video'])).toEqual([]);
    },
  );
});

it.each(['message', 'msg', 'api_version', 'date', 'time', 'timestamp', 'created', 'updatedAt', 'data.at'])(
  'what %s has is about the call or its time',
  (path) => {
    const [key = '', inner] = path.split('.');
    const body = (value: unknown) => ({ [key]: inner === undefined ? value : { [inner]: value } });
    expect(find(body('accepted'))).toEqual([]);
    expect(find(body(1_700_000_000))).toEqual([]);
  },
);
