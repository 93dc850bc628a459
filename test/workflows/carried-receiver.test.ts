import { Job, type JobHost } from '../../workflows/job';

const host: JobHost = {
  name: 'fox',
  resetRuns: undefined,
  warnedWords: new Set(),
  loadRequest: async () => ({ prompt: 'A fox' }),
  changed: () => undefined,
  recordTask: () => undefined,
};
const ROOM_BYTES = 1_000;

test('a job that continues as new still knows that its worker has a receiver', () => {
  const job = new Job({}, host);
  expect(new Job({}, host, job.carry(ROOM_BYTES)).hasReceiver).toBe(false);
  job.recordReceiver(true);
  // A later worker may have none.
  job.recordReceiver(undefined);
  expect(new Job({}, host, job.carry(ROOM_BYTES)).hasReceiver).toBe(true);
});

test('an item of a batch has no receiver, whatever its worker has', () => {
  const item = new Job({}, { ...host, item: 1 });
  item.recordReceiver(true);
  expect(item.hasReceiver).toBe(false);
});
