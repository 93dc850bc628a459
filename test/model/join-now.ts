import { asyncLocalStorage, Context } from '@temporalio/activity';
import { type AwaitJobsInput, awaitJobs, type JobEnd } from '../../activities/batch/await-jobs';

/** In this time the real activity tells its batch which jobs are held. */
const LOOK_MS = 300;

/** The jobs that a run of a parent has seen running: for it, they had not ended before it waited. */
const seenRunning = new Set<string>();

/** What the real activity returns at once, as if it had waited all the time: see join.ts. */
export async function joinNow({ jobs }: AwaitJobsInput): Promise<JobEnd[]> {
  const { client, info } = Context.current();
  const seen = (name: string) => `${info.workflowExecution?.runId} ${name}`;
  const isOpen = await Promise.all(
    jobs.map(async ({ name }) => {
      const found = await client.workflow
        .getHandle(name)
        .describe()
        .catch(() => undefined);
      return found?.status.name === 'RUNNING';
    }),
  );
  const ended = jobs.filter((_, index) => !isOpen[index]);
  const unseen = jobs.filter(({ name }, index) => isOpen[index] && !seenRunning.has(seen(name)));
  for (const { name } of unseen) seenRunning.add(seen(name));
  if (unseen.length > 0) await lookAt({ jobs: unseen });
  const ends = ended.length === 0 ? [] : await awaitJobs({ jobs: ended });
  return ends.map((end) => (seenRunning.has(seen(end.name)) ? { ...end, hadEnded: false } : end));
}

/** Runs the real activity for a moment, and cancels it. */
async function lookAt(input: AwaitJobsInput): Promise<void> {
  const stop = new AbortController();
  const cancelled = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(new Error('seen')));
  });
  cancelled.catch(() => undefined);
  const moment: Context = Object.create(Context.current(), {
    cancelled: { value: cancelled },
    cancellationSignal: { value: stop.signal },
  });
  const timer = setTimeout(() => stop.abort(), LOOK_MS);
  // Those that end meanwhile are found the next time.
  await asyncLocalStorage.run(moment, () => awaitJobs(input)).catch(() => undefined);
  clearTimeout(timer);
}
