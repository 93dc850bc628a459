import { parseRequest } from '../../src/contract/request';
import { parseRequestLines } from '../../src/contract/request-lines';
import {
  cutToBytes,
  firstThatFit,
  itemCountProblem,
  jsonBytes,
  LARGEST_REQUEST_BYTES,
  requestSizeProblem,
} from '../../src/contract/sizes';

const withPrompt = (bytes: number) => ({ prompt: 'x'.repeat(bytes - jsonBytes({ prompt: '' })) });

describe('a request', () => {
  it('may be as large as the limit, and no larger', () => {
    const largest = withPrompt(LARGEST_REQUEST_BYTES);
    expect(jsonBytes(largest)).toBe(LARGEST_REQUEST_BYTES);
    expect(parseRequest(largest)).toEqual({ ok: true, request: largest });
    expect(parseRequest(withPrompt(LARGEST_REQUEST_BYTES + 1))).toEqual({
      ok: false,
      problem: 'the request is 1.6 MB; at most 1.5 MB fit into a message of Temporal: shorten it',
    });
  });

  it('is measured in bytes, not in characters', () => {
    expect(requestSizeProblem({ prompt: '狐'.repeat(600_000) })).toContain('the request is 1.9 MB');
  });

  it('that is too large because of its image should link to it', () => {
    const image_url = `data:image/png;base64,${'A'.repeat(2_300_000)}`;
    expect(requestSizeProblem({ prompt: 'A fox', image_url })).toBe(
      'the request is 2.4 MB; at most 1.5 MB fit into a message of Temporal: give image_url as a link',
    );
  });

  it('of a file is named by its line', () => {
    const lines = `{"prompt":"A fox"}\n${JSON.stringify(withPrompt(2_000_000))}\n`;
    expect(parseRequestLines(lines)).toMatchObject({
      problem: expect.stringMatching(/^line 2: the request is 2\.0 MB/),
    });
  });

  it('whose further fields cannot be written as JSON is refused, and nothing is thrown', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(parseRequest({ prompt: 'A fox', model: circle }, ['model'])).toEqual({
      ok: false,
      problem: 'the request cannot be written as JSON',
    });
  });
});

describe('of a list', () => {
  it.each([
    [{ most: 2, bytes: 1_000 }, ['a', 'b']],
    [{ most: 9, bytes: 6 }, ['a', 'b']],
    [{ most: 9, bytes: 5 }, ['a']],
    [{ most: 9, bytes: 1 }, ['a']],
    [{ most: 9, bytes: 1_000 }, ['a', 'b', 'c']],
  ])('as many fit into %j as do, and one at least', (limits, some) => {
    expect(firstThatFit(['a', 'b', 'c'], limits)).toEqual(some);
  });
});

describe('a text that is cut', () => {
  it.each(['x'.repeat(500), '狐'.repeat(500), '🦊'.repeat(500), '"'.repeat(500), '\u0000'.repeat(500)])(
    'takes no more bytes as JSON than it may, whatever is in it (%#)',
    (text) => {
      for (const most of [0, 5, 50, 300]) {
        const cut = cutToBytes(text, most);
        expect(jsonBytes(cut)).toBeLessThanOrEqual(Math.max(most, jsonBytes('')));
        expect(text.startsWith(cut.replace(/…$/, '').replace(/\p{Cs}$/u, ''))).toBe(true);
      }
    },
  );

  it('keeps most of what fits, and all of what is short', () => {
    expect(cutToBytes('a fox', 7)).toBe('a fox');
    expect(cutToBytes('x'.repeat(500), 100).length).toBeGreaterThan(80);
  });
});

it('a batch takes 100,000 requests, and one more is refused with what to do', () => {
  expect(itemCountProblem(100_000)).toBeUndefined();
  expect(itemCountProblem(100_001)).toBe(
    'it has 100001 requests; at most 100000 go into one batch: split it into several',
  );
});
