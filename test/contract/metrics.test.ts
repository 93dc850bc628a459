import type { MetricMeter } from '@temporalio/common';
import { count, observe } from '../../src/contract/metrics';
import { meterInto, type Recorded } from '../support/recording-meter';

let recorded: Recorded[];
beforeEach(() => {
  recorded = [];
});

test('a counter is recorded without the ending that exporters append', () => {
  const meter = meterInto(recorded);
  count(meter, 'videogen_jobs_total', { outcome: 'succeeded' });
  count(meter, 'videogen_download_bytes_total', {}, 512);
  expect(recorded).toEqual([
    { name: 'videogen_jobs', value: 1, labels: { outcome: 'succeeded' } },
    { name: 'videogen_download_bytes', value: 512, labels: {} },
  ]);
});

test('a time is recorded, and one that clocks made negative as none', () => {
  const meter = meterInto(recorded);
  observe(meter, 'videogen_generation_seconds', 90.5);
  observe(meter, 'videogen_generation_seconds', -2);
  expect(recorded.map(({ value }) => value)).toEqual([90.5, 0]);
});

test('a meter that fails disturbs nobody', () => {
  const failing = () => {
    throw new Error('no exporter');
  };
  const meter = { createCounter: failing, createHistogram: failing } as object as MetricMeter;
  expect(() => count(meter, 'videogen_jobs_total')).not.toThrow();
  expect(() => observe(meter, 'videogen_job_polls', 3)).not.toThrow();
});
