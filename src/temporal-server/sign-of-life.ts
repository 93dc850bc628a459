// Often enough that nobody takes a ten-minute build for a hang, rarely enough not to fill the screen.
export const SIGN_OF_LIFE_EVERY_MS = 30_000;
// A fetch takes seconds where the line is good, and its percentage is worth a line.
const PERCENTAGE_EVERY_MS = 5_000;
// As smooth as a screen needs it.
const REDRAW_EVERY_MS = 200;

export type OnProgress = (line: string) => void;

export interface Progress {
  /** A line that stays. */
  readonly onProgress: OnProgress;
  /** A line that takes the place of the last one, on a terminal; an empty one takes it away. */
  readonly onRedraw?: OnProgress | undefined;
}

export type Work = (onPercent: (percent: number) => void) => Promise<void>;

/** Announces a long piece of work, then says how far it is: in place where that can be shown, or now and then. */
export async function withSignOfLife(
  what: string,
  expectation: string,
  { onProgress, onRedraw }: Progress,
  work: Work,
): Promise<void> {
  onProgress(`${what}: ${expectation}`);
  const startedAt = Date.now();
  let percent: number | undefined;
  let toldAt = startedAt;
  const tell = () => {
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    const soFar =
      percent === undefined ? `${seconds} s so far` : `${Math.round(percent)} % after ${seconds} s`;
    if (onRedraw) return onRedraw(`${what}: ${soFar}`);
    const everyMs = percent === undefined ? SIGN_OF_LIFE_EVERY_MS : PERCENTAGE_EVERY_MS;
    if (Date.now() - toldAt < everyMs) return;
    toldAt = Date.now();
    onProgress(`${what}: ${soFar}.`);
  };
  const timer = setInterval(tell, REDRAW_EVERY_MS);
  try {
    await work((done) => {
      percent = done;
    });
  } finally {
    clearInterval(timer);
    onRedraw?.('');
  }
}
