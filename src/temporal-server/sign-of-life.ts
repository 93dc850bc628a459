// Often enough that a ten-minute build does not seem to hang, rarely enough not to fill the screen.
export const SIGN_OF_LIFE_EVERY_MS = 30_000;
// Downloads take seconds on a good connection.
const PERCENTAGE_EVERY_MS = 5_000;
const REDRAW_EVERY_MS = 200;

export type OnProgress = (line: string) => void;

export interface Progress {
  /** Prints a line. */
  readonly onProgress: OnProgress;
  /** Replaces the last line, on a terminal; an empty line removes it. */
  readonly onRedraw?: OnProgress | undefined;
}

export type Work = (onPercent: (percent: number) => void) => Promise<void>;

/** Announces long work, then reports its progress: on one redrawn line if possible, or in occasional lines. */
export async function withSignOfLife(
  what: string,
  expectation: string,
  { onProgress, onRedraw }: Progress,
  work: Work,
): Promise<void> {
  onProgress(`${what}: ${expectation}`);
  const startedAt = Date.now();
  let percent: number | undefined;
  let reportedAt = startedAt;
  const report = () => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    const soFar =
      percent === undefined ? `${seconds} s so far` : `${Math.round(percent)} % after ${seconds} s`;
    if (onRedraw) return onRedraw(`${what}: ${soFar}`);
    const everyMs = percent === undefined ? SIGN_OF_LIFE_EVERY_MS : PERCENTAGE_EVERY_MS;
    if (Date.now() - reportedAt < everyMs) return;
    reportedAt = Date.now();
    onProgress(`${what}: ${soFar}.`);
  };
  const timer = setInterval(report, REDRAW_EVERY_MS);
  try {
    await work((done) => {
      percent = done;
    });
  } finally {
    clearInterval(timer);
    onRedraw?.('');
  }
}
