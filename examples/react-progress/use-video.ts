import { useEffect, useEffectEvent, useState } from 'react';

/** What this page shows of a video. The gateway's /docs has every field. */
export interface Video {
  id: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  progress: number;
  error: { message: string; advice: string } | null;
  needs_decision: { since: string } | null;
}

/** What the gateway answers to `POST /v1/videos/{id}/token`. */
export interface WatchToken {
  token: string;
  expires_at: number;
}

const EVENTS = ['video.progress', 'video.needs_decision', 'video.completed', 'video.failed'];
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 60_000;

/** Follows a video until it has ended. `getToken` asks your server, which has the key. */
export function useVideo(gateway: string, id: string, getToken: (id: string) => Promise<WatchToken>) {
  const [video, setVideo] = useState<Video>();
  /** Why nothing new comes at the moment. The hook tries again by itself. */
  const [problem, setProblem] = useState<string>();
  const [file, setFile] = useState<{ src: string; until: number }>();

  const tokenOf = useEffectEvent(getToken);

  useEffect(() => {
    let isGone = false;
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = FIRST_WAIT_MS;
    const tryAgain = ({ message }: Error) => {
      source?.close();
      if (isGone) return;
      setProblem(message);
      timer = setTimeout(follow, waitMs);
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    };
    const show = ({ data }: MessageEvent<string>) => {
      const now: Video = JSON.parse(data);
      waitMs = FIRST_WAIT_MS;
      setVideo(now);
      setProblem(undefined);
      if (now.status === 'completed' || now.status === 'failed') source?.close();
    };
    const connect = async () => {
      const { token } = await tokenOf(id);
      if (isGone) return;
      source = new EventSource(`${gateway}/v1/videos/${id}/events?token=${token}`);
      for (const event of EVENTS) source.addEventListener(event, show);
      // A line that was cut is connected again by the browser. A token that has expired is not.
      source.onerror = () => {
        if (source?.readyState === EventSource.CLOSED) tryAgain(new Error('The gateway shows nothing.'));
      };
    };
    const follow = () => void connect().catch(tryAgain);
    follow();
    return () => {
      isGone = true;
      clearTimeout(timer);
      source?.close();
    };
  }, [gateway, id]);

  const isDone = video?.id === id && video.status === 'completed';
  const findFile = async () => {
    const { token, expires_at: until } = await getToken(id);
    setFile({ src: `${gateway}/v1/videos/${id}/content?token=${token}`, until });
  };
  const showFile = useEffectEvent(() => findFile().catch(({ message }: Error) => setProblem(message)));
  useEffect(() => {
    if (isDone) void showFile();
  }, [isDone]);

  return {
    video: video?.id === id ? video : undefined,
    problem,
    /** Where a <video> finds the file, once there is one. */
    src: isDone && file?.src.includes(id) ? file.src : undefined,
    /** For the `onError` of the <video>, whose token may have expired. */
    renew: async () => {
      if (file && file.until * 1_000 < Date.now()) await findFile();
    },
  };
}
