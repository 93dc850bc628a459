import { createHash } from 'node:crypto';
import { sha256 } from '../../src/contract/sha256';

const expected = (text: string) => createHash('sha256').update(text).digest('hex');

test('the digest equals that of Node, for every length around a block', () => {
  for (let length = 0; length <= 200; length++) {
    const text = 'a fox '.repeat(40).slice(0, length);
    expect(sha256(text)).toBe(expected(text));
  }
});

test.each(['狐🦊é', 'x'.repeat(70_000), '🦊'.repeat(10_000)])(
  'the digest of a long text or of several bytes a character equals that of Node',
  (text) => {
    expect(sha256(text)).toBe(expected(text));
  },
);
