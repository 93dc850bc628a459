import { ConfigError } from '../config/service-config';
import { printableJson, shown } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { DURATION } from '../contract/input-rules';
import { commandOn } from '../contract/lost-submit';
import { findJob } from './find-job';
import { onJob } from './open-jobs';
import { EXIT, printLine, type Terminal } from './terminal';

interface RetryCommandOptions {
  resubmit?: boolean;
  deadline?: string;
  json?: boolean;
}

/** `videogen retry`: tries a failed job again, without paying twice unless the user has decided to. */
export function retry(workflowId: string, options: RetryCommandOptions, terminal: Terminal): Promise<number> {
  return onJob(workflowId, terminal, async (session) => {
    const { resubmit, deadline } = options;
    if (deadline !== undefined && durationMs(deadline) === undefined) {
      throw new ConfigError(`--deadline ${DURATION.sentence}.`);
    }
    // Its message about a name that does not exist says more than that of the client.
    await findJob(session, workflowId);
    const retried = await session.videos.retry(workflowId, { resubmit, deadline });
    const { workflowId: name, kind, adopted, isJoined } = retried;
    const newName = name === workflowId ? '' : ` as ${shown(name)},`;
    const what =
      kind === 'batch'
        ? `The batch ${shown(name)} continues with its remaining items.`
        : `Retrying ${shown(workflowId)}${newName} with ${adopted === undefined ? 'the same request' : `its task ${shown(adopted)}, which is not paid for again`}.`;
    printLine(terminal, isJoined ? `${what} An earlier retry started it.` : what);
    printLine(terminal, `Follow it with: ${commandOn('watch', name)}`);
    terminal.out(options.json ? printableJson({ retryOf: workflowId, ...retried }) : shown(name));
    return EXIT.ok;
  });
}
