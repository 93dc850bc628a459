import type { NativeConnection } from '@temporalio/worker';
import { TemporalGauges } from '../../src/worker/temporal-gauges';

const SLOWEST_ANSWER_MS = 2_500;

/** As the SDK's core, which goes on past the deadline while nobody listens. */
const deaf = { withDeadline: () => new Promise(() => {}) } as unknown as NativeConnection;

test('a Temporal that is gone is reported in time for probes and scrapers', async () => {
  const debug = jest.fn();
  const gauges = new TemporalGauges({
    connection: () => deaf,
    namespace: 'default',
    submitQueues: ['films-submit'],
    countsHeldJobs: true,
    log: { debug },
  });
  const beganMs = performance.now();
  const [health, samples] = await Promise.all([gauges.health(), gauges.samples()]);
  expect(performance.now() - beganMs).toBeLessThan(SLOWEST_ANSWER_MS);
  expect(health).toEqual({ part: 'temporal', status: 'unready', reason: 'no answer within 2 s' });
  expect(samples).toEqual([]);
  expect(debug).toHaveBeenCalledTimes(2);
});
