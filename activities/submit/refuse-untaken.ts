import type { VideoRequest } from '../../src/contract/request';
import { mapRequest, type VideoService } from '../../src/service';
import { createCallFailure } from '../to-failure';

/** Refuses a request with a field or a value that the service does not take, as its profile says, before anything is sent. */
export function refuseUntaken({ profile }: Pick<VideoService, 'profile'>, request: VideoRequest): void {
  const mapped = profile?.request && mapRequest(profile, request);
  if (mapped && !mapped.ok) throw createCallFailure('InvalidRequest', 'submit', { message: mapped.problem });
}
