import { type BatchProgress, shown } from '../contract';
import { bar, progressLine } from './progress-line';

/** The whole of a batch: `12 of 40 stored, 1 failed, 20 under way`. */
export function batchLine({ items, succeeded, failed, running, stopping }: BatchProgress): string {
  const told = [
    `${succeeded} of ${items ?? '?'} stored`,
    failed > 0 && `${failed} failed`,
    running.length > 0 && `${running.length} under way`,
    stopping && `no more are begun: ${shown(stopping)}`,
  ];
  return told.filter(Boolean).join(', ');
}

/** The whole and each item that runs, as many as there are rows for. */
export function batchScreen(progress: BatchProgress, nowMs: number, columns: number, rows: number): string[] {
  const { items = 0, succeeded, failed, running } = progress;
  const percent = items === 0 ? 0 : (100 * (succeeded + failed)) / items;
  const room = Math.max(1, rows - 2);
  const shown = running.length > room ? running.slice(0, room - 1) : running;
  const hidden = running.length - shown.length;
  const width = String(items).length;
  const lines = [
    `${bar(percent)} ${String(Math.floor(percent)).padStart(3)} %  ${batchLine(progress)}`,
    ...shown.map((item) => {
      const number = `${String(item.item).padStart(width)}  `;
      return number + progressLine(item, nowMs, columns - number.length);
    }),
    ...(hidden > 0 ? [`${' '.repeat(width)}  and ${hidden} more`] : []),
  ];
  // One that wraps would be two lines to whoever draws over them.
  return lines.map((line) => line.slice(0, columns));
}
