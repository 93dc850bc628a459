import { executeChild, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { VideoRequest } from 'temporal-videogen';
import { generateVideos } from 'temporal-videogen/workflows';
import type { TrailerActivities } from './activities';

const { cutTrailer, layOutPoster } = proxyActivities<TrailerActivities>({
  startToCloseTimeout: '2m',
  scheduleToCloseTimeout: '30m',
});

/** The URIs of the two files. */
export interface Trailer {
  trailer: string;
  poster: string;
}

/** Generates the shots of a storyboard in parallel and joins them into one film. */
export async function makeTrailer(storyboard: VideoRequest[]): Promise<Trailer> {
  const { workflowId } = workflowInfo();
  const folder = `trailers/${encodeURIComponent(workflowId)}`;
  const { results } = await executeChild(generateVideos, {
    workflowId: `${workflowId}-shots`,
    args: [
      {
        requests: storyboard,
        storage: `${folder}/{workflowId}.{ext}`,
        deadline: '2h',
        // A trailer needs all its shots.
        onFailure: 'stop',
      },
    ],
  });
  const [trailer, poster] = await Promise.all([
    cutTrailer({ folder, results: results.key }),
    layOutPoster({ folder, results: results.key, captions: storyboard.map(({ prompt }) => prompt) }),
  ]);
  return { trailer, poster };
}
