import { registerSearchAttributes } from '../client/search-attributes';
import { readEncryptionKeys } from '../config/encryption-config';
import { ConfigError, type Environment, readKeyIfSet } from '../config/service-config';
import { readableKeys } from '../config/services-config';
import { readS3Connection } from '../config/storage-config';
import { readTemporalConfig } from '../config/temporal-config';
import { printableJson } from '../contract/clean-text';
import { SEARCH_ATTRIBUTES } from '../contract/names';
import { plainHider } from '../contract/redact';
import { Closers } from './closers';
import { CHECKS, type Check } from './doctor/checks';
import { firstLineOf } from './doctor/described-error';
import { type Context, type Finding, failed, skipped } from './doctor/finding';
import { EXIT, reportError } from './exit-codes';
import { findServer, findTemporal, type Temporal } from './find-temporal';
import { printLine, type Terminal, untilInterrupted } from './terminal';
import { wrapText } from './text-table';

interface DoctorOptions {
  register?: boolean;
  json?: boolean;
}

export interface CheckReport {
  name: string;
  ok: boolean;
  found: string;
  fix?: string;
}

/** What `doctor --json` prints. */
export interface DoctorReport {
  ok: boolean;
  checks: CheckReport[];
}

/** `videogen doctor`: checks everything that a job needs. It changes nothing and costs nothing. */
export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<number> {
  const closers = new Closers();
  try {
    if (options.register) return await register(options, terminal, closers);
    const reported = reportInOrder(startChecks(contextOf(terminal.env, closers)), options, terminal);
    const findings = await Promise.race([reported, untilInterrupted(terminal)]);
    if (findings === undefined) return EXIT.interrupted;
    const report = { ok: findings.every((check) => check.ok), checks: findings } satisfies DoctorReport;
    if (options.json) terminal.out(printableJson(report));
    return report.ok ? EXIT.ok : EXIT.usage;
  } catch (error) {
    return reportError(error, options, terminal);
  } finally {
    await closers.close();
  }
}

/** `videogen doctor --register`: registers the search attributes of jobs, which is the one problem that doctor can fix. */
async function register({ json }: DoctorOptions, terminal: Terminal, closers: Closers): Promise<number> {
  const server = await findServer(terminal.env, closers);
  if (server === undefined) {
    throw new ConfigError(
      'TEMPORAL_ADDRESS is not set and no local server is running: set TEMPORAL_ADDRESS. The local server of generate and dev registers search attributes itself.',
    );
  }
  const { namespace, address } = server;
  const problem = await registerSearchAttributes(server);
  if (problem) throw new ConfigError(`${problem.replace(/^t/, 'T')}: use another namespace.`);
  const names = SEARCH_ATTRIBUTES.join(', ');
  printLine(terminal, `The namespace ${namespace} at ${address} has the search attributes ${names}.`);
  if (json) terminal.out(printableJson({ namespace, attributes: SEARCH_ATTRIBUTES }));
  return EXIT.ok;
}

function contextOf(env: Environment, closers: Closers): Context {
  let temporal: Promise<Temporal> | undefined;
  return {
    env,
    temporal() {
      temporal ??= findTemporal(env, closers);
      return temporal;
    },
  };
}

/** For one check. At most three wait for one another, so all checks take at most 15 s. */
const CHECK_LIMIT_MS = 5_000;

/** Starts all checks at once. A check that needs another waits for it. No finding rejects. */
function startChecks(context: Context): [name: string, finding: Promise<Finding>][] {
  const findings = new Map<string, Promise<Finding>>();
  for (const check of CHECKS) findings.set(check.name, runCheck(check, findings, context));
  return [...findings];
}

async function runCheck(
  { needs = [], run }: Check,
  findings: ReadonlyMap<string, Promise<Finding>>,
  context: Context,
): Promise<Finding> {
  for (const need of needs) {
    const needed = await findings.get(need);
    if (needed?.state === 'failed' || needed?.state === 'skipped') return skipped(`it needs ${need}`);
  }
  const late = new AbortController();
  const timeout = new Promise<Finding>((resolve) => {
    late.signal.addEventListener('abort', () =>
      resolve(
        failed(
          `did not finish within ${CHECK_LIMIT_MS / 1_000} s`,
          'Find out what makes it slow, and run doctor again.',
        ),
      ),
    );
  });
  const timer = setTimeout(() => late.abort(), CHECK_LIMIT_MS);
  const explain = (error: unknown) =>
    error instanceof ConfigError
      ? skipped('it needs settings')
      : failed(
          `could not be checked (${firstLineOf(error)})`,
          'Fix the problem in the message, and run doctor again.',
        );
  return Promise.race([run(context, late.signal).catch(explain), timeout]).finally(() => clearTimeout(timer));
}

/** Prints each finding as soon as it and those before it are known: to stdout, or to stderr with `--json`. */
async function reportInOrder(
  started: ReturnType<typeof startChecks>,
  { json }: DoctorOptions,
  terminal: Terminal,
): Promise<CheckReport[]> {
  const line = (text: string) => (json ? printLine(terminal, text) : terminal.out(text));
  const redact = redactorOf(terminal.env);
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  const reports: CheckReport[] = [];
  for (const [name, pending] of started) {
    const finding = await pending;
    const found = redact(finding.found);
    const fix = 'fix' in finding ? redact(finding.fix) : undefined;
    const { state } = finding;
    counts[state] += 1;
    findingLines({ name, state, found, fix }, terminal.columns()).forEach(line);
    reports.push({
      name,
      ok: state === 'ok' || state === 'warning',
      found: state === 'skipped' ? `skipped: ${found}` : found,
      ...(fix !== undefined && { fix }),
    });
  }
  line(summaryLine(counts, started.length));
  return reports;
}

const STATE_COLUMNS = 'warning  '.length;
const NAME_COLUMNS = 'encryption  '.length;
const INDENT = ' '.repeat(STATE_COLUMNS + NAME_COLUMNS);
/** A narrower screen would break every line. */
const MIN_COLUMNS = 60;

/** The lines of a finding: its state, the name of the check and what was found, with the fix below. */
function findingLines(
  {
    name,
    state,
    found,
    fix = '',
  }: Pick<CheckReport, 'name' | 'found'> & { state: string; fix?: string | undefined },
  columns: number | undefined,
): string[] {
  const width = columns === undefined ? undefined : Math.max(columns, MIN_COLUMNS) - 1 - INDENT.length;
  const wrap = (text: string) => (width === undefined ? [text] : wrapText(text, width));
  const [first = '', ...rest] = [...wrap(found), ...(fix ? fix.split('\n').flatMap(wrap) : [])];
  return [
    `${state.padEnd(STATE_COLUMNS)}${name.padEnd(NAME_COLUMNS)}${first}`,
    ...rest.map((line) => `${INDENT}${line}`),
  ];
}

function summaryLine(counts: Record<Finding['state'], number>, checks: number): string {
  const { warning, failed: failures, skipped: skips } = counts;
  if (failures + skips === 0) {
    const rest = warning === 0 ? '' : `, with ${warning} warning${warning === 1 ? '' : 's'}`;
    return `Ready to generate${rest}.`;
  }
  const rest = skips === 0 ? '' : `, ${skips} ${skips === 1 ? 'was' : 'were'} skipped`;
  return `Not ready: ${failures} of ${checks} checks failed${rest}.`;
}

/** Where the configured keys are read. */
const SECRETS: readonly ((env: Environment) => unknown)[] = [
  readKeyIfSet,
  readableKeys,
  (env) => readTemporalConfig(env).connectionOptions.apiKey,
  (env) => readS3Connection(env).credentials?.secretAccessKey,
  (env) => readS3Connection(env).credentials?.sessionToken,
  (env) => readEncryptionKeys(env)?.secrets(),
];

/** Redacts the configured keys: findings repeat messages of servers, which may quote a key. */
function redactorOf(env: Environment): (text: string) => string {
  const keys = SECRETS.flatMap((read) => {
    try {
      return read(env) ?? [];
    } catch {
      // A key that cannot be read is never sent, so no server can quote it.
      return [];
    }
  });
  // Only whole keys: pieces of a key and links are left alone, because paths and addresses must stay readable.
  return plainHider({ keys: [], wholeValues: keys.filter((key) => typeof key === 'string') });
}
