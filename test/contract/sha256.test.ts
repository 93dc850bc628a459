import { createHash } from 'node:crypto';
import { sha256 } from '../../src/contract/sha256';

const expected = (text: string) => createHash('sha256').update(text).digest('hex');

test('the digest equals that of Node, for every length around a block and for long texts', () => {
  for (let length = 0; length <= 200; length++) {
    const text = 'a fox '.repeat(40).slice(0, length);
    expect(sha256(text)).toBe(expected(text));
  }
  for (const text of ['狐🦊é', 'x'.repeat(1_500_000), '🦊'.repeat(10_000)]) {
    expect(sha256(text)).toBe(expected(text));
  }
});
