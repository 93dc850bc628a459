import { parseRequest, type VideoRequest } from '../../src/contract/request';
import type { VideoService } from '../../src/service/video-service';
import { mapRequest } from '../../src/service/word-request';
import {
  claimsToBeImageReference,
  hasImage,
  linkToImage,
  parseImageReference,
} from '../../src/storage/images';
import { withinTime } from '../../src/storage/small-files';
import type { VideoStorage } from '../../src/storage/storage';
import { createCallFailure } from '../to-failure';

export interface ImageSource {
  storage: VideoStorage;
  /** How the service reaches a gateway. */
  gatewayUrl?: string | undefined;
}

/** The request as the service gets it. What the service does not take, as its profile says, is refused before anything is sent. */
export async function prepareRequest(
  given: VideoRequest,
  { profile }: Pick<VideoService, 'profile'>,
  { storage, gatewayUrl }: ImageSource,
): Promise<VideoRequest> {
  const parsed = parseRequest(given, profile?.requestFields);
  if (!parsed.ok) throw refused(parsed.problem);
  const mapped = profile?.request && mapRequest(profile, parsed.request);
  if (mapped && !mapped.ok) throw refused(mapped.problem);
  const { image_url: url } = parsed.request;
  if (url === undefined || !claimsToBeImageReference(url)) return parsed.request;
  // A link opens the image, so it goes into this one call and nowhere else: what identifies the job, and what is recorded of
  // it, is the reference.
  const reference = parseImageReference(url);
  if (reference === undefined || !(await hasImage(storage, reference))) {
    throw refused('image_url names an image that is not in the storage of the worker', {
      advice: 'Upload the image again, to the storage that the workers use, and start a new job.',
    });
  }
  const link = await withinTime(() => linkToImage(storage, reference, gatewayUrl));
  if (link === undefined) {
    throw refused('the image is in a folder, from which the service cannot fetch it', {
      advice:
        'Set VIDEOGEN_GATEWAY_URL for the worker to the address at which the service reaches the gateway, or store in S3, and start a new job.',
    });
  }
  return { ...parsed.request, image_url: link };
}

function refused(message: string, advice: { advice?: string } = {}) {
  return createCallFailure('InvalidRequest', 'submit', { message, ...advice });
}
