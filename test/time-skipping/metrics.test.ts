import { freePort } from '../../src/temporal-server/loopback-port';
import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { prometheusMetrics } from '../../src/worker/worker-monitor';
import { captureLogs } from '../support/logs';
import { readMetrics } from '../support/read-metrics';
import { inWorld } from '../support/world';

const MINUTE = 60_000;
const request = { prompt: 'A red fox' };
const polling = { min: '1m', max: '1m' };

let env: VideoTestEnvironment;
beforeAll(async () => {
  captureLogs(prometheusMetrics(`127.0.0.1:${await freePort()}`));
  env = await createVideoTestEnvironment();
});
afterAll(() => env.teardown());

/** The count and the sum of a histogram. */
async function observed(histogram: string): Promise<number[]> {
  const metrics = await readMetrics();
  return [metrics.get(`${histogram}_count`) ?? 0, metrics.get(`${histogram}_sum`) ?? 0];
}

test('how long a task took, and how long its video lay ready, is measured of a task of the job and not of an adopted one', async () => {
  await inWorld(env, { jobTimeMs: 1.5 * MINUTE }, async ({ videos, service }) => {
    await videos.execute({ request, polling });
    const [tasks, seconds = 0] = await observed('videogen_generation_seconds');
    const [ready, lag = 0] = await observed('videogen_ready_lag_seconds');
    expect([tasks, ready]).toEqual([1, 1]);
    expect(seconds).toBeGreaterThanOrEqual(120);
    expect(seconds).toBeLessThan(150);
    expect(lag).toBeGreaterThanOrEqual(60);
    expect(lag).toBeLessThan(seconds);

    const { taskId } = await service.start(request, { idempotencyKey: 'of somebody else' });
    await env.temporal.sleep(2 * MINUTE);
    await videos.execute({ taskId, polling });
    expect(await observed('videogen_job_polls')).toEqual([2, 3]);
    expect(await observed('videogen_generation_seconds')).toEqual([tasks, seconds]);
    expect(await observed('videogen_ready_lag_seconds')).toEqual([ready, lag]);
  });
});
