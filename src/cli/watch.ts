import { inTime } from '../client/temporal-calls';
import { summaryLines } from './batch';
import { reportError } from './exit-codes';
import { followJob, joinJob } from './follow-jobs';
import { storedLines } from './job-lines';
import { onJob } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';

/** `videogen watch`: shows a job or a batch until it has ended. */
export function watch(workflowId: string, { json }: { json?: boolean }, terminal: Terminal): Promise<number> {
  return onJob(
    workflowId,
    terminal,
    async (session) => {
      const { client, videos } = session;
      const { kind } = await joinJob(session, workflowId, terminal);
      const asJson = json || !terminal.isOutTerminal;
      const row = await followJob(session, workflowId, terminal, asJson);
      if (row === undefined && terminal.isOutClosed()) return EXIT.ok;
      if (row === undefined) {
        if (session.isInterrupted()) printLine(terminal, 'Stopped watching. Nothing is cancelled.');
        return EXIT.interrupted;
      }
      const result = async () =>
        kind === 'batch'
          ? summaryLines(await videos.batch(workflowId).result(), terminal.env)
          : storedLines(await videos.handle(workflowId).result());
      try {
        for (const line of await inTime(client, result)) printLine(terminal, line);
        return row.state === 'succeeded' ? EXIT.ok : EXIT.someFailed;
      } catch (error) {
        // The last row said it to programs.
        const code = reportError(error, {}, terminal);
        return kind === 'batch' ? EXIT.someFailed : code;
      }
    },
    { withWorker: true },
  );
}
