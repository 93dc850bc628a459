import { namesAService, readBaseUrl } from '../../config/service-config';
import { readTemporalAddress } from '../../config/temporal-config';
import type { Context } from './context';

type NamedService = { kind: 'named'; baseUrl: string } | { kind: 'none'; found: string };

/** The configured service. Without one, jobs use the service of a remote worker, or the local emulator. */
export function namedService({ env }: Context): NamedService {
  if (namesAService(env)) return { kind: 'named', baseUrl: readBaseUrl(env) };
  const found =
    readTemporalAddress(env) === undefined
      ? 'VIDEO_API_BASE_URL is not set: the emulator is used'
      : 'VIDEO_API_BASE_URL is not set here: workers use their own; one that starts here needs it';
  return { kind: 'none', found };
}
