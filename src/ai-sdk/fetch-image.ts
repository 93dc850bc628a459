import { redact } from '../contract/redact';
import { openVideo, type VideoSource } from '../service/open-video';
import { ServiceFault } from '../service/service-fault';
import { messageOf } from './sdk-errors';
import type { AiSdkFile } from './video-model-types';

/** Larger than any image that a service takes. */
const LARGEST_IMAGE_BYTES = 32 * 1024 * 1024;
const FETCH_WITHIN_MS = 30_000;

/**
 * The image behind a link, for models that take its bytes. It is fetched by the rules for videos: links come from callers, and
 * must not make a worker send requests into its own network.
 */
export async function fetchImage(link: string, source: VideoSource): Promise<AiSdkFile> {
  try {
    const { stream, contentType, bytes } = await openVideo(link, source, {
      signal: AbortSignal.timeout(FETCH_WITHIN_MS),
    });
    const chunks: Buffer[] = [];
    let read = 0;
    for await (const chunk of stream) {
      read += chunk.length;
      if (read > LARGEST_IMAGE_BYTES) throw new ServiceFault('refused', { message: TOO_LARGE });
      chunks.push(chunk);
    }
    if (bytes !== undefined && bytes !== read) throw new Error(`${read} of ${bytes} bytes arrived`);
    const [mediaType = ''] = contentType.split(';');
    return { type: 'file', mediaType: mediaType.trim(), data: new Uint8Array(Buffer.concat(chunks)) };
  } catch (error) {
    if (error instanceof ServiceFault && error.kind === 'refused') throw error;
    const { kind, facts } = error instanceof ServiceFault ? error : { kind: 'cut', facts: {} };
    const why = redact(
      facts.message ?? (facts.status ? `HTTP ${facts.status}` : messageOf(error)),
      source.secrets(),
    );
    // Nothing was sent to the service. An address that is not allowed stays so; anything else may pass.
    throw new ServiceFault(kind === 'not-allowed' ? 'refused' : 'not-sent', {
      message: `the image of the request could not be fetched: ${why}`,
    });
  }
}

const TOO_LARGE = `the image of the request has more than ${LARGEST_IMAGE_BYTES} bytes`;
