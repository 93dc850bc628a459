import { Command, CommanderError } from 'commander';
import { cleanText, printableJson } from '../contract/clean-text';
import { packageVersion } from '../temporal-server/package-root';
import { completionScript, SHELLS } from './completion';
import { exampleText } from './examples';
import { addJobCommands, type JobActions } from './job-program';
import type {
  BatchOptions,
  DecideOptions,
  DevOptions,
  DoctorOptions,
  EmulatorCommandOptions,
  EncryptionKeyOptions,
  ExplainOptions,
  GatewayCommandOptions,
  GatewayKeyOptions,
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
  gateway: (): typeof import('./gateway') => require('./gateway'),
  gatewayKey: (): typeof import('./gateway-key') => require('./gateway-key'),
  encryptionKey: (): typeof import('./encryption-key') => require('./encryption-key'),
  readFaults: (): typeof import('./read-faults') => require('./read-faults'),
  doctor: (): typeof import('./doctor') => require('./doctor'),
  explain: (): typeof import('./explain') => require('./explain'),
  searchAttributes: (): typeof import('./search-attributes') => require('./search-attributes'),
  caps: (): typeof import('./caps') => require('./caps'),
  list: (): typeof import('./list') => require('./list'),
  status: (): typeof import('./status') => require('./status'),
  watch: (): typeof import('./watch') => require('./watch'),
  cancel: (): typeof import('./cancel') => require('./cancel'),
  poll: (): typeof import('./poll') => require('./poll'),
  retry: (): typeof import('./retry') => require('./retry'),
  download: (): typeof import('./download') => require('./download'),
  forget: (): typeof import('./forget') => require('./forget'),
  open: (): typeof import('./open') => require('./open'),
  spend: (): typeof import('./spend') => require('./spend'),
  whileExporting: (): typeof import('./while-exporting') => require('./while-exporting'),
  exitCodes: (): typeof import('./exit-codes') => require('./exit-codes'),
};

/**
 * Runs one command and returns its exit code. Each command loads its modules when it runs: `--help` must not wait for
 * Temporal's SDK.
 */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  let code = 0;
  const recordCode = (command: Promise<number>) =>
    command.then((exitCode) => {
      code = exitCode;
    });
  /** For commands that start or run jobs. Without such variables nothing of OpenTelemetry is loaded. */
  const traced = (command: () => Promise<number>) => {
    const mayTrace = Object.keys(terminal.env).some((name) => name.startsWith('OTEL_'));
    return recordCode(mayTrace ? load.whileExporting().whileExporting(terminal, command) : command());
  };
  const program = describeProgram(terminal, {
    generate: (prompt, options) => traced(() => load.generate().generate(prompt, options, terminal)),
    batch: (file, options) => traced(() => load.batch().batch(file, options, terminal)),
    decide: (workflowId, options) => recordCode(load.decide().decide(workflowId, options, terminal)),
    dev: (options) => traced(() => load.dev().dev(options, terminal)),
    worker: (options) => traced(() => load.worker().worker(options, terminal)),
    emulator: (options) => recordCode(load.emulator().emulator(options, terminal)),
    gateway: (options) => traced(() => load.gateway().gateway(options, terminal)),
    gatewayKey: (name, options) => recordCode(load.gatewayKey().gatewayKey(name, options, terminal)),
    encryptionKey: (name, options) => recordCode(load.encryptionKey().encryptionKey(name, options, terminal)),
    doctor: (options) => recordCode(load.doctor().doctor(options, terminal)),
    explain: (file, options) => recordCode(load.explain().explain(file, options, terminal)),
    searchAttributes: (options) => recordCode(load.searchAttributes().searchAttributes(options, terminal)),
    caps: (options) => recordCode(load.caps().caps(options, terminal)),
    list: (options) => recordCode(load.list().list(options, terminal)),
    status: (id, options) => recordCode(load.status().status(id, options, terminal)),
    watch: (ids, options) => recordCode(load.watch().watch(ids, options, terminal)),
    cancel: (id, options) => recordCode(load.cancel().cancel(id, options, terminal)),
    poll: (id, options) => recordCode(load.poll().poll(id, options, terminal)),
    retry: (id, options) => recordCode(load.retry().retry(id, options, terminal)),
    download: (id, options) => recordCode(load.download().download(id, options, terminal)),
    forget: (id, options) => recordCode(load.forget().forget(id, options, terminal)),
    open: (id, options) => recordCode(load.open().open(id, options, terminal)),
    spend: (options) => recordCode(load.spend().spend(options, terminal)),
    completion: async (shell) => {
      const known = SHELLS.find((one) => one === shell);
      if (known) terminal.out(completionScript(program, known));
    },
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const { EXIT, exitCodeOf } = load.exitCodes();
    if (error instanceof CommanderError) {
      const usage = { type: 'UsageError', message: cleanText(error.message, LONGEST_USAGE_CHARS) };
      if (args.includes('--json')) terminal.out(printableJson({ error: usage }));
      return EXIT.usage;
    }
    terminal.err(`${error instanceof Error ? error.message : String(error)}\n`);
    // These are bugs. The message of any other error says enough.
    if (error instanceof TypeError || error instanceof ReferenceError) terminal.err(`${error.stack}\n`);
    return exitCodeOf(error);
  }
}

/** A mistyped argument is quoted, however long it is. */
const LONGEST_USAGE_CHARS = 2_000;

function cutUsage(text: string): string {
  return text.length <= LONGEST_USAGE_CHARS ? text : `${text.slice(0, LONGEST_USAGE_CHARS)}…\n`;
}

interface Actions extends JobActions {
  generate(prompt: string | undefined, options: GenerateOptions): Promise<void>;
  batch(file: string, options: BatchOptions): Promise<void>;
  decide(workflowId: string, options: DecideOptions): Promise<void>;
  dev(options: DevOptions): Promise<void>;
  worker(options: WorkerCommandOptions): Promise<void>;
  emulator(options: EmulatorCommandOptions): Promise<void>;
  gateway(options: GatewayCommandOptions): Promise<void>;
  gatewayKey(name: string, options: GatewayKeyOptions): Promise<void>;
  encryptionKey(name: string, options: EncryptionKeyOptions): Promise<void>;
  doctor(options: DoctorOptions): Promise<void>;
  explain(file: string | undefined, options: ExplainOptions): Promise<void>;
  searchAttributes(options: SearchAttributesOptions): Promise<void>;
}

export function describeProgram(terminal: Terminal, actions: Actions): Command {
  const program = new Command('videogen')
    .description('Video generation as a durable Temporal workflow.')
    .version(packageVersion(), '-V, --version', 'print the version of temporal-videogen')
    .exitOverride()
    .showHelpAfterError('See videogen --help, or videogen COMMAND --help.')
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.err(text),
      outputError: (text, write) => write(cutUsage(text)),
    });

  program
    .command('generate')
    .description('generate one video and wait for it')
    .argument('[prompt]', 'description of the video')
    .option('--image-url <url>', 'start from this image')
    .option('--image <file>', 'start from this PNG, JPEG, WebP or GIF file, which goes into the storage')
    .option('--resolution <name>', '480p, 720p or 1080p')
    .option('--aspect-ratio <ratio>', '16:9, 9:16, 4:3, 3:4, 21:9 or 1:1')
    .option('--duration <seconds>', 'whole seconds, at most 10')
    .option('--seed <number>', 'the same seed reproduces a result')
    .option('--field <name=value...>', 'further fields of the request, which the profile must allow')
    .option('--out <file>', 'copy the video to this file as well')
    .option('--id <name>', 'name of the job; the same name again is the same job')
    .option('--deadline <time>', 'how long the job may take, such as 90s, 30m or 2h', '1h')
    .option('--adopt <task>', 'take over a task that already exists at the service')
    .option('--on-lost-submit <policy>', 'hold, resubmit or fail when the answer to the submit is lost')
    .option('--hold-for <time>', 'how long to hold a lost submit for a decision (default: 24h)')
    .option(
      '--storage <key>',
      'key of the video in the storage, such as foxes/{date}/{workflowId}.{ext} or foxes/',
    )
    .option('--cap <amount...>', 'what the video may take at most, such as "2.50 USD" or "8 seconds"')
    .option('--service <name>', 'which service of VIDEOGEN_SERVICES_FILE makes it; a,b: b if a refuses it')
    .option('--no-wait', 'start the job and exit')
    .option('--json', 'print one JSON object to standard output')
    .action(actions.generate);
  program
    .command('batch')
    .description('generate a video for each line of a file and wait for all; run again to continue')
    .argument('<file>', 'requests, one JSON object per line, such as {"prompt":"A red fox","duration":5}')
    .option('--window <number>', 'how many run at a time', '20')
    .option('--on-failure <what>', 'continue or stop after a failed item', 'continue')
    .option('--id <name>', 'name of the batch (default: derived from the file and the service)')
    .option('--deadline <time>', 'how long each video may take, such as 90s, 30m or 2h', '1h')
    .option('--on-lost-submit <policy>', 'hold, resubmit or fail when the answer to a submit is lost')
    .option('--hold-for <time>', 'how long to hold a lost submit for a decision (default: 24h)')
    .option('--storage <prefix>', 'prefix of the videos in the storage, such as foxes/')
    .option('--cap <amount...>', 'what all videos together may take, such as "50 videos" or "20 USD"')
    .option('--service <name>', 'which service of VIDEOGEN_SERVICES_FILE makes them; a,b: b if a refuses')
    .option('--no-wait', 'start the batch and exit')
    .option('--json', 'print one JSON object to standard output')
    .action(actions.batch);
  program
    .command('decide')
    .description('settle a submit whose answer was lost, after you looked for its task at the service')
    .argument('<id>', 'name of the job, or of the batch')
    .option('--adopt <task>', 'the task exists: continue with it')
    .option('--resubmit', 'the task does not exist: submit again; if it does exist, you pay twice')
    .option('--abandon', 'end the job')
    .option('--json', 'print one JSON object to standard output')
    .action(actions.decide);
  addJobCommands(program, actions);
  program
    .command('dev')
    .description(
      'run Temporal, its UI, a worker, the gateway with its page and, unless a service is configured, the emulator',
    )
    .option('--port <port>', 'port of the Temporal server')
    .option('--ui-port <port>', 'port of the Temporal UI')
    .option('--gateway-port <port>', 'port of the gateway and its page')
    .option('--fault <call:kind...>', 'faults for the next calls of the emulator, such as submit:reset')
    .addHelpText('after', () => load.readFaults().describeFaults())
    .action(actions.dev);
  program
    .command('worker')
    .description('run a worker')
    .option('--record <dir>', 'record the answers of the service there, without keys and signatures')
    .option('--only <role...>', 'run only jobs, submits or downloads')
    .option('--monitor-port <port>', 'serve /metrics, /livez and /readyz (default: VIDEOGEN_MONITOR_PORT)')
    .action(actions.worker);
  program
    .command('emulator')
    .description('run the emulated video service alone')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', '8080')
    .option('--job-time <time>', 'how long a generation takes', '5s')
    .option('--concurrent-tasks <number>', 'how many generations run at once; more are refused')
    .option('--tasks-file <file>', 'remember the generations in this file, over restarts')
    .option('--honour-keys', 'return the same generation for the same idempotency key')
    .option('--dialect <name>', 'the service whose answers and requests it imitates', 'default')
    .option('--charge <dollars>', 'what each video costs, as the answers about ended tasks then say')
    .option('--fault <call:kind...>', 'faults for the next calls, such as submit:rate-limited')
    .option('--chaos <rate>', 'probability of a fault in each call, from 0 to 1')
    .option('--chaos-seed <text>', 'repeat the chaos of this seed')
    .addHelpText('after', () => load.readFaults().describeChoices())
    .action(actions.emulator);
  program
    .command('gateway')
    .description("serve the video service's own HTTP interface, with a durable job behind every request")
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', '8787')
    .option('--monitor-port <port>', 'serve /metrics, /livez and /readyz (default: VIDEOGEN_MONITOR_PORT)')
    .action(actions.gateway);
  program
    .command('gateway-key')
    .description('make a key for the gateway, print it once, and add its digest to the file of keys')
    .argument('<name>', 'whose key it is, such as web_shop')
    .option('--file <file>', 'the file of keys (default: VIDEOGEN_GATEWAY_KEYS_FILE)')
    .option('--if-missing', 'do nothing if the name has a key already')
    .action(actions.gatewayKey);
  program
    .command('encryption-key')
    .description('make a key that encrypts what jobs leave in Temporal')
    .argument('<name>', 'its id, such as 2026-11')
    .option('--file <file>', 'the file of keys to put it first in (default: VIDEOGEN_ENCRYPTION_KEYS_FILE)')
    .action(actions.encryptionKey);
  program
    .command('doctor')
    .description('check everything that a job needs, and say how to fix each problem')
    .option('--json', 'print one JSON object to standard output')
    .action(actions.doctor);
  program
    .command('explain')
    .description('show how saved answers of a service are read, and propose a profile for the rest')
    .argument('[file]', 'a file with an answer, a folder that a worker recorded, or - for standard input')
    .option('--request <file>', 'a file with a request of the service, to propose how requests are worded')
    .option('--status <code>', 'HTTP status of an answer that was saved without it', '200')
    .option('--service <name>', 'read them with the profile of this service in VIDEOGEN_SERVICES_FILE')
    .option('--json', 'print one JSON object to standard output')
    .action(actions.explain);
  program
    .command('search-attributes')
    .description('check whether the namespace has the search attributes of jobs')
    .option('--register', 'register those that are missing')
    .option('--json', 'print one JSON object to standard output')
    .action(actions.searchAttributes);
  for (const command of program.commands) command.addHelpText('after', exampleText(command.name()));
  return program;
}
