import { createVideoClient, createVideoWorker } from 'temporal-videogen';

async function main() {
  const worker = await createVideoWorker();
  const videos = await createVideoClient();
  const { video } = await worker.runUntil(() =>
    videos.execute({ request: { prompt: 'A red fox in the snow', resolution: '720p', duration: 5 } }),
  );
  console.log(video.uri, video.bytes, video.sha256);
  await videos.close();
}

void main();
