import { exporterUrl } from '../../src/worker/worker-monitor';

/** Every series of ours with its value, without the labels that the SDK adds. */
export async function readMetrics(): Promise<Map<string, number>> {
  const text = await (await fetch(exporterUrl() ?? '')).text();
  const sums = new Map<string, number>();
  for (const [, name = '', labels = '', value] of text.matchAll(/^(videogen_\w+)(?:\{(.*)\})? (\S+)$/gm)) {
    const own = labels.match(/\b(outcome|call|result|end)="[^"]*"/g)?.join(',');
    const series = own === undefined ? name : `${name}{${own}}`;
    sums.set(series, (sums.get(series) ?? 0) + Number(value));
  }
  return sums;
}
