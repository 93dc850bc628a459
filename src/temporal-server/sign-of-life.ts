// Often enough that nobody takes a ten-minute build for a hang, rarely enough not to fill the screen.
export const SIGN_OF_LIFE_EVERY_MS = 30_000;

export type OnProgress = (line: string) => void;

/** Announces a long piece of work, then says every now and then that it goes on. */
export async function withSignOfLife(
  what: string,
  expectation: string,
  onProgress: OnProgress,
  work: () => Promise<void>,
): Promise<void> {
  onProgress(`${what}: ${expectation}`);
  const startedAt = Date.now();
  const timer = setInterval(() => {
    onProgress(`${what}: ${Math.round((Date.now() - startedAt) / 1_000)} s so far.`);
  }, SIGN_OF_LIFE_EVERY_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
}
