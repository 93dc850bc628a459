import { jobTable, liveLine, progressLine, storedLines } from '../../../src/cli/job-lines';
import { devCommand } from '../../../src/cli/open-jobs';
import { printLine } from '../../../src/cli/terminal';
import { describeBatch } from '../../../src/client/prepare-start';
import { isTaskId, isWorkflowId } from '../../../src/contract/input-rules';
import { JOB_PHASES, type JobProgress } from '../../../src/contract/job';
import { describeConflict } from '../../../src/contract/job-identity';
import { adoptCommand, commandOn, describeDecisionCommands } from '../../../src/contract/lost-submit';
import { searchAttributesOf } from '../../../src/contract/names';
import { describeJob, staticJobDetails } from '../../../src/contract/summaries';
import { VideoFailure } from '../../../src/contract/video-failure';
import { fileName } from '../../../src/storage';
import { createLogger } from '../../../src/worker/logger';
import { batchDetails, currentDetails } from '../../../workflows/ui-details';
import { FakeTerminal } from '../../cli/fake-terminal';
import { hostileText } from '../../support/hostile-text';
import { fc } from '../../support/properties';
import { anyText } from '../hostile';
import type { Target } from '../target';

const TIME = '2026-01-01T00:00:00.000Z';

/** A line in each format. */
function logLines(message: string, meta: Record<string, unknown>): string[] {
  const lines: string[] = [];
  for (const format of ['json', 'pretty'] as const) {
    createLogger({ level: 'trace', format, write: (line) => lines.push(line) }).warn(message, meta);
  }
  return lines;
}

export interface Names {
  workflowId: string;
  taskId: string;
  /** The service's words, as the activities pass them on: cleaned. */
  word: string;
  phase: JobProgress['phase'];
  item?: number;
}

const name = fc.oneof({ weight: 3, arbitrary: hostileText }, { weight: 2, arbitrary: anyText });

export const names: Target<Names> = {
  inputs: fc.record(
    {
      workflowId: name.filter(isWorkflowId),
      taskId: name.filter(isTaskId),
      word: name.map((word) => word.slice(0, 500)),
      phase: fc.constantFrom(...JOB_PHASES),
      item: fc.nat(1_000),
    },
    { requiredKeys: ['workflowId', 'taskId', 'word', 'phase'] },
  ),
  plain: { workflowId: 'fox', taskId: 't-1', word: 'busy', phase: 'waiting' },
  inSuite: 100,
  takesEverything: true,
  feed({ workflowId, taskId, word, phase, item = 1 }) {
    const progress: JobProgress = {
      phase,
      taskId,
      task: { state: 'running', word, percent: 5 },
      polls: 1,
      startedAt: TIME,
      deadlineAt: TIME,
      nextPollAt: TIME,
      hold: { since: TIME, until: TIME, message: word },
      problem: { type: 'RateLimited', message: word, count: 2 },
    };
    const batch = {
      items: 5,
      succeeded: 1,
      failed: 0,
      running: [{ ...progress, item, name: workflowId }],
      stopping: word,
    };
    const failure = new VideoFailure('DeadlineExceeded', { taskId, code: word, message: word, advice: word });
    const video = { uri: 'file:///videos/fox.mp4', bytes: 1, sha256: 'x', contentType: 'video/mp4' };
    const terminal = new FakeTerminal();
    const row = {
      workflowId,
      taskId,
      runId: word,
      kind: 'job',
      state: 'running',
      phase,
      startedAt: TIME,
      taskQueue: word,
    } as const;
    const printed = [
      ...[commandOn('watch', workflowId), devCommand(word)],
      ...jobTable([row]),
      ...[progress, batch].flatMap((one) => [progressLine(one), liveLine({ ...row, progress: one }, 0)]),
      ...storedLines({ video, taskId, polls: 1, waitedMs: 0, warnings: [word] }, word),
    ];
    for (const line of printed) printLine(terminal, line);
    const meta = {
      workflowId,
      activityType: 'submitVideo',
      attempt: 1,
      taskId,
      word,
      list: [word],
      error: failure,
    };
    const file = fileName(workflowId);
    return {
      texts: [
        terminal.stderr,
        ...logLines(word, meta),
        ...[currentDetails(progress, undefined, workflowId), batchDetails(batch)],
        ...[describeDecisionCommands(workflowId), adoptCommand(failure) ?? '', failure.message],
        staticJobDetails({ taskId, storage: word }),
        ...[
          describeJob({ taskId }),
          describeJob({ request: { prompt: word } }),
          describeBatch({ requestsFrom: word }),
        ],
        describeConflict(workflowId, { request: { [word]: 1 } }, { taskId })?.message ?? '',
        ...searchAttributesOf({ phase, taskId }).map(({ value }) => value),
        file,
      ],
      problems: /^[\w%!'()*.~-]{1,200}$/.test(file) && !file.startsWith('.') ? [] : [`a file name: ${file}`],
    };
  },
};
