import { parseBatchInput } from '../../src/contract/batch-input';
import {
  claimsToBeLastFrame,
  continueFromProblem,
  lastFrameUrl,
  parseLastFrameUrl,
  withLastFrame,
} from '../../src/contract/continue-from';
import { describeConflict, identityOf } from '../../src/contract/job-identity';
import { parseJobInput } from '../../src/contract/job-input';
import { parseRequest } from '../../src/contract/request';

const request = { prompt: 'The fox looks up' };

test.each(['fox-1', 'a/b c', 'Füchse 🦊', '%41', '?#&', 'x'.repeat(1_000)])(
  'a reference to the job %j is a URL that a request may have, and leads back to it',
  (job) => {
    const url = lastFrameUrl(job);
    expect(parseLastFrameUrl(url)).toBe(job);
    expect(parseRequest({ ...request, image_url: url }).ok).toBe(true);
  },
);

test.each([
  ['', false],
  ['videogen-last-frame:', true],
  ['VIDEOGEN-LAST-FRAME:fox', true],
  ['videogen-last-frame:a b', true],
  ['videogen-last-frame:%zz', true],
  ['videogen-last-frame:%66ox', true],
  [`videogen-last-frame:${'x'.repeat(1_001)}`, true],
  ['videogen-image:fox', false],
  ['https://example.com/fox.png', false],
])('%j names no job', (url, claims) => {
  expect([parseLastFrameUrl(url), claimsToBeLastFrame(url)]).toEqual([undefined, claims]);
});

test('continueFrom becomes the image of the request, so it makes another job', () => {
  const parsed = parseJobInput({ request, continueFrom: 'fox-1' });
  const image_url = 'videogen-last-frame:fox-1';
  expect(parsed).toEqual({ ok: true, input: { request: { ...request, image_url } } });
  // As a program writes it that does not use our client.
  const [first, second, none] = [
    { request, continueFrom: 'fox-1' },
    { request, continueFrom: 'fox-2' },
    { request },
  ];
  expect(describeConflict('fox', identityOf(first), identityOf(withLastFrame(first)))).toBeUndefined();
  for (const other of [second, none])
    expect(describeConflict('fox', identityOf(first), identityOf(other))?.message).toContain('image_url');
});

test.each([
  [{ taskId: 't-1', continueFrom: 'fox-1' }, 'continueFrom needs a request'],
  [
    { request: { ...request, image_url: 'https://a.example/a.png' }, continueFrom: 'fox-1' },
    'give one of them',
  ],
  [{ request, continueFrom: '' }, 'continueFrom must be the name of a job'],
  [{ request, continueFrom: 7 }, 'continueFrom must be the name of a job'],
  [{ request, extras: ['gif'] }, 'extras must be a list of poster and last-frame, each at most once'],
  [
    { request, extras: ['poster', 'poster'] },
    'extras must be a list of poster and last-frame, each at most once',
  ],
])('%j is refused', (input, problem) => {
  expect(parseJobInput(input)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
});

test('null is absent, as some languages send it', () => {
  expect(continueFromProblem({ request, continueFrom: null })).toBeUndefined();
  expect(withLastFrame({ request, continueFrom: null })).toEqual({ request, continueFrom: null });
});

test('a batch has extras for all items, and an item names the job that it continues from itself', () => {
  const items = [{ ...request, image_url: lastFrameUrl('fox-1') }];
  expect(parseBatchInput({ requests: items, extras: ['poster'] })).toMatchObject({
    ok: true,
    input: { requests: items, extras: ['poster'] },
  });
  expect(parseBatchInput({ requests: items, continueFrom: 'fox-1' })).toEqual({
    ok: false,
    problem: expect.stringContaining('videogen-last-frame:fox-1'),
  });
});
