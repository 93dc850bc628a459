import { execFile } from 'node:child_process';
import { devNull } from 'node:os';

/** What a command printed, errors among it, and how it ended. */
export interface Printed {
  code: number;
  text: string;
}

/** Runs a line of a shell in which `temporal` is the CLI that the tests have as dev server, and finds the server. */
export function runInShell(address: string, command: string): Promise<Printed> {
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: 'default',
    // The profiles of whoever runs the tests are not for this server.
    TEMPORAL_CONFIG_FILE: devNull,
  };
  const line = `temporal() { "$VIDEOGEN_TEMPORAL_CLI" "$@"; }; ${command}`;
  return new Promise((resolve) => {
    const child = execFile('sh', ['-c', line], { env }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, text: `${stdout}${stderr}` });
    });
  });
}
