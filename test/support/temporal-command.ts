import { execFile } from 'node:child_process';
import { devNull } from 'node:os';

/** The exit code of a command, and its stdout and stderr. */
export interface Printed {
  code: number;
  text: string;
}

/** A command answers in a second. One that hangs would take the time of its test, which could not say what hung. */
const TIME_LIMIT = '--command-timeout 60s';

/** Runs a shell command in which `temporal` is the CLI of the tests, connected to this server. */
export function runInShell(address: string, command: string): Promise<Printed> {
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: 'default',
    // Ignore the Temporal profiles of the person who runs the tests.
    TEMPORAL_CONFIG_FILE: devNull,
  };
  const line = `temporal() { "$VIDEOGEN_TEMPORAL_CLI" "$@" ${TIME_LIMIT}; }; ${command}`;
  return new Promise((resolve) => {
    const child = execFile('sh', ['-c', line], { env }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, text: `${stdout}${stderr}` });
    });
  });
}
