import { ALL_FORMATS, FilePathSource, Input } from 'mediabunny';

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
  const input = new Input({ formats: ALL_FORMATS, source: new FilePathSource(path) });
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
  } finally {
    input.dispose();
  }
}
