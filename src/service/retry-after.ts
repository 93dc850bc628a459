export interface RetryHeaders {
  /** Milliseconds, as some services add for their own clients. */
  'retry-after-ms'?: string | string[];
  'retry-after'?: string | string[];
  date?: string | string[];
}

/** Of a list, which proxies make of two headers, the first counts. Nobody means a wait of more than 30 years. */
const SECONDS = /^(\d{1,9}(?:\.\d+)?)\s*(?:,|$)/;

/** Date.parse alone also makes a date of `-5`, and of `in 5`. One without a zone would be read as local time. */
const DATE = /^([a-z]{3,9}, \d|\d{4}-\d\d-\d\d).*(GMT|UTC|Z|[+-]\d\d:?\d\d)$/i;

/**
 * `Retry-After` in milliseconds, given as seconds or as a date; undefined when absent or unreadable.
 * A date is measured against the answer's own `Date`, because the worker's clock may differ from the service's.
 */
export function retryAfterMs(headers: RetryHeaders, nowMs: number): number | undefined {
  const exact = first(headers['retry-after-ms'])?.trim() ?? '';
  if (/^\d{1,12}$/.test(exact)) return Number(exact);
  const value = first(headers['retry-after'])?.trim() ?? '';
  const seconds = SECONDS.exec(value)?.[1];
  if (seconds !== undefined) return Math.round(Number(seconds) * 1_000);
  const at = DATE.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const sentAt = Date.parse(first(headers.date) ?? '');
  return Math.max(0, at - (Number.isNaN(sentAt) ? nowMs : sentAt));
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
