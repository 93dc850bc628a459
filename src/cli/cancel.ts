import { inTime } from '../client/temporal-calls';
import { ConfigError } from '../config/service-config';
import { printableJson, shown } from '../contract/clean-text';
import { findJob } from './find-job';
import { onJob } from './open-jobs';
import { readReport, reportLines } from './status';
import { EXIT, printLine, type Terminal } from './terminal';

/** A worker asks the service to cancel the task first. */
const ENDS_WITHIN_MS = 10_000;

/** `videogen cancel`: ends a job or a batch, and shows its status then. */
export function cancel(workflowId: string, options: { json?: boolean }, terminal: Terminal): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    const { client, signal } = session;
    const { endedAt, state: before } = await findJob(session, workflowId);
    if (endedAt !== undefined && before !== 'cancelled')
      throw new ConfigError(`${shown(workflowId)} has already ended: it is ${before}.`);
    const handle = client.workflow.getHandle(workflowId);
    if (endedAt === undefined) await inTime(client, () => handle.cancel());
    await inTime(client, () => handle.result(), ENDS_WITHIN_MS).catch(() => undefined);
    signal.throwIfAborted();
    const report = await readReport(session, workflowId);
    for (const line of reportLines(report, Date.now())) printLine(terminal, line);
    const { state, taskId } = report;
    terminal.out(options.json ? printableJson({ workflowId, state, taskId }) : shown(workflowId));
    return EXIT.ok;
  });
}
