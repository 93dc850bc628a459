import type { BatchProgress } from '../contract/batch';
import { shown } from '../contract/clean-text';
import { describeBatchCost } from '../contract/job-cost';
import { cutToWidth } from './display-width';
import { bar, progressLine } from './progress-line';

/** The progress of a batch: `12 of 40 stored, 1 failed, 20 under way`. */
export function batchLine({ items, succeeded, failed, running, stopping, cost }: BatchProgress): string {
  const parts = [
    `${succeeded} of ${items ?? '?'} stored`,
    failed > 0 && `${failed} failed`,
    running.length > 0 && `${running.length} under way`,
    cost && `cost ${describeBatchCost(cost)}`,
    stopping && `no new items start: ${shown(stopping)}`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** The progress of a batch and of each running item, as many as fit the rows. */
export function batchScreen(progress: BatchProgress, nowMs: number, columns: number, rows: number): string[] {
  const { items = 0, succeeded, failed, running } = progress;
  const percent = items === 0 ? 0 : (100 * (succeeded + failed)) / items;
  const itemRows = Math.max(1, rows - 2);
  const visible = running.length > itemRows ? running.slice(0, itemRows - 1) : running;
  const hidden = running.length - visible.length;
  const width = String(items).length;
  const lines = [
    `${bar(percent)} ${String(Math.floor(percent)).padStart(3)} %  ${batchLine(progress)}`,
    ...visible.map((item) => {
      const number = `${String(item.item).padStart(width)}  `;
      if (item.progress) return number + progressLine(item.progress, nowMs, columns - number.length);
      return number + (item.isHeld ? 'needs a decision' : 'under way');
    }),
    ...(hidden > 0 ? [`${' '.repeat(width)}  and ${hidden} more`] : []),
  ];
  // A line that wraps would take two rows and break the redraw.
  return lines.map((line) => cutToWidth(line, columns, ''));
}
