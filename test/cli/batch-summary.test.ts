import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { summaryLines } from '../../src/cli/batch';
import type { BatchResult, ItemResult } from '../../src/contract/batch';
import type { FailureType } from '../../src/contract/failure-table';
import { stored } from '../support/item-results';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'videogen-summary-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const failed = (item: number): ItemResult => ({
  item,
  name: `foxes-${item}`,
  outcome: 'failed',
  failure: 'GenerationFailed',
  message: `No fox ${item}.`,
  details: {},
});

const summary = (
  counts: Omit<BatchResult, 'results'>,
  uri = pathToFileURL(join(folder, 'results.jsonl')).href,
) => summaryLines({ ...counts, results: { key: 'results.jsonl', uri } }, {});

function write(results: ItemResult[]) {
  writeFileSync(join(folder, 'results.jsonl'), results.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

test('a batch without failures has a summary of one sentence, and its results are not read', async () => {
  expect(await summary({ items: 3, succeeded: 3, failed: 0 })).toEqual(['Stored 3 of 3 videos.']);
});

test('each failed item has a line with its number', async () => {
  write([stored(1), failed(2), stored(3), failed(10)]);
  expect(await summary({ items: 10, succeeded: 2, failed: 2 })).toEqual([
    'Stored 2 of 10 videos, 2 failed:',
    '  2: No fox 2.',
    '  10: No fox 10.',
  ]);
});

test.each<[FailureType, string[]]>([
  ['GenerationFailed', []],
  ['Unauthorized', ['Run the batch again to retry 1 of them.']],
])('after a failure %s the summary says whether to run the command again: %j', async (failure, expected) => {
  write([failed(1), { ...failed(2), failure } as ItemResult]);
  const lines = await summary({ items: 2, succeeded: 0, failed: 2 });
  expect(lines.slice(3)).toEqual(expected);
});

test.each([
  [10, []],
  [11, ['  and 1 more, listed in the results']],
  [400, ['  and 390 more, listed in the results']],
])('of %d failures ten are shown', async (count, rest) => {
  write(Array.from({ length: count }, (_, index) => failed(index + 1)));
  const lines = await summary({ items: count, succeeded: 0, failed: count });
  expect(lines).toHaveLength(11 + rest.length);
  expect(lines[10]).toBe('  10: No fox 10.');
  expect(lines.slice(11)).toEqual(rest);
});

test.each([
  ['do not exist', undefined],
  ['are in another storage', 'memory:///results.jsonl'],
  ['are malformed', 'broken'],
])('if the results %s, the summary has only the numbers', async (_what, uri) => {
  if (uri === 'broken') writeFileSync(join(folder, 'results.jsonl'), '{"item":1\n');
  const location = uri === 'broken' ? undefined : uri;
  expect(await summary({ items: 3, succeeded: 1, failed: 2 }, location)).toEqual([
    'Stored 1 of 3 videos, 2 failed.',
  ]);
});
