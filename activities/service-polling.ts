import { durationMs } from '../src/contract/duration';
import type { ServicePolling } from '../src/contract/job';
import type { ExpectedTimes } from '../src/contract/usual-times';
import type { ServiceProfile } from '../src/service';

/** How tasks are polled, for the workflow, which has neither the profile nor the worker's own setting. */
export function servicePollingOf(
  { polling }: ServiceProfile = {},
  pollsPerSecondSaved = polling?.pollsPerSecondSaved,
): { servicePolling?: ServicePolling } {
  if (polling === undefined && pollsPerSecondSaved === undefined) return {};
  const usually = expectedTimesOf(polling);
  return {
    servicePolling: {
      min: durationMs(polling?.min),
      max: durationMs(polling?.max),
      ...(pollsPerSecondSaved !== undefined && { pollsPerSecondSaved }),
      ...(usually && { usually }),
    },
  };
}

/** How long tasks of the service take, according to its profile. */
export function expectedTimesOf({ usually }: ServiceProfile['polling'] = {}): ExpectedTimes | undefined {
  const median = durationMs(usually?.median);
  const slow = durationMs(usually?.slow);
  return median === undefined || slow === undefined ? undefined : { median, slow };
}
