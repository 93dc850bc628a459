import type { ListCommandOptions } from '../../src/cli/list';
import { readFilters } from '../../src/cli/list';
import { similarNames } from '../../src/cli/similar-names';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const limit = '50';

test.each<[Partial<ListCommandOptions>, object]>([
  [{}, { limit: 50 }],
  [{ state: ['failed', 'running'] }, { states: ['running', 'failed'], limit: 50 }],
  [
    { failure: ['NoVideo'], limit: '7' },
    { failures: ['NoVideo'], limit: 7 },
  ],
  [{ since: '2h' }, { since: new Date('2026-11-16T10:00:00Z'), limit: 50 }],
  [{ since: '2026-11-16' }, { since: new Date('2026-11-16T00:00:00Z'), limit: 50 }],
])('list %j asks for %j', (options, filters) => {
  expect(readFilters({ limit, ...options }, NOW)).toEqual(filters);
});

test.each([
  { since: 'yesterday' },
  { since: '' },
  { since: '2026-13-45' },
  { since: '1e400d' },
  { limit: '0' },
  { limit: '-1' },
  { limit: '1e3' },
  { limit: '10001' },
])('list %j is refused with the fix', (options) => {
  expect(() => readFilters({ limit, ...options }, NOW)).toThrow(/^--(since|limit) is ".*": give .+\.$/);
});

test('a mistyped name brings the most similar ones, and a stranger none', () => {
  const names = ['fox-1', 'fox-2', 'video-1f0c3a9b', 'hare'];
  expect(similarNames('fox-11', names)).toEqual(['fox-1', 'fox-2']);
  expect(similarNames('FOX-1', names)[0]).toBe('fox-1');
  expect(similarNames('video-1f', names)).toEqual(['video-1f0c3a9b']);
  expect(similarNames('lynx', names)).toEqual([]);
  expect(similarNames('x'.repeat(1_000), ['x'.repeat(999)])).toEqual([]);
});
