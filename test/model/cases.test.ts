import { BATCH_CASES, CASES } from './cases';
import { compare } from './compare';
import { compareBatch } from './compare-batch';
import { theatreOfFile } from './theatre-of-file';

const theatre = theatreOfFile();

test.each(CASES)('the model allows what happens when $name', async ({ script }) => {
  const performances = await theatre().play([script]);
  expect(performances.flatMap(compare)).toEqual([]);
});

test.each(BATCH_CASES)('the model allows what happens to a batch when $name', async ({ script }) => {
  const performances = await theatre().playBatches([script]);
  expect(performances.flatMap(compareBatch)).toEqual([]);
});
