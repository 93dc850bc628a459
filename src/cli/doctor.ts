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
import { CHECKS } from './doctor/checks';
import { findNamedServer, findTemporal } from './find-temporal';
import { EXIT, printLine, type Terminal, untilInterrupted } from './terminal';

interface DoctorOptions {
  register?: boolean;
  json?: boolean;
}

/** One line of `doctor --json`. */
export interface CheckReport {
  name: string;
  ok: boolean;
  found: string;
  fix?: string | undefined;
}

/** `videogen doctor`: checks everything that a job needs. It changes nothing and costs nothing. */
export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<number> {
  const closers = new Closers();
  try {
    if (options.register) return await register(options, terminal, closers);
    const checks = await Promise.race([runChecks(options, terminal, closers), untilInterrupted(terminal)]);
    if (checks === undefined) return EXIT.interrupted;
    const report = { ok: checks.every(({ ok }) => ok), checks };
    if (options.json) terminal.out(printableJson(report));
    return report.ok ? EXIT.ok : EXIT.usage;
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

/** Prints each finding: to stdout, or to stderr with `--json`. */
async function runChecks(
  { json }: DoctorOptions,
  terminal: Terminal,
  closers: Closers,
): Promise<CheckReport[]> {
  const { env } = terminal;
  const temporal = findTemporal(env, closers);
  temporal.catch(() => undefined);
  const line = (text: string) => (json ? printLine(terminal, text) : terminal.out(text));
  const redact = redactorOf(env);
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  const reports: CheckReport[] = [];
  for (const [name, { needs = [], run }] of Object.entries(CHECKS)) {
    const missing = reports.find((report) => needs.includes(report.name) && !report.ok);
    const finding = missing ? skipped(`it needs ${missing.name}`) : run({ env, temporal }).catch(findingOf);
    const { state, found, fix } = await finding;
    counts[state] += 1;
    line(`${state.padEnd(STATE_COLUMNS)}${name}`.padEnd(NAME_COLUMNS) + redact(found));
    for (const text of fix?.split('\n') ?? []) line(' '.repeat(NAME_COLUMNS) + redact(text));
    reports.push({
      name,
      ok: state === 'ok' || state === 'warning',
      found: `${state === 'skipped' ? 'skipped: ' : ''}${redact(found)}`,
      fix: fix && redact(fix),
    });
  }
  const { warning, failed, skipped: left } = counts;
  if (failed + left > 0) line(`Not ready: ${failed} of ${reports.length} checks failed, ${left} skipped.`);
  else line(warning === 0 ? 'Ready to generate.' : `Ready to generate. Warnings: ${warning}.`);
  return reports;
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
