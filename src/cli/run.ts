import { Command, CommanderError } from 'commander';
import { printableJson } from '../contract/clean-text';
import { packageVersion } from '../temporal-server/package-root';
import type {
  BatchOptions,
  DecideOptions,
  DevOptions,
  DoctorOptions,
  EmulatorCommandOptions,
  ExplainOptions,
  GenerateOptions,
  SearchAttributesOptions,
  WorkerCommandOptions,
} from './options';
import type { Terminal } from './terminal';

const load = {
  generate: (): typeof import('./generate') => require('./generate'),
  batch: (): typeof import('./batch') => require('./batch'),
  decide: (): typeof import('./decide') => require('./decide'),
  dev: (): typeof import('./dev') => require('./dev'),
  worker: (): typeof import('./worker') => require('./worker'),
  emulator: (): typeof import('./emulator') => require('./emulator'),
  readFaults: (): typeof import('./read-faults') => require('./read-faults'),
  doctor: (): typeof import('./doctor') => require('./doctor'),
  explain: (): typeof import('./explain') => require('./explain'),
  searchAttributes: (): typeof import('./search-attributes') => require('./search-attributes'),
  exitCodes: (): typeof import('./exit-codes') => require('./exit-codes'),
};

/**
 * Runs one command and answers with its exit code. What a command needs is loaded when it is chosen: `--help` must not
 * wait for Temporal's SDK.
 */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const ends = (command: Promise<number>) =>
    command.then((given) => {
      code = given;
    });
  const program = describeProgram(terminal, {
    generate: (prompt, options) => ends(load.generate().generate(prompt, options, terminal)),
    batch: (file, options) => ends(load.batch().batch(file, options, terminal)),
    decide: (workflowId, options) => ends(load.decide().decide(workflowId, options, terminal)),
    dev: (options) => ends(load.dev().dev(options, terminal)),
    worker: (options) => ends(load.worker().worker(options, terminal)),
    emulator: (options) => ends(load.emulator().emulator(options, terminal)),
    doctor: (options) => ends(load.doctor().doctor(options, terminal)),
    explain: (file, options) => ends(load.explain().explain(file, options, terminal)),
    searchAttributes: (options) => ends(load.searchAttributes().searchAttributes(options, terminal)),
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { EXIT, exitCodeOf } = load.exitCodes();
    if (error instanceof CommanderError) {
      const usage = { type: 'UsageError', message: error.message };
      if (args.includes('--json')) terminal.out(printableJson({ error: usage }));
      return EXIT.usage;
    }
    terminal.err(`${error instanceof Error ? error.message : String(error)}\n`);
    // Those are mistakes of ours; whatever else there is says by its message what is wrong.
    if (error instanceof TypeError || error instanceof ReferenceError) terminal.err(`${error.stack}\n`);
    return exitCodeOf(error);
  }
}

interface Actions {
  generate(prompt: string | undefined, options: GenerateOptions): Promise<void>;
  batch(file: string, options: BatchOptions): Promise<void>;
  decide(workflowId: string, options: DecideOptions): Promise<void>;
  dev(options: DevOptions): Promise<void>;
  worker(options: WorkerCommandOptions): Promise<void>;
  emulator(options: EmulatorCommandOptions): Promise<void>;
  doctor(options: DoctorOptions): Promise<void>;
  explain(file: string, options: ExplainOptions): Promise<void>;
  searchAttributes(options: SearchAttributesOptions): Promise<void>;
}

export function describeProgram(terminal: Terminal, actions: Actions): Command {
  const program = new Command('videogen')
    .description('Video generation as a durable Temporal workflow.')
    .version(packageVersion(), '-V, --version', 'print the version of temporal-videogen')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text),
    });

  program
    .command('generate')
    .description('generate one video and wait for it')
    .argument('[prompt]', 'what the video is to show')
    .option('--image-url <url>', 'start from this image')
    .option('--resolution <name>', '480p, 720p or 1080p')
    .option('--aspect-ratio <ratio>', '16:9, 9:16, 4:3, 3:4, 21:9 or 1:1')
    .option('--duration <seconds>', 'whole seconds, at most 10')
    .option('--seed <number>', 'the same seed reproduces a result')
    .option('--field <name=value...>', 'further fields of the request, which the profile has to allow')
    .option('--out <file>', 'put the video there as well')
    .option('--id <name>', 'name of the job: the same name again is the same job')
    .option('--deadline <time>', 'how long it may take, such as 90s, 30m or 2h', '1h')
    .option('--adopt <task>', 'take over a task that the service has already')
    .option('--on-lost-submit <policy>', 'hold, resubmit or fail when the answer to the submit is lost')
    .option('--hold-for <time>', 'how long to hold a lost submit for a decision (default: 24h)')
    .option(
      '--storage <key>',
      'where it goes in the storage, such as foxes/{date}/{workflowId}.{ext}, or foxes/',
    )
    .option('--keep-bad', 'keep what was downloaded and is no video, for somebody to look at')
    .option('--no-wait', 'start the job and leave')
    .option('--json', 'end with one JSON object on standard output')
    .action(actions.generate);
  program
    .command('batch')
    .description('generate a video for each line of a file, and wait for all; again, it goes on where it was')
    .argument('<file>', 'requests, one JSON object a line, such as {"prompt":"A red fox","duration":5}')
    .option('--window <number>', 'how many at a time', '20')
    .option('--on-failure <what>', 'continue with the others, or stop', 'continue')
    .option('--id <name>', 'name of the batch (default: made of what is in the file and of the service)')
    .option('--deadline <time>', 'how long each may take, such as 90s, 30m or 2h', '1h')
    .option('--on-lost-submit <policy>', 'hold, resubmit or fail when the answer to a submit is lost')
    .option('--hold-for <time>', 'how long to hold a lost submit for a decision (default: 24h)')
    .option('--storage <prefix>', 'where the videos go in the storage, such as foxes/')
    .option('--keep-bad', 'keep what was downloaded and is no video, for somebody to look at')
    .option('--no-wait', 'start the batch and leave')
    .option('--json', 'end with one JSON object on standard output')
    .action(actions.batch);
  program
    .command('decide')
    .description('settle a submit whose answer was lost, after looking for its task at the service')
    .argument('<id>', 'name of the job, or of the batch')
    .option('--item <number>', 'which item of the batch')
    .option('--adopt <task>', 'the task is there: go on with it')
    .option('--resubmit', 'it is not there: submit once more; if it comes after all, both are paid for')
    .option('--abandon', 'end the job')
    .option('--json', 'end with one JSON object on standard output')
    .action(actions.decide);
  program
    .command('dev')
    .description('run Temporal, its UI, a worker and, unless a service is named, the emulator')
    .option('--port <port>', 'port of the Temporal server')
    .option('--ui-port <port>', 'port of the Temporal UI')
    .action(actions.dev);
  program
    .command('worker')
    .description('run a worker')
    .option('--record <dir>', 'keep what the service answers there, without keys and signatures')
    .option('--only <role...>', 'do nothing but jobs, submits or downloads')
    .action(actions.worker);
  program
    .command('emulator')
    .description('run the emulated video service alone')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', '8080')
    .option('--job-time <time>', 'how long a generation takes', '5s')
    .option('--concurrent-tasks <number>', 'how many generations it works on at once; more are refused')
    .option('--honour-keys', 'the same idempotency key again is the same generation')
    .option('--dialect <name>', 'after which service its answers are worded', 'default')
    .option('--fault <call:kind...>', 'faults for the next calls, such as submit:rate-limited')
    .option('--chaos <rate>', 'how likely each call meets a fault, from 0 to 1')
    .option('--chaos-seed <text>', 'the same chaos again')
    .addHelpText('after', () => load.readFaults().describeChoices())
    .action(actions.emulator);
  program
    .command('doctor')
    .description('check everything a job needs, and say how to fix what is wrong')
    .option('--json', 'end with one JSON object on standard output')
    .action(actions.doctor);
  program
    .command('explain')
    .description(
      'tell what is understood of saved answers of a service, and propose a profile for what is not',
    )
    .argument('<file>', 'a file with an answer, a folder that a worker recorded, or - for standard input')
    .option('--status <code>', 'HTTP status of an answer that was saved without it', '200')
    .option('--json', 'end with one JSON object on standard output')
    .action(actions.explain);
  program
    .command('search-attributes')
    .description('tell whether the namespace has the search attributes that jobs can be found by')
    .option('--register', 'register those that are missing')
    .option('--json', 'end with one JSON object on standard output')
    .action(actions.searchAttributes);
  return program;
}
