import type { MetricMeter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import {
  callResultOf,
  measureCall,
  measureReceived,
  measureSpeed,
  measureSubmitWait,
  measureWebhook,
} from '../../activities/measure';
import { ServiceFault } from '../../src/service';
import { meterInto, type Recorded } from '../support/recording-meter';
import { eventsIn, loggerInto } from './activity-world';

/** What is recorded while an activity measures. */
async function recordedBy(measure: () => void, info = {}): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const environment = new MockActivityEnvironment(info, { metricMeter: meterInto(recorded) });
  await environment.run(async () => measure());
  return recorded;
}

describe('a call of the service', () => {
  const name = 'videogen_service_calls';

  test('is counted by what became of it', async () => {
    expect(await recordedBy(() => measureCall('poll', 'passed'))).toStrictEqual([
      { name, value: 1, labels: { call: 'poll', result: 'passed' } },
    ]);
  });

  test('is counted with the name of its service, if it has one', async () => {
    expect(await recordedBy(() => measureCall('submit', 'refused', 'veo'))).toStrictEqual([
      { name, value: 1, labels: { call: 'submit', result: 'refused', service: 'veo' } },
    ]);
  });

  test('is not counted when its end says nothing about the service', async () => {
    expect(await recordedBy(() => measureCall('submit', callResultOf(new Error('cancelled'))))).toStrictEqual(
      [],
    );
  });

  test.each([
    ['answered', { status: 429, limited: true }, 'limited'],
    ['answered', { status: 401 }, 'refused'],
    ['refused', {}, 'refused'],
    ['cut', {}, 'unanswered'],
    ['unreadable', {}, 'unanswered'],
    ['not-sent', {}, 'unanswered'],
    ['not-allowed', {}, undefined],
  ] as const)('that ends with the fault %s %j counts as %s', (kind, facts, result) => {
    expect(callResultOf(new ServiceFault(kind, facts))).toBe(result);
  });
});

test('a submit waits from when it is scheduled until it starts, in seconds', async () => {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(1_090_500);
  const recorded = await recordedBy(measureSubmitWait, { scheduledTimestampMs: 1_000_000 }).finally(() =>
    clock.mockRestore(),
  );
  expect(recorded).toStrictEqual([{ name: 'videogen_submit_wait_seconds', value: 90.5, labels: {} }]);
});

test('bytes that were received are added up', async () => {
  expect(await recordedBy(() => measureReceived(1))).toStrictEqual([
    { name: 'videogen_download_bytes', value: 1, labels: {} },
  ]);
  expect(await recordedBy(() => measureReceived(0))).toStrictEqual([]);
});

test.each([
  [6_000, 2_000, 3_000],
  [6_000, 500, 12_000],
  [6_000, 0, 6_000_000],
])('the speed of %i bytes in %i ms is %i bytes a second', async (bytes, tookMs, value) => {
  expect(await recordedBy(() => measureSpeed(bytes, tookMs))).toStrictEqual([
    { name: 'videogen_download_speed_bytes_per_second', value, labels: {} },
  ]);
});

test('a webhook is counted by its result', async () => {
  expect(await recordedBy(() => measureWebhook('delivered'))).toStrictEqual([
    { name: 'videogen_webhooks', value: 1, labels: { result: 'delivered' } },
  ]);
});

test('what cannot be measured is logged, and the activity goes on', async () => {
  const createCounter = () => {
    throw new Error('no exporter');
  };
  const metricMeter = { createCounter } as object as MetricMeter;
  const reported: unknown[] = [];
  const environment = new MockActivityEnvironment({}, { metricMeter, logger: loggerInto(reported) });
  await environment.run(async () => measureWebhook('delivered'));
  expect(eventsIn(reported)).toMatchObject([{ event: 'notMeasured', reason: 'Error: no exporter' }]);
});
