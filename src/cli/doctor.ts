import { registerSearchAttributes } from '../client/search-attributes';
import { readEncryptionKeys } from '../config/operation-config';
import { ConfigError, type Environment, ifReadable, readableKeys } from '../config/service-config';
import { readSecret } from '../config/settings';
import { readS3Connection } from '../config/storage-config';
import { readTemporalConfig } from '../config/temporal-config';
import { printableJson } from '../contract/clean-text';
import { firstLineOf } from '../contract/error-code';
import { SEARCH_ATTRIBUTES } from '../contract/names';
import { plainHider } from '../contract/redact';
import { ServerUnavailable } from '../temporal-server';
import { Closers } from './closers';
import { type Finding, failed, skipped } from './doctor/check-service';
import { CHECKS, type Check } from './doctor/checks';
import { EXIT, reportError } from './exit-codes';
import { findNamedServer, findTemporal } from './find-temporal';
import { printLine, type Terminal, untilInterrupted } from './terminal';

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
    const reported = reportInOrder(startChecks(terminal.env, closers), options, terminal);
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
  const server = await findNamedServer(terminal.env, closers);
  const { connection, options } = server.client;
  const { namespace } = options;
  const problem = await registerSearchAttributes({ connection, namespace });
  if (problem) throw new ConfigError(`${problem.replace(/^t/, 'T')}: use another namespace.`);
  const names = SEARCH_ATTRIBUTES.join(', ');
  printLine(terminal, `The namespace ${namespace} at ${server.address} has the search attributes ${names}.`);
  if (json) terminal.out(printableJson({ namespace, attributes: SEARCH_ATTRIBUTES }));
  return EXIT.ok;
}

/** Starts all checks at once. A check that needs another waits for it. No finding rejects. */
function startChecks(env: Environment, closers: Closers): Map<string, Promise<Finding>> {
  const temporal = findTemporal(env, closers);
  temporal.catch(() => undefined);
  const findings = new Map<string, Promise<Finding>>();
  const runCheck = async ({ needs = [], run }: Check): Promise<Finding> => {
    for (const need of needs) {
      const state = (await findings.get(need))?.state;
      if (state === 'failed' || state === 'skipped') return skipped(`it needs ${need}`);
    }
    return run({ env, temporal }).catch(findingOf);
  };
  for (const [name, check] of Object.entries(CHECKS)) findings.set(name, runCheck(check));
  return findings;
}

function findingOf(error: unknown): Finding {
  // The settings check reports it.
  if (error instanceof ConfigError) return skipped('it needs settings');
  const [, ...fix] = error instanceof ServerUnavailable ? error.message.split('\n') : [];
  return failed(
    firstLineOf(error),
    fix.join('\n') || 'Fix the problem in the message, and run doctor again.',
  );
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
    const { state, found, fix } = await pending;
    counts[state] += 1;
    line(`${state.padEnd(STATE_COLUMNS)}${name}`.padEnd(NAME_COLUMNS) + redact(found));
    for (const text of fix?.split('\n') ?? []) line(' '.repeat(NAME_COLUMNS) + redact(text));
    reports.push({
      name,
      ok: state === 'ok' || state === 'warning',
      found: `${state === 'skipped' ? 'skipped: ' : ''}${redact(found)}`,
      ...(fix !== undefined && { fix: redact(fix) }),
    });
  }
  const { warning, failed, skipped } = counts;
  if (failed + skipped > 0)
    line(`Not ready: ${failed} of ${started.size} checks failed, ${skipped} skipped.`);
  else line(warning === 0 ? 'Ready to generate.' : `Ready to generate. Warnings: ${warning}.`);
  return reports;
}

const STATE_COLUMNS = 'warning  '.length;
const NAME_COLUMNS = STATE_COLUMNS + 'encryption  '.length;

/** Where the configured keys are read. */
const SECRETS: readonly ((env: Environment) => unknown)[] = [
  (env) => readSecret('VIDEO_API_KEY', env)?.(),
  readableKeys,
  (env) => readTemporalConfig(env).connectionOptions.apiKey,
  (env) => readS3Connection(env).credentials?.secretAccessKey,
  (env) => readS3Connection(env).credentials?.sessionToken,
  (env) => readEncryptionKeys(env)?.secrets(),
];

/** Redacts the configured keys: findings repeat messages of servers, which may quote a key. */
function redactorOf(env: Environment): (text: string) => string {
  const keys = SECRETS.flatMap((read) => ifReadable(() => [read(env)].flat()));
  // Only whole keys: pieces of a key and links are left alone, because paths and addresses must stay readable.
  return plainHider({ keys: [], wholeValues: keys.filter((key) => typeof key === 'string') });
}
