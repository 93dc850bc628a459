import type { MetricMeter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { count, observe } from '../../src/contract/metrics';
import { ServiceFault, type VideoService } from '../../src/service';
import { openVideoBytes } from '../support/open-video-bytes';
import { meterInto, type Recorded } from '../support/recording-meter';
import { loggerInto } from './activity-world';
import { createMemoryWorld, cutAfter, inspectedVideo, reading, TASK } from './memory-world';

/** What is recorded while an activity runs, whether it fails or not. */
async function recordedBy(activity: () => Promise<unknown>, info = {}): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const environment = new MockActivityEnvironment(
    // The SDK's default is one second, too short for a submit.
    { scheduleToCloseTimeoutMs: 3_600_000, ...info },
    { metricMeter: meterInto(recorded), logger: loggerInto([]) },
  );
  await environment.run(activity).catch(() => undefined);
  return recorded;
}
const named = (recorded: Recorded[], name: string) => recorded.filter((one) => one.name === name);

describe('a call of the service', () => {
  const activitiesWith = (status: VideoService['status']) => {
    const veo = { start: never, open: never, status };
    return createMemoryWorld(undefined, { service: { status }, services: { veo } }).activities;
  };
  const never = () => Promise.reject(new Error('not asked'));
  const running = async () => reading({ state: 'running', word: 'running' });
  const poll = ({ pollVideo }: ReturnType<typeof activitiesWith>, service?: string) =>
    recordedBy(() => pollVideo({ taskId: TASK, service }));
  const counted = (result: string, more = {}) => [
    { name: 'videogen_service_calls', value: 1, labels: { call: 'poll', result, ...more } },
  ];

  test('is counted by what became of it, with the name of its service if it has one', async () => {
    expect(await poll(activitiesWith(running))).toStrictEqual(counted('passed'));
    expect(await poll(activitiesWith(running), 'veo')).toStrictEqual(counted('passed', { service: 'veo' }));
  });

  test.each([
    [new ServiceFault('answered', { status: 429, limited: true }), 'limited'],
    [new ServiceFault('answered', { status: 401 }), 'refused'],
    [new ServiceFault('refused', {}), 'refused'],
    [new ServiceFault('cut', {}), 'unanswered'],
    [new ServiceFault('unreadable', {}), 'unanswered'],
    [new ServiceFault('not-sent', {}), 'unanswered'],
    [new ServiceFault('not-allowed', {}), undefined],
    [new Error('cancelled'), undefined],
  ])(
    'that ends with %s counts as %s: an end that says nothing about the service does not count',
    async (fault, result) => {
      const recorded = await poll(activitiesWith(() => Promise.reject(fault)));
      expect(recorded).toStrictEqual(result === undefined ? [] : counted(result));
    },
  );

  test('is counted as paused when nothing is sent, because of an earlier 429', async () => {
    const limited = new ServiceFault('answered', { limited: true, retryAfterMs: 60_000 });
    const activities = activitiesWith(() => Promise.reject(limited));
    await poll(activities);
    expect(await poll(activities)).toStrictEqual(counted('paused'));
  });
});

test('the bytes that a download received are added up, and their speed is observed, if there are any', async () => {
  const video = await inspectedVideo();
  const { downloadVideo } = createMemoryWorld(video).activities;
  const recorded = await recordedBy(() => downloadVideo({ taskId: TASK }));
  expect(named(recorded, 'videogen_download_bytes')).toMatchObject([{ value: video.length, labels: {} }]);
  const [speed] = named(recorded, 'videogen_download_speed_bytes_per_second');
  expect(speed?.value).toBeGreaterThan(0);
  expect(speed?.value).toBeLessThanOrEqual(video.length * 1_000);
  const open = async () => cutAfter(0, openVideoBytes(video));
  const cut = createMemoryWorld(video, { service: { open } }).activities;
  const nothing = await recordedBy(() => cut.downloadVideo({ taskId: TASK }));
  expect(nothing.filter(({ name }) => name.startsWith('videogen_download'))).toEqual([]);
});

test('a meter that fails disturbs nobody', () => {
  const failing = () => {
    throw new Error('no exporter');
  };
  const meter = { createCounter: failing, createHistogram: failing } as object as MetricMeter;
  expect(() => count(meter, 'videogen_jobs_total')).not.toThrow();
  expect(() => observe(meter, 'videogen_job_polls', 3)).not.toThrow();
});
