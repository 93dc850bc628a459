/** A worker takes a job within a second, so after this long none may be running. */
const SUSPECT_AFTER_MS = 10_000;

/** Returns a sentence about the worker that a job or batch waits for; undefined if none is missing. */
export type FindMissingWorker = (workflowId: string) => Promise<string | undefined>;

export interface StartWatch {
  /** Whether the job or batch is still in its first phase. */
  hasNotMoved(): boolean;
  findMissingWorker(): Promise<string | undefined>;
  print(line: string): void;
}

/** Asks once for a missing worker if a job or batch makes no progress at its start. */
export function watchStart({ hasNotMoved, findMissingWorker, print }: StartWatch): { stop(): void } {
  let isStopped = false;
  const ask = async () => {
    if (!hasNotMoved()) return;
    // A failed call must not disturb the job.
    const line = await findMissingWorker().catch(() => undefined);
    if (line !== undefined && !isStopped && hasNotMoved()) print(line);
  };
  const timer = setTimeout(() => void ask(), SUSPECT_AFTER_MS);
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
