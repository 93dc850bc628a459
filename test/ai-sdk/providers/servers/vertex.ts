import { z } from 'zod';
import { filtered, googleError, googleKey, understandVeo, VEO_POLICY, veoStatus } from './google';
import { EXPIRED_SIGNATURE, type Imitation, ids } from './imitation';

const poll = z.strictObject({ operationName: z.string() });

/** Vertex AI with an API key. A poll is a POST, and the video comes as bytes in its answer. */
export const vertex: Imitation = {
  basePath: '/v1/publishers/google',
  route: ({ method, path, body }) => {
    const [, verb] = /^\/v1\/publishers\/google\/models\/[^/:]+:([A-Za-z]+)$/.exec(path) ?? [];
    if (method !== 'POST') return undefined;
    if (verb === 'predictLongRunning') return { call: 'submit' };
    const asked = poll.safeParse(body);
    return verb === 'fetchPredictOperation' && asked.success
      ? { call: 'status', id: asked.data.operationName }
      : undefined;
  },
  keyOf: googleKey,
  understand: understandVeo,
  idOf: (taskId) =>
    `projects/1234/locations/us-central1/publishers/google/models/veo-3.1-generate-001/operations/${ids.uuidOf(taskId)}`,
  accepted: ({ id }) => ({ status: 200, body: { name: id } }),
  status: veoStatus({
    refused: filtered,
    succeeded: ({ video }) => ({
      '@type': 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse',
      raiMediaFilteredCount: 0,
      videos: [{ bytesBase64Encoded: video.toString('base64'), mimeType: 'video/mp4' }],
    }),
  }),
  refused: googleError,
  policy: VEO_POLICY,
  expiredLink: EXPIRED_SIGNATURE,
  linkPath: (token) => `/never-linked/${token}`,
};
