import { type Command, Option } from 'commander';
import { OVERVIEW_STATES } from '../client/overview';
import { FAILURES } from '../contract/failure-table';
import { SHELLS } from './completion';
import type {
  CancelOptions,
  CapsCommandOptions,
  DownloadOptions,
  ForgetCommandOptions,
  ListCommandOptions,
  OpenOptions,
  PollOptions,
  RetryCommandOptions,
  SpendOptions,
  StatusOptions,
  WatchOptions,
} from './options';

/** What the commands about existing jobs do. */
export interface JobActions {
  list(options: ListCommandOptions): Promise<void>;
  status(workflowId: string, options: StatusOptions): Promise<void>;
  watch(workflowIds: string[], options: WatchOptions): Promise<void>;
  cancel(workflowId: string, options: CancelOptions): Promise<void>;
  poll(workflowId: string, options: PollOptions): Promise<void>;
  retry(workflowId: string, options: RetryCommandOptions): Promise<void>;
  download(workflowId: string, options: DownloadOptions): Promise<void>;
  forget(workflowId: string, options: ForgetCommandOptions): Promise<void>;
  open(workflowId: string, options: OpenOptions): Promise<void>;
  caps(options: CapsCommandOptions): Promise<void>;
  spend(options: SpendOptions): Promise<void>;
  completion(shell: string): Promise<void>;
}

const JOB_OR_BATCH = 'name of the job, or of the batch';
const AS_JSON = 'print one JSON object to standard output';
const AS_JSON_LINES = 'print JSON lines, as in a pipe';

/** Adds the commands about jobs that exist. */
export function addJobCommands(program: Command, actions: JobActions): void {
  program
    .command('list')
    .description('list jobs and batches, newest first')
    .addOption(new Option('--state <state...>', 'only those in this state').choices(OVERVIEW_STATES))
    .addOption(new Option('--failure <type...>', 'only those that failed so').choices(Object.keys(FAILURES)))
    .option('--since <time>', 'only those started since, such as 2h, 7d or 2026-11-16')
    .option('--batch <id>', 'only the items of this batch')
    .option('--limit <number>', 'at most so many', '50')
    .option('--watch', 'show the list again and again, until Ctrl-C')
    .option('--json', AS_JSON_LINES)
    .action(actions.list);
  program
    .command('status')
    .description('show everything that is known about one job, and what can be done')
    .argument('<id>', `${JOB_OR_BATCH}, or of an item such as foxes-3`)
    .option('--json', AS_JSON)
    .action(actions.status);
  program
    .command('watch')
    .description('show the progress of jobs and batches until all of them have ended')
    .argument('<id...>', 'names of jobs and batches')
    .option('--json', AS_JSON_LINES)
    .action(actions.watch);
  program
    .command('cancel')
    .description('end a job or a batch; the service may still finish what it has begun')
    .argument('<id>', JOB_OR_BATCH)
    .option('--json', AS_JSON)
    .action(actions.cancel);
  program
    .command('poll')
    .description('poll the task of a job now, and say what the service answered')
    .argument('<id>', JOB_OR_BATCH)
    .option('--json', AS_JSON)
    .action(actions.poll);
  program
    .command('retry')
    .description('try a failed job again; its task, if there is one, is not paid twice')
    .argument('<id>', JOB_OR_BATCH)
    .option('--resubmit', 'submit the request again, even if it is paid again')
    .option('--deadline <time>', 'how long the new job may take, such as 2h (default: as before)')
    .option('--service <name>', 'submit the request to this service instead (default: the same)')
    .option('--json', AS_JSON)
    .action(actions.retry);
  program
    .command('download')
    .description('copy the stored video of an ended job to a file, and verify it')
    .argument('<id>', 'name of the job, or of an item of a batch such as foxes-3')
    .option('--out <file>', 'the file (default: named after the job, in this folder)')
    .option('--json', AS_JSON)
    .action(actions.download);
  program
    .command('forget')
    .description('remove what can be removed of an ended job: files, record, execution; say what stays')
    .argument('<id>', `${JOB_OR_BATCH}, or of an item such as foxes-3`)
    .option('--dry-run', 'only say what would be removed')
    .option('--yes', 'do not ask')
    .option('--json', AS_JSON)
    .action(actions.forget);
  program
    .command('open')
    .description('print the address of a job in the Temporal UI and, on a terminal, open a browser')
    .argument('<id>', JOB_OR_BATCH)
    .option('--no-browser', 'only print the address')
    .option('--json', AS_JSON)
    .action(actions.open);
  program
    .command('caps')
    .description('show the caps of the workers, and what is left of each')
    .option('--json', AS_JSON)
    .action(actions.caps);
  program
    .command('spend')
    .description('add up what jobs and batches cost, by service, caller and day')
    .option('--since <time>', 'those submitted since, such as 2h, 7d or 2026-11-16', '7d')
    .option('--until <time>', 'and before, in the same form (default: now)')
    .addOption(
      new Option('--by <what>', 'one table (default: all three)').choices(['service', 'caller', 'day']),
    )
    .option('--json', AS_JSON)
    .action(actions.spend);
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(program.createArgument('<shell>', 'the shell').choices(SHELLS))
    .action(actions.completion);
}
