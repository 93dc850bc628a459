import { FilePathSource, Input, Logging, LogLevel, MATROSKA, MP4, MPEG_TS, QTFF, WEBM } from 'mediabunny';

/** Containers of video. Not playlists: a downloaded file shall not make anybody open other files and addresses. */
const CONTAINERS = [MP4, QTFF, WEBM, MATROSKA, MPEG_TS];

export interface ProbedVideo {
  /** As mediabunny names it: `MP4`, `WebM`, `QuickTime File Format` … */
  container: string;
  /** `avc`, `hevc`, `vp9`, `av1` …; undefined when it is none that is known. */
  codec?: string;
  /** As shown, after cropping and rotation. */
  width: number;
  height: number;
  durationSeconds: number;
}

/**
 * What a video file says about itself, or undefined when it is no video. It reads the tables of the file and not the
 * pictures: a file that was cut short may well say its full duration.
 */
export async function probeVideo(path: string): Promise<ProbedVideo | undefined> {
  // A strange file is an answer here, and no reason to write to somebody's console.
  Logging.level = LogLevel.Silent;
  const input = new Input({ formats: CONTAINERS, source: new FilePathSource(path) });
  try {
    if (!(await input.canRead())) return undefined;
    const track = await input.getPrimaryVideoTrack();
    if (!track) return undefined;
    return {
      container: (await input.getFormat()).name,
      codec: (await track.getCodec()) ?? undefined,
      width: await track.getDisplayWidth(),
      height: await track.getDisplayHeight(),
      durationSeconds: await input.computeDuration(),
    };
  } catch (error) {
    // What the system says is about the disk; what the reader says is about a file that it cannot make sense of.
    if ('syscall' in Object(error)) throw error;
    return undefined;
  } finally {
    input.dispose();
  }
}
