import { METRICS, type MetricRow, type MetricSource } from '../../src/contract/metrics';

/** Who shows the metric in its text. */
const SHOWN_BY: Record<MetricSource, string> = {
  workflow: 'worker',
  activity: 'worker',
  worker: 'worker',
  process: 'both',
  gateway: 'gateway',
};

/** The metrics as the observability page shows them. */
export function metricsTable(): string {
  const rows = Object.entries<MetricRow>(METRICS).map(([name, row]) =>
    ['', `\`${name}\``, row.kind, labelsOf(row), SHOWN_BY[row.from], row.help, ''].join(' | ').trim(),
  );
  return ['| Metric | Kind | Labels | Of | Meaning |', '| --- | --- | --- | --- | --- |', ...rows]
    .join('\n')
    .replaceAll('|  |', '| |');
}

/** The long lists are those of the failure table. */
function labelsOf({ labels, byService }: MetricRow): string {
  return Object.entries({ ...labels, ...(byService && { service: undefined }) })
    .map(([label, values]) =>
      values === undefined || values.length > 6 ? `\`${label}\`` : `\`${label}\`: ${values.join(', ')}`,
    )
    .join('; ');
}
