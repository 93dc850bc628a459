import { costOfEstimate, type JobCost } from '../src/contract/job-cost';
import { estimateCost } from '../src/contract/prices';
import type { VideoRequest } from '../src/contract/request';
import type { FoundService } from '../src/service/service-directory';

/** What is known of a service without calling it. */
type KnownService = Pick<FoundService, 'name'> & {
  service: Pick<FoundService['service'], 'address' | 'profile'>;
};

/** The name of the service on the worker or in its profile, or else its host. A service of your own may have none. */
export function serviceNameOf({
  name,
  service: { profile, address = '' },
}: KnownService): string | undefined {
  return name ?? profile?.name ?? (URL.canParse(address) ? new URL(address).host : undefined);
}

/** What a request will cost; undefined when the profile has no prices. */
export function estimatedCost(found: KnownService, request: VideoRequest): JobCost | undefined {
  const { prices } = found.service.profile ?? {};
  return prices && costOfEstimate(estimateCost(prices, request), serviceNameOf(found));
}
