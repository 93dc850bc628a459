import { executeChild, workflowInfo } from '@temporalio/workflow';
import { generateVideo } from 'temporal-videogen/workflows';

/** Replace it with a workflow of yours. The name of the child decides what is paid once. */
export async function makePoster(prompt = 'A red fox in the snow') {
  const { video } = await executeChild(generateVideo, {
    workflowId: `${workflowInfo().workflowId}-video`,
    args: [{ request: { prompt, duration: 5 } }],
  });
  return video.uri;
}
