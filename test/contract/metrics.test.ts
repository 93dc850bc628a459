import { FAILURES } from '../../src/contract/failure-table';
import { seriesOf } from '../../src/contract/metrics';
import { count, observe, startJobCounters } from '../../src/contract/record-metric';
import { meterInto, type Recorded } from '../support/recording-meter';

let recorded: Recorded[];
beforeEach(() => {
  recorded = [];
});

test('a metric has a series for each combination of its labels, and one without labels', () => {
  expect(seriesOf({ call: ['submit', 'poll'], result: ['passed', 'refused'] })).toEqual([
    { call: 'submit', result: 'passed' },
    { call: 'submit', result: 'refused' },
    { call: 'poll', result: 'passed' },
    { call: 'poll', result: 'refused' },
  ]);
  expect(seriesOf({})).toEqual([{}]);
});

test('the series of a label that operators choose are not known', () => {
  expect(seriesOf({ task_queue: undefined, call: ['submit'] })).toEqual([]);
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
  observe(meter, 'videogen_generation_seconds', {}, 90.5);
  observe(meter, 'videogen_generation_seconds', {}, -2);
  expect(recorded.map(({ value }) => value)).toEqual([90.5, 0]);
});

test('what can happen to jobs is counted from 0, and nothing else', () => {
  startJobCounters(meterInto(recorded));
  const seriesIn = (name: string) => recorded.filter((one) => one.name === name).map(({ labels }) => labels);
  expect(seriesIn('videogen_jobs')).toEqual(
    ['succeeded', ...Object.keys(FAILURES)].map((outcome) => ({ outcome })),
  );
  expect(seriesIn('videogen_holds_started')).toEqual([{}]);
  expect(new Set(recorded.map(({ name }) => name))).toEqual(
    new Set(['videogen_jobs', 'videogen_holds_started', 'videogen_holds_ended']),
  );
  expect(recorded.every(({ value }) => value === 0)).toBe(true);
});
