import { namesAService, readBaseUrl } from '../../config/service-config';
import { readTemporalAddress } from '../../config/temporal-config';
import type { Context } from './context';

type NamedService = { kind: 'named'; baseUrl: string } | { kind: 'none'; found: string };

/** The service of the settings. Without one, who does a job decides: a worker elsewhere, or the emulator here. */
export function namedService({ env }: Context): NamedService {
  if (namesAService(env)) return { kind: 'named', baseUrl: readBaseUrl(env) };
  const found =
    readTemporalAddress(env) === undefined
      ? 'no VIDEO_API_BASE_URL: the emulator is used'
      : 'no VIDEO_API_BASE_URL: that of the worker is used; one that starts here needs its own';
  return { kind: 'none', found };
}
