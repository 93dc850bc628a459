import { executeChild, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { VideoRequest } from 'temporal-videogen';
import { generateVideo } from 'temporal-videogen/workflows';
import type { FilmActivities } from './activities';

const { takeLastFrame, joinFilm } = proxyActivities<FilmActivities>({
  startToCloseTimeout: '2m',
  scheduleToCloseTimeout: '30m',
});

/** Generates the shots of a storyboard one after the other, each from the last frame of the one before, and joins them. */
export async function makeFilm(storyboard: VideoRequest[]): Promise<string> {
  const { workflowId } = workflowInfo();
  const folder = `films/${encodeURIComponent(workflowId)}`;
  const shots: string[] = [];
  for (const request of storyboard) {
    const before = shots.at(-1);
    const image = before === undefined ? {} : { image_url: await takeLastFrame(before) };
    const { video } = await executeChild(generateVideo, {
      // The same name and request is one paid shot, even if this film is made again.
      workflowId: `${workflowId}-shot-${shots.length + 1}`,
      args: [{ request: { ...request, ...image }, storage: `${folder}/{workflowId}.{ext}`, deadline: '2h' }],
    });
    shots.push(video.uri);
  }
  return joinFilm(shots, `${folder}/film.mp4`);
}
