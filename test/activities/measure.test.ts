import { MockActivityEnvironment } from '@temporalio/testing';
import { callWithinLimits } from '../../activities/call-within-limits';
import { createSendWebhook } from '../../activities/send-webhook';
import { RateLimiter, ServiceFault, type VideoService, type WebhookSender } from '../../src/service';
import { openVideoBytes } from '../support/open-video-bytes';
import { meterInto, type Recorded } from '../support/recording-meter';
import { loggerInto } from './activity-world';
import { createMemoryWorld, cutAfter, inspectedVideo, TASK } from './download/memory-world';

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

describe('a call of the service', () => {
  const call = (work: () => Promise<unknown>, name?: string) =>
    recordedBy(() =>
      callWithinLimits({ rateLimiter: new RateLimiter(), ...(name && { name }) }, 'poll', work),
    );
  const counted = (result: string, more = {}) => [
    { name: 'videogen_service_calls', value: 1, labels: { call: 'poll', result, ...more } },
  ];

  test('is counted by what became of it', async () => {
    expect(await call(async () => 'answer')).toStrictEqual(counted('passed'));
  });

  test('is counted with the name of its service, if it has one', async () => {
    expect(await call(async () => 'answer', 'veo')).toStrictEqual(counted('passed', { service: 'veo' }));
  });

  test('is not counted when its end says nothing about the service', async () => {
    expect(await call(() => Promise.reject(new Error('cancelled')))).toStrictEqual([]);
  });

  test.each([
    ['answered', { status: 429, limited: true }, 'limited'],
    ['answered', { status: 401 }, 'refused'],
    ['refused', {}, 'refused'],
    ['cut', {}, 'unanswered'],
    ['unreadable', {}, 'unanswered'],
    ['not-sent', {}, 'unanswered'],
    ['not-allowed', {}, undefined],
  ] as const)('that ends with the fault %s %j counts as %s', async (kind, facts, result) => {
    const recorded = await call(() => Promise.reject(new ServiceFault(kind, facts)));
    expect(recorded).toStrictEqual(result === undefined ? [] : counted(result));
  });

  test('is counted as paused when nothing is sent, because of an earlier 429', async () => {
    const rateLimiter = new RateLimiter();
    const limited = () =>
      Promise.reject(new ServiceFault('answered', { limited: true, retryAfterMs: 60_000 }));
    await recordedBy(() => callWithinLimits({ rateLimiter }, 'poll', limited));
    const recorded = await recordedBy(() => callWithinLimits({ rateLimiter }, 'poll', async () => 'answer'));
    expect(recorded).toStrictEqual(counted('paused'));
  });
});

describe('of a job', () => {
  let video: Buffer;
  beforeAll(async () => {
    video = await inspectedVideo();
  });

  const activitiesWith = (service: Partial<VideoService> = {}) =>
    createMemoryWorld(video, { service }).activities;
  const named = (recorded: Recorded[], name: string) => recorded.filter((one) => one.name === name);

  test('the submit waits from when it is scheduled until its answer, in seconds', async () => {
    const { submitVideo } = activitiesWith();
    const scheduledTimestampMs = Date.now() - 90_500;
    const info = { scheduledTimestampMs, currentAttemptScheduledTimestampMs: scheduledTimestampMs };
    const recorded = await recordedBy(() => submitVideo({ request: { prompt: 'A red fox' } }), info);
    const [wait] = named(recorded, 'videogen_submit_wait_seconds');
    expect(wait?.value).toBeGreaterThanOrEqual(90.5);
    expect(wait?.value).toBeLessThan(150);
  });

  test('the bytes that were received are added up, and their speed is observed', async () => {
    const { downloadVideo } = activitiesWith();
    const recorded = await recordedBy(() => downloadVideo({ taskId: TASK }));
    expect(named(recorded, 'videogen_download_bytes')).toMatchObject([{ value: video.length, labels: {} }]);
    const [speed] = named(recorded, 'videogen_download_speed_bytes_per_second');
    expect(speed?.value).toBeGreaterThan(0);
    expect(speed?.value).toBeLessThanOrEqual(video.length * 1_000);
  });

  test('nothing is added when nothing was received', async () => {
    const { downloadVideo } = activitiesWith({ open: async () => cutAfter(0, openVideoBytes(video)) });
    const recorded = await recordedBy(() => downloadVideo({ taskId: TASK }));
    expect(recorded.filter(({ name }) => name.startsWith('videogen_download'))).toEqual([]);
  });
});

test.each([
  [200, 'delivered'],
  [500, 'retried'],
  [410, 'given_up'],
])('a webhook that is answered with %d counts as %s', async (status, result) => {
  const sender = {
    defaultUrl: 'https://example.com/',
    send: async () => ({ status }),
  } as object as WebhookSender;
  const sendWebhook = createSendWebhook(sender);
  const delivery = { id: 'fox-1', event: 'job.failed', job: 'fox', status: 'failed' } as never;
  expect(await recordedBy(() => sendWebhook(delivery))).toEqual([
    { name: 'videogen_webhooks', value: 1, labels: { result } },
  ]);
});
