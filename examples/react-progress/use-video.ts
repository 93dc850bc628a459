import { useEffect, useState } from 'react';

/** What this page shows of a video. The gateway's /docs has every field. */
export interface Video {
  id: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  progress: number;
  error: { message: string; advice: string } | null;
  needs_decision: { since: string } | null;
}

export interface Watched {
  video?: Video;
  /** Where a <video> finds the file, once there is one. */
  src?: string;
}

const EVENTS = ['video.progress', 'video.needs_decision', 'video.completed', 'video.failed'];
const ASK_AGAIN_AFTER_MS = 2_000;

const hasEnded = ({ status }: Video) => status === 'completed' || status === 'failed';

/** Follows a video until it has ended. `getToken` must not change: it asks your server, which has the key. */
export function useVideo(gateway: string, id: string, getToken: (id: string) => Promise<string>): Watched {
  const [watched, setWatched] = useState<Watched>({});
  useEffect(() => {
    let isGone = false;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const urlOf = async (part: string) => `${gateway}/v1/videos/${id}/${part}?token=${await getToken(id)}`;
    const askAgain = () => {
      source?.close();
      if (!isGone) timer = setTimeout(follow, ASK_AGAIN_AFTER_MS);
    };
    const show = async ({ data }: MessageEvent<string>) => {
      const video: Video = JSON.parse(data);
      setWatched({ video });
      if (!hasEnded(video)) return;
      source?.close();
      if (video.status !== 'completed') return;
      const src = await urlOf('content');
      if (!isGone) setWatched({ video, src });
    };
    const follow = async () => {
      const url = await urlOf('events').catch(() => undefined);
      if (isGone || url === undefined) return askAgain();
      source = new EventSource(url);
      for (const event of EVENTS)
        source.addEventListener(event, (message) => void show(message).catch(askAgain));
      // A line that was cut is connected again by the browser. A token that has expired is not.
      source.onerror = () => source?.readyState === EventSource.CLOSED && askAgain();
    };
    setWatched({});
    void follow();
    return () => {
      isGone = true;
      clearTimeout(timer);
      source?.close();
    };
  }, [gateway, id, getToken]);
  return watched;
}
