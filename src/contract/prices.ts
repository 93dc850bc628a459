import { describeValue } from './describe-value';
import { fromMillionths, LARGEST_AMOUNT, type Money, toMillionths } from './money';

/** What a request asks the service to do. */
export const OPERATIONS = ['text-to-video', 'image-to-video'] as const;

/** One of OPERATIONS. */
export type Operation = (typeof OPERATIONS)[number];

/** What a service charges, as its profile says. The first row that fits a request has its price. */
export interface Prices {
  currency: string;
  table: readonly PriceRow[];
  /** What the service takes when a request does not say it. */
  defaults?: { duration?: number | undefined; resolution?: string | undefined } | undefined;
}

/** A row fits every operation and resolution that it does not name. With both prices, a video costs their sum. */
export interface PriceRow {
  operation?: Operation | undefined;
  resolution?: string | undefined;
  perSecond?: number | undefined;
  perVideo?: number | undefined;
}

/** What a video will cost, or why that is unknown; unknown is never zero. `seconds` is its duration, if it is known. */
export type Estimate = { cost: Money; seconds?: number } | { unknown: string; seconds?: number };

/** The fields of a request that have a price. */
export interface PricedRequest {
  image_url?: string | undefined;
  resolution?: string | undefined;
  duration?: number | undefined;
}

/** What a request will cost, before it is sent. */
export function estimateCost(prices: Prices | undefined, request: PricedRequest): Estimate {
  const seconds = secondsOf(prices, request);
  const known = seconds === undefined ? {} : { seconds };
  if (prices === undefined) return { unknown: 'the profile of the service has no prices', ...known };
  const priced = priceOf(prices, request, seconds);
  return typeof priced === 'string'
    ? { unknown: priced, ...known }
    : { cost: fromMillionths(priced, prices.currency), ...known };
}

/** Services read 0 and -1 as a duration of their own choice. */
function secondsOf(prices: Prices | undefined, { duration }: PricedRequest): number | undefined {
  const seconds = duration ?? prices?.defaults?.duration;
  return seconds !== undefined && seconds > 0 ? seconds : undefined;
}

/** In millionths, or why it is unknown. */
function priceOf(prices: Prices, request: PricedRequest, seconds: number | undefined): number | string {
  const row = findRow(prices, request);
  if (typeof row === 'string') return row;
  const { perSecond, perVideo = 0 } = row;
  if (perSecond === undefined) return toMillionths(perVideo);
  if (seconds === undefined) return whyNoSeconds(request);
  // Rounded last, so that a price of a third is not.
  const cost = perSecond * seconds + perVideo;
  return cost <= LARGEST_AMOUNT ? toMillionths(cost) : 'its price is larger than any that can be counted';
}

/** A row may fit or not, depending on what the request does not say: then the price of a later row would be a guess. */
function findRow({ table, defaults }: Prices, request: PricedRequest): PriceRow | string {
  const operation: Operation = request.image_url == null ? 'text-to-video' : 'image-to-video';
  const resolution = request.resolution ?? defaults?.resolution;
  for (const row of table) {
    if (row.operation !== undefined && row.operation !== operation) continue;
    if (row.resolution === undefined || row.resolution === resolution) return row;
    if (resolution === undefined)
      return 'the request has no resolution, and prices.defaults of the profile has none';
  }
  const what = resolution === undefined ? operation : `${operation} at ${describeValue(resolution)}`;
  return `prices.table of the profile has no row for ${what}`;
}

function whyNoSeconds({ duration }: PricedRequest): string {
  return duration == null
    ? 'the request has no duration, and prices.defaults of the profile has none'
    : `with a duration of ${describeValue(duration)} the service chooses it`;
}
