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
  /** Why nothing new comes at the moment. The hook tries again by itself. */
  problem?: string;
}

const EVENTS = ['video.progress', 'video.needs_decision', 'video.completed', 'video.failed'];
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;

const hasEnded = ({ status }: Video) => status === 'completed' || status === 'failed';

/** Follows a video until it has ended. `getToken` must not change: it asks your server, which has the key. */
export function useVideo(gateway: string, id: string, getToken: (id: string) => Promise<string>): Watched {
  const [watched, setWatched] = useState<Watched>({});
  useEffect(() => {
    let isGone = false;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = FIRST_WAIT_MS;
    const urlOf = async (part: string) => `${gateway}/v1/videos/${id}/${part}?token=${await getToken(id)}`;
    const tryAgain = ({ message: problem }: Error) => {
      source?.close();
      if (isGone) return;
      setWatched((before) => ({ ...before, problem }));
      timer = setTimeout(follow, waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    };
    const show = async (video: Video) => {
      waitMs = FIRST_WAIT_MS;
      setWatched({ video });
      if (!hasEnded(video)) return;
      source?.close();
      if (video.status !== 'completed') return;
      const src = await urlOf('content');
      if (!isGone) setWatched({ video, src });
    };
    const connect = async () => {
      const url = await urlOf('events');
      if (isGone) return;
      source = new EventSource(url);
      for (const event of EVENTS)
        source.addEventListener(event, ({ data }) => void show(JSON.parse(data)).catch(tryAgain));
      // A line that was cut is connected again by the browser. A token that has expired is not.
      source.onerror = () => {
        if (source?.readyState === EventSource.CLOSED) tryAgain(new Error('The gateway shows nothing.'));
      };
    };
    const follow = () => void connect().catch(tryAgain);
    setWatched({});
    follow();
    return () => {
      isGone = true;
      clearTimeout(timer);
      source?.close();
    };
  }, [gateway, id, getToken]);
  return watched;
}
