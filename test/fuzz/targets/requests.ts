import { requestOnRecord } from '../../../activities/request-on-record';
import { ASPECT_RATIOS, parseRequest, RESOLUTIONS, type VideoRequest } from '../../../src/contract/request';
import { describeRequest, staticJobDetails } from '../../../src/contract/summaries';
import { fc } from '../../support/properties';
import { fields, scriptValue } from '../hostile';
import { signedLink } from '../secrets';
import type { Target } from '../target';

const FIELDS: Record<string, readonly unknown[]> = {
  prompt: ['A red fox in the snow', 'fox'],
  image_url: ['https://example.com/fox.png'],
  resolution: RESOLUTIONS,
  aspect_ratio: ASPECT_RATIOS,
  duration: [1, 5, 10],
  seed: [0, 7, -1],
  // A field of the service's own.
  style: ['film', { grain: 3, of: ['https://example.com/look.png'] }],
};

export const OWN_FIELDS = ['style'];

const value = fc.oneof({ weight: 4, arbitrary: scriptValue }, { weight: 1, arbitrary: signedLink });

/** Requests of which most are valid. Any text in them may be a signed link. */
export const request: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: fields(FIELDS, value).map((given) => ({ prompt: 'fox', ...given })) },
  { weight: 1, arbitrary: fields(FIELDS, value) },
  { weight: 1, arbitrary: scriptValue },
);

export const requests: Target<unknown> = {
  inputs: request,
  plain: { prompt: 'A red fox in the snow', duration: 5 },
  inSuite: 160,
  feed(given) {
    const parsed = parseRequest(given, OWN_FIELDS);
    return parsed.ok ? seenOfRequest(parsed.request) : { texts: [parsed.problem], refused: true };
  },
};

/** Where an accepted request is shown and written. */
export function seenOfRequest(accepted: VideoRequest) {
  return {
    texts: [describeRequest(accepted), staticJobDetails({ request: accepted })],
    data: [JSON.stringify(requestOnRecord(accepted))],
  };
}
