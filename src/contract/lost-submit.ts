import { inShell } from './clean-text';
import { FAILURES, type FailureType, isTaskOver, toTemporalType } from './failure-table';

/**
 * What to do about a lost submit: `hold` waits for a decision, `resubmit` sends the same idempotency key again, `fail` ends
 * the job. A submit is lost when its POST was sent, or may have been, and its answer is not known: a paid task may exist.
 */
export const LOST_SUBMIT_POLICIES = ['hold', 'resubmit', 'fail'] as const;

/** One of LOST_SUBMIT_POLICIES. */
export type LostSubmitPolicy = (typeof LOST_SUBMIT_POLICIES)[number];

/** Whether a submit that failed so may have paid for a task. */
export function mayHaveMadeTask(type: FailureType): boolean {
  return FAILURES[type].retry.submit === 'hold';
}

/** How an operator settles a lost submit, after checking at the service whether the task exists. */
export type SubmitDecision = {
  /** The id of the lost submit, as the progress says it: a decision about another one is refused. Any by default. */
  lostSubmit?: string;
} & ({ decision: 'resubmit' } | { decision: 'adopt'; taskId: string } | { decision: 'abandon' });

/** A decision about a lost submit that was refused; the job continues to wait. */
export class DecisionRefused extends Error {
  override readonly name = 'DecisionRefused';
}

/** The type of a refused decision as an ApplicationFailure, which is how it crosses Temporal. */
export const DECISION_REFUSED = toTemporalType('DecisionRefused');

/** A command about one job or batch, as people may paste it into a shell. */
export function commandOn(command: string, workflowId: string, options = ''): string {
  const name = inShell(workflowId);
  const more = options && ` ${options}`;
  // Without `--`, the name would be read as an option.
  return workflowId.startsWith('-')
    ? `videogen ${command}${more} -- ${name}`
    : `videogen ${command} ${name}${more}`;
}

/** Temporal's own command for a job that somebody has paused there. */
export const unpauseCommand = (workflowId: string) =>
  `temporal workflow unpause --workflow-id ${inShell(workflowId)}`;

/** Copies the video of a job that has one. */
export const copyCommand = (workflowId: string) =>
  `videogen generate --id ${inShell(workflowId)} --out FILE.mp4`;

/** The commands that settle a lost submit, for the terminal and the Temporal UI. */
export function decisionCommands(workflowId: string): { when: string; command: string }[] {
  const decide = (decision: string) => commandOn('decide', workflowId, decision);
  return [
    { when: 'the task exists', command: decide('--adopt TASK_ID') },
    { when: 'it does not exist; if it appears later, you pay for both', command: decide('--resubmit') },
    { when: 'you no longer want the video', command: decide('--abandon') },
  ];
}

/** The same commands as half a sentence. */
export function describeDecisionCommands(workflowId: string): string {
  return `decide with ${decisionCommands(workflowId)
    .map(({ command }) => command)
    .join(', or ')}`;
}

/**
 * The command that continues with the task of a failed job; undefined when there is nothing to continue with. The default
 * service does not know the tasks of another one.
 */
export function adoptCommand({
  type,
  taskId,
  details: { service } = {},
}: {
  type: FailureType;
  taskId?: string | undefined;
  details?: { service?: string };
}): string | undefined {
  if (isTaskOver(type)) return undefined;
  if (taskId === undefined && type !== 'SubmitUnconfirmed') return undefined;
  const task = taskId === undefined ? 'TASK_ID' : inShell(taskId);
  return `videogen generate --adopt ${task}${service === undefined ? '' : ` --service ${inShell(service)}`}`;
}
