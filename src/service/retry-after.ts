export interface RetryHeaders {
  'retry-after'?: string | string[];
  date?: string | string[];
}

/**
 * `Retry-After` in milliseconds, given as seconds or as a date; undefined when absent or unreadable.
 * A date is measured against the answer's own `Date`, because the worker's clock may differ from the service's.
 */
export function retryAfterMs(headers: RetryHeaders, nowMs: number): number | undefined {
  const value = first(headers['retry-after'])?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.round(Number(value) * 1_000);
  const at = Date.parse(value);
  if (Number.isNaN(at)) return undefined;
  const sentAt = Date.parse(first(headers.date) ?? '');
  return Math.max(0, at - (Number.isNaN(sentAt) ? nowMs : sentAt));
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
