import { Command, Option } from 'commander';
import { OVERVIEW_STATES } from '../client/overview';
import { packageManifest } from '../config/package-manifest';
import { FAILURES } from '../contract/failure-table';
import type { Terminal } from './terminal';

/** The third part is the default, or the list of values that are allowed. */
type OptionRow = [flags: string, about: string, values?: string | readonly string[]];

/** A command is called with its arguments, its options and the terminal. */
type Action = (...given: unknown[]) => Promise<number>;

interface CommandRow {
  about: string;
  args?: readonly [name: string, about: string][];
  options: readonly OptionRow[];
  example: string;
  /** More help, which takes a moment to load. */
  more?(): string;
  /** Loads the command when it runs: `--help` must not wait for Temporal's SDK. */
  load(): Action;
}

const JSON_OBJECT: OptionRow = ['--json', 'print one JSON object to standard output'];
const JSON_LINES: OptionRow = ['--json', 'print JSON lines, as in a pipe'];
const HOLD_FOR: OptionRow = [
  '--hold-for <time>',
  'how long to hold a lost submit for a decision (default: 24h)',
];
const ON_LOST_SUBMIT: OptionRow = [
  '--on-lost-submit <policy>',
  'hold, resubmit or fail when the answer to a submit is lost',
];
const SERVICE: OptionRow = [
  '--service <name>',
  'the service of VIDEOGEN_SERVICES_FILE to use, or a model such as @ai-sdk/fal:veo3; a,b tries b if a refuses',
];
const JOB_OR_BATCH: [string, string] = ['<id>', 'name of the job, or of the batch'];
const JOB_OR_ITEM: [string, string] = ['<id>', 'name of the job, or of a batch item such as foxes-3'];

/** Every command, in the order of the help. */
const COMMANDS: Record<string, CommandRow> = {
  generate: {
    about: 'generate one video and wait for it',
    args: [['[prompt]', 'description of the video']],
    options: [
      ['--image-url <url>', 'start from this image'],
      ['--image <file>', 'start from this PNG, JPEG, WebP or GIF file, which goes into the storage'],
      ['--resolution <name>', '480p, 720p or 1080p'],
      ['--aspect-ratio <ratio>', '16:9, 9:16, 4:3, 3:4, 21:9 or 1:1'],
      ['--duration <seconds>', 'whole seconds, at most 10'],
      ['--seed <number>', 'the same seed reproduces a result'],
      ['--field <name=value...>', 'other fields of the request, which the profile must allow'],
      ['--out <file>', 'also copy the video to this file; with --id alone, the video of that job'],
      ['--id <name>', 'name of the job; the same name again is the same job'],
      ['--deadline <time>', 'how long the job may take, such as 90s, 30m or 2h', '1h'],
      ['--adopt <task>', 'continue with a task that already exists at the service'],
      ON_LOST_SUBMIT,
      HOLD_FOR,
      [
        '--storage <key>',
        'key of the video in the storage, such as foxes/{date}/{workflowId}.{ext} or foxes/',
      ],
      ['--cap <amount...>', 'the most that the video may use, such as "2.50 USD" or "8 seconds"'],
      SERVICE,
      ['--no-wait', 'start the job and exit'],
      JSON_OBJECT,
    ],
    example: 'videogen generate "A red fox in the snow" --duration 5 --out fox.mp4',
    load: () => require('./generate').generate,
  },
  batch: {
    about: 'generate a video for each line of a file and wait for all; run again to continue',
    args: [['<file>', 'requests, one JSON object per line, such as {"prompt":"A red fox","duration":5}']],
    options: [
      ['--window <number>', 'how many run at a time', '20'],
      ['--on-failure <what>', 'continue or stop after a failed item', 'continue'],
      ['--id <name>', 'name of the batch (default: derived from the file and the service)'],
      ['--deadline <time>', 'how long each video may take, such as 90s, 30m or 2h', '1h'],
      ON_LOST_SUBMIT,
      HOLD_FOR,
      ['--storage <prefix>', 'prefix of the videos in the storage, such as foxes/'],
      ['--cap <amount...>', 'the most that all videos together may use, such as "50 videos" or "20 USD"'],
      SERVICE,
      ['--no-wait', 'start the batch and exit'],
      JSON_OBJECT,
    ],
    example: 'videogen batch foxes.jsonl --window 10',
    load: () => require('./batch').batch,
  },
  decide: {
    about: 'settle a submit whose answer was lost, after you have looked for its task at the service',
    args: [JOB_OR_ITEM],
    options: [
      ['--adopt <task>', 'the task exists: continue with it'],
      ['--resubmit', 'the task does not exist: submit again; if it does exist, you pay twice'],
      ['--abandon', 'end the job'],
      JSON_OBJECT,
    ],
    example: 'videogen decide fox-1 --adopt task_0a285c4d',
    load: () => require('./decide').decide,
  },
  list: {
    about: 'list jobs and batches, newest first',
    options: [
      ['--state <state...>', 'only those in this state', OVERVIEW_STATES],
      ['--failure <type...>', 'only those that failed for this reason', Object.keys(FAILURES)],
      [
        '--since <time>',
        'only those started in this time, such as 2h or 7d, or since a date such as 2026-11-16',
      ],
      ['--batch <id>', 'only the items of this batch'],
      ['--limit <number>', 'maximum number of rows', '50'],
      JSON_LINES,
    ],
    example: 'videogen list --state running needs-decision',
    load: () => require('./list').list,
  },
  status: {
    about: 'show everything that is known about one job, and what can be done',
    args: [JOB_OR_BATCH],
    options: [JSON_OBJECT],
    example: 'videogen status fox-1',
    load: () => require('./status').status,
  },
  watch: {
    about: 'show the progress of a job or a batch until it has ended',
    args: [JOB_OR_BATCH],
    options: [JSON_LINES],
    example: 'videogen watch fox-1',
    load: () => require('./watch').watch,
  },
  cancel: {
    about: 'end a job or a batch; the service may still finish its task',
    args: [JOB_OR_BATCH],
    options: [JSON_OBJECT],
    example: 'videogen cancel fox-1',
    load: () => require('./cancel').cancel,
  },
  retry: {
    about: 'try a failed job again; its task, if there is one, is not paid for twice',
    args: [JOB_OR_BATCH],
    options: [
      ['--resubmit', 'submit the request again, even if this pays again'],
      ['--deadline <time>', 'how long the new job may take, such as 2h (default: as before)'],
      JSON_OBJECT,
    ],
    example: 'videogen retry fox-1',
    load: () => require('./retry').retry,
  },
  forget: {
    about: 'remove the files, record and execution of an ended job, and say what stays',
    args: [JOB_OR_BATCH],
    options: [
      ['--dry-run', 'only say what would be removed'],
      ['--yes', 'remove it; without this nothing is removed'],
      JSON_OBJECT,
    ],
    example: 'videogen forget fox-1 --dry-run',
    load: () => require('./forget').forget,
  },
  spend: {
    about: 'add up what jobs and batches cost, by service, caller and day',
    options: [
      [
        '--since <time>',
        'only those submitted in this time, such as 2h or 7d, or since a date such as 2026-11-16',
        '7d',
      ],
      ['--caps', 'show the caps of the workers instead, and what is left of each'],
      JSON_OBJECT,
    ],
    example: 'videogen spend --since 7d',
    load: () => require('./spend').spend,
  },
  dev: {
    about:
      'run Temporal, its UI, a worker, the gateway with its page and, unless a service is configured, the emulator',
    options: [
      ['--port <port>', 'port of the Temporal server'],
      ['--ui-port <port>', 'port of the Temporal UI'],
      ['--gateway-port <port>', 'port of the gateway and its page'],
      ['--fault <call:kind...>', 'faults for the next calls of the emulator, such as submit:reset'],
    ],
    example: 'videogen dev --port 7233 --ui-port 8233',
    more: () => require('./read-faults').describeFaults(),
    load: () => require('./dev').dev,
  },
  init: {
    about: 'write a worker, a workflow, a client and a test into your project',
    args: [['[folder]', 'folder of the project (default: the current folder)']],
    options: [],
    example: 'videogen init',
    load: () => require('./init').init,
  },
  worker: {
    about: 'run a worker',
    options: [
      ['--record <dir>', 'record the answers of the service in this folder, without keys and signatures'],
      ['--only <role...>', 'do only this part of the work', ['jobs', 'submits', 'downloads']],
    ],
    example: 'videogen worker --only downloads',
    load: () => require('./worker').worker,
  },
  emulator: {
    about: 'run the emulated video service alone',
    options: [
      ['--host <address>', 'address to listen on', '127.0.0.1'],
      ['--port <port>', 'port to listen on', '8080'],
      ['--job-time <time>', 'how long a generation takes', '5s'],
      ['--tasks-file <file>', 'keep the generations in this file across restarts'],
      ['--charge <dollars>', 'what each video costs, as the answers about ended tasks report'],
      ['--fault <call:kind...>', 'faults for the next calls, such as submit:rate-limited'],
      ['--fal', "speak the interface of fal's queue, for @ai-sdk/fal"],
    ],
    example: 'videogen emulator --port 8080 --job-time 2s',
    more: () => require('./read-faults').describeFaults(),
    load: () => require('./emulator').emulator,
  },
  gateway: {
    about: "serve the video service's own HTTP interface, with a durable job behind every request",
    options: [
      ['--host <address>', 'address to listen on', '127.0.0.1'],
      ['--port <port>', 'port to listen on', '8787'],
    ],
    example: 'videogen gateway --port 8787',
    load: () => require('./gateway').gateway,
  },
  'gateway-key': {
    about: 'make a key for the gateway, print it once, and add its digest to the key file',
    args: [['<name>', 'whose key it is, such as web_shop']],
    options: [
      ['--file <file>', 'the key file (default: VIDEOGEN_GATEWAY_KEYS_FILE)'],
      ['--if-missing', 'do nothing if the name has a key already'],
    ],
    example: 'videogen gateway-key web_shop --file keys.txt',
    load: () => require('./keys').gatewayKey,
  },
  'encryption-key': {
    about: 'make a key that encrypts what jobs leave in Temporal',
    args: [['<name>', 'its id, such as 2026-11']],
    options: [
      ['--file <file>', 'the key file (default: VIDEOGEN_ENCRYPTION_KEYS_FILE)'],
      ['--last', 'put the key last, where it only decrypts (default: first, where it encrypts)'],
    ],
    example: 'videogen encryption-key 2027-05 --last --file keys',
    load: () => require('./keys').encryptionKey,
  },
  doctor: {
    about: 'check everything that a job needs, and say how to fix each problem',
    options: [['--register', 'only register the search attributes of jobs in the namespace'], JSON_OBJECT],
    example: 'videogen doctor',
    load: () => require('./doctor').doctor,
  },
  explain: {
    about:
      'show what videogen finds in saved answers of a service, and propose a profile for what is missing',
    args: [['<file>', 'a file with an answer, or a folder that a worker recorded']],
    options: [
      ['--status <code>', 'HTTP status of an answer that was saved without its status', '200'],
      ['--service <name>', 'read the answers with the profile of this service in VIDEOGEN_SERVICES_FILE'],
    ],
    example: 'videogen explain answer.json',
    load: () => require('./explain').explain,
  },
};

/** What a command line asks for. */
export interface CommandCall {
  name: string;
  /** Arguments and options. */
  given: unknown[];
  load(): Action;
}

/** The parser of the command line. */
export function describeProgram(terminal: Terminal, call: (call: CommandCall) => Promise<void>): Command {
  const program = new Command('videogen')
    .description('Video generation as a durable Temporal workflow.')
    .version(packageManifest().version, '-V, --version', 'print the version of temporal-videogen')
    .exitOverride()
    .showHelpAfterError('See videogen --help, or videogen COMMAND --help.')
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text),
      // A mistyped argument is quoted, however long it is.
      outputError: (text, write) => write(text.slice(0, LONGEST_USAGE_CHARS)),
    });
  for (const [name, row] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(row.about);
    for (const [arg, about] of row.args ?? []) command.argument(arg, about);
    for (const option of row.options) command.addOption(optionOf(option));
    if (row.more) command.addHelpText('after', row.more);
    command.addHelpText('after', `\nExample:\n  ${row.example}`);
    // Commander adds the command itself.
    command.action((...given: unknown[]) => call({ ...row, name, given: given.slice(0, -1) }));
  }
  return program;
}

function optionOf([flags, about, values]: OptionRow): Option {
  const option = new Option(flags, about);
  return typeof values === 'string' ? option.default(values) : values ? option.choices(values) : option;
}

export const LONGEST_USAGE_CHARS = 2_000;
