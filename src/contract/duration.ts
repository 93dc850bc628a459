/** A duration as people and JSON write it: milliseconds, or a number with a unit ("90s", "30 m", "1.5h"). */
export type DurationText = number | string;

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A century: far more than that from now is not a valid date, and a workflow would crash on it. */
const LONGEST_MS = 36_525 * 86_400_000;

/** The milliseconds, or undefined for anything but a positive duration. Never throws, because workflows call it. */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value > 0 && value <= LONGEST_MS ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*$/.exec(value);
  const unit = UNIT_MS[match?.[2] ?? ''];
  if (!match || unit === undefined) return undefined;
  return durationMs(Number(match[1]) * unit);
}

/** A duration short enough for a timer's summary: "45 s", "12 min", "1 h 30 min". */
export function describeDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
}
