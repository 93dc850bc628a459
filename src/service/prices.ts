import type { JobCost } from '../contract/job-cost';
import { money } from '../contract/money';
import { describeValue } from '../contract/redact-links';
import type { Prices } from './profile';

/** What a video will cost, or why that is unknown; unknown is never zero. `seconds` is its duration, if it is known. */
export interface Estimate extends Pick<JobCost, 'estimated' | 'unknown'> {
  seconds?: number;
}

/** The fields of a request that have a price. */
interface PricedRequest {
  image_url?: string | undefined;
  resolution?: string | undefined;
  duration?: number | undefined;
}

/** What a request will cost, before it is sent. */
export function estimateCost(prices: Prices | undefined, request: PricedRequest): Estimate {
  const duration = request.duration ?? prices?.defaults?.duration;
  // Services read 0 and -1 as a duration of their own choice.
  const known = duration !== undefined && duration > 0 ? { seconds: duration } : {};
  if (prices === undefined) return { unknown: 'the profile of the service has no prices', ...known };
  const row = findRow(prices, request);
  if (typeof row === 'string') return { unknown: row, ...known };
  const { perSecond, perVideo = 0 } = row;
  if (perSecond !== undefined && known.seconds === undefined) {
    return {
      unknown:
        duration === undefined
          ? 'the request has no duration, and prices.defaults of the profile has none'
          : `with a duration of ${describeValue(duration)} the service chooses it`,
    };
  }
  // Rounded last, so that a price of a third is not.
  const cost = (perSecond ?? 0) * (known.seconds ?? 0) + perVideo;
  return { estimated: money(cost, prices.currency), ...known };
}

/** A row may fit or not, depending on what the request does not say: then the price of a later row would be a guess. */
function findRow({ table, defaults }: Prices, request: PricedRequest): Prices['table'][number] | string {
  const operation = request.image_url == null ? 'text-to-video' : 'image-to-video';
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

/** What is known of a service without calling it. */
interface PricedService {
  name?: string | undefined;
  service: { profile?: { name?: string | undefined; prices?: Prices | undefined }; address?: string };
}

/** What a job will cost; undefined when the profile has no prices. A service without a name is called by its host. */
export function estimateJob({ name, service }: PricedService, request: PricedRequest): JobCost | undefined {
  const { profile, address = '' } = service;
  if (profile?.prices === undefined) return undefined;
  const { seconds: _, ...cost } = estimateCost(profile.prices, request);
  const paid = name ?? profile.name ?? (URL.canParse(address) ? new URL(address).host : undefined);
  return { ...cost, ...(paid !== undefined && { service: paid }) };
}
