import { executeChild, proxyActivities } from '@temporalio/workflow';
import { generateVideo } from '../../workflows';

/** The workflows of a host with the plugin. One of them generates a video as a child workflow. */
const { think } = proxyActivities<{ think(about: string): Promise<string> }>({ startToCloseTimeout: '10s' });

export async function makeTrailer(about: string, workflowId: string) {
  const prompt = await think(about);
  const { taskId, video } = await executeChild(generateVideo, {
    workflowId,
    args: [{ request: { prompt }, polling: { min: '1s', max: '1s' } }],
  });
  return { prompt, taskId, bytes: video.bytes };
}
