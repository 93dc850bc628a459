import { reportError } from './exit-codes';
import { checkName } from './find-job';
import { NoSuchJob } from './no-such-job';
import { type JobsSession, withJobs } from './open-jobs';
import type { Terminal } from './terminal';

/** Runs a command about one job by its name, and reports what goes wrong. */
export async function onJob(
  workflowId: string,
  options: { json?: boolean },
  terminal: Terminal,
  run: (session: JobsSession) => Promise<number>,
): Promise<number> {
  try {
    checkName(workflowId);
    return await withJobs(terminal, {
      run,
      withoutJobs: () => {
        throw new NoSuchJob(workflowId);
      },
    });
  } catch (error) {
    return reportError(error, options, terminal);
  }
}
