import { parseRequest, parseRequestLines } from '../../src/contract/request';
import {
  firstThatFit,
  itemCountProblem,
  jsonBytes,
  LARGEST_REQUEST_BYTES,
  LARGEST_REQUESTS_BYTES,
  LARGEST_REQUESTS_FILE_BYTES,
  requestSizeProblem,
  requestsFileProblem,
  requestsSizeProblem,
} from '../../src/contract/sizes';

const withPrompt = (bytes: number) => ({ prompt: 'x'.repeat(bytes - jsonBytes({ prompt: '' })) });

describe('a request', () => {
  it('may be as large as the limit, but no larger', () => {
    const largest = withPrompt(LARGEST_REQUEST_BYTES);
    expect(jsonBytes(largest)).toBe(LARGEST_REQUEST_BYTES);
    expect(parseRequest(largest)).toEqual({ ok: true, request: largest });
    expect(parseRequest(withPrompt(LARGEST_REQUEST_BYTES + 1))).toEqual({
      ok: false,
      problem: 'the request is 1.6 MB; at most 1.5 MB fit into a Temporal message: shorten it',
    });
  });

  it('is measured in bytes, not in characters', () => {
    expect(requestSizeProblem({ prompt: '狐'.repeat(600_000) })).toContain('the request is 1.9 MB');
  });

  it('whose image is too large should link to the image', () => {
    const image_url = `data:image/png;base64,${'A'.repeat(2_300_000)}`;
    expect(requestSizeProblem({ prompt: 'A fox', image_url })).toBe(
      'the request is 2.4 MB; at most 1.5 MB fit into a Temporal message: give image_url as a link',
    );
  });

  it('in a file is named by its line', () => {
    const lines = `{"prompt":"A fox"}\n${JSON.stringify(withPrompt(2_000_000))}\n`;
    expect(parseRequestLines(lines, 'x')).toMatchObject({
      problems: [expect.stringMatching(/^x:2: the request is 2\.0 MB/)],
    });
  });

  it('whose extra fields cannot be written as JSON is refused without a throw', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(parseRequest({ prompt: 'A fox', model: circle }, ['model'])).toEqual({
      ok: false,
      problem: 'the request cannot be written as JSON',
    });
  });
});

describe('a page of a list', () => {
  it.each([
    [{ most: 2, bytes: 1_000 }, ['a', 'b']],
    [{ most: 9, bytes: 6 }, ['a', 'b']],
    [{ most: 9, bytes: 5 }, ['a']],
    [{ most: 9, bytes: 1 }, ['a']],
    [{ most: 9, bytes: 1_000 }, ['a', 'b', 'c']],
  ])('has what fits into %j, and at least one element', (limits, some) => {
    expect(firstThatFit(['a', 'b', 'c'], limits)).toEqual(some);
  });
});

it('the requests of a batch may be as large as the limit, but no larger', () => {
  const of = (bytes: number) => ['x'.repeat(bytes - jsonBytes(['']))];
  expect(jsonBytes(of(LARGEST_REQUESTS_BYTES))).toBe(LARGEST_REQUESTS_BYTES);
  expect(requestsSizeProblem(of(LARGEST_REQUESTS_BYTES))).toBeUndefined();
  expect(requestsSizeProblem(of(LARGEST_REQUESTS_BYTES + 1))).toMatch(/^requests are 0\.9 MB together/);
});

it('a file of requests may be as large as the limit, but no larger', () => {
  expect(requestsFileProblem(LARGEST_REQUESTS_FILE_BYTES)).toBeUndefined();
  expect(requestsFileProblem(LARGEST_REQUESTS_FILE_BYTES + 1)).toBe(
    'the file is larger than 100.0 MB; split it into several batches',
  );
});

it('a batch accepts 100,000 requests, and one more is refused with the fix', () => {
  expect(itemCountProblem(100_000)).toBeUndefined();
  expect(itemCountProblem(100_001)).toBe(
    'there are 100001 requests; a batch has at most 100000: split them into several batches',
  );
});
