import { claimsToBeLastFrame } from '../../src/contract/continue-from';
import { claimsToBeImageReference, parseImageReference } from '../../src/contract/image-reference';
import type { VideoRequest } from '../../src/contract/request';
import { hasImage, type ImageLinks, inTime, type VideoStorage } from '../../src/storage';
import { createCallFailure } from '../to-failure';

export interface ImageSource {
  storage: VideoStorage;
  imageLinks: ImageLinks;
}

/**
 * The request as the service gets it, with a link in place of a reference to a stored image, or to `image`, the last frame of the
 * job that it continues from. The link opens the image, so
 * it goes into this one call and nowhere else: what identifies the job, and what is recorded of it, is the reference.
 */
export async function withImageLink(
  request: VideoRequest,
  { storage, imageLinks }: ImageSource,
  image?: string,
): Promise<VideoRequest> {
  const url = claimsToBeLastFrame(request.image_url) ? image : request.image_url;
  if (url === undefined && request.image_url !== undefined) {
    throw refused('image_url names a job to continue from, and no worker has taken its last frame', {
      advice: 'Name the job as continueFrom, and let only workers of this version run.',
    });
  }
  if (url === undefined || !claimsToBeImageReference(url)) return request;
  const reference = parseImageReference(url);
  if (reference === undefined || !(await inTime(() => hasImage(storage, reference)))) {
    throw refused('image_url names an image that is not in the storage of the worker', {
      advice: 'Upload the image again, to the storage that the workers use, and start a new job.',
    });
  }
  const link = await inTime(() => imageLinks.linkTo(reference));
  if (link === undefined) {
    throw refused('the image is in a folder, from which the service cannot fetch it', {
      advice:
        'Set VIDEOGEN_GATEWAY_URL for the worker to the address at which the service reaches the gateway, or store in S3, and start a new job.',
    });
  }
  return { ...request, image_url: link };
}

function refused(message: string, { advice }: { advice: string }) {
  return createCallFailure('InvalidRequest', 'submit', { message, advice });
}
