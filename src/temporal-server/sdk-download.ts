import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isExecutableFile } from './executable-file';
import { runTool } from './run-tool';
import { watchGrowth } from './watch-growth';

// The SDK has no timeout. 60 MB take four minutes at 2 Mbit/s.
const DOWNLOAD_TIMEOUT_MS = 5 * 60_000;

/**
 * The SDK starts every server that it downloads, lets it write to our stdout, and loads a native runtime. So this runs in
 * a process of its own.
 */
const DOWNLOAD_AND_START = `
  const [sdk, make, downloadDir, version] = process.argv.slice(1);
  const executable = { type: 'cached-download', downloadDir, version };
  require(sdk).TestWorkflowEnvironment[make]({ server: { executable } })
    .then((environment) => environment.teardown())
    .catch((error) => { process.stderr.write(error.message); process.exit(1); });
`;

export type MakeEnvironment = 'createLocal' | 'createTimeSkipping';

export interface SdkDownload {
  /** The release to download; the SDK's default unless set. */
  readonly version?: string;
  /** The size of the executable, if known. */
  readonly bytes?: number | undefined;
  readonly onPercent?: (percent: number) => void;
  readonly sdk?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Downloads a server with the SDK and moves it to `target`. */
export async function downloadWithSdk(
  make: MakeEnvironment,
  target: string,
  {
    version = 'default',
    bytes,
    onPercent,
    sdk = require.resolve('@temporalio/testing'),
    signal,
  }: SdkDownload = {},
): Promise<void> {
  const downloadFolder = `${target}.download`;
  await mkdir(downloadFolder);
  // The SDK unpacks the file while it downloads.
  const stopWatching = watchGrowth(downloadFolder, (soFar) => {
    if (soFar > 0 && bytes !== undefined) onPercent?.(Math.min(100, (100 * soFar) / bytes));
  });
  await runTool(process.execPath, ['-e', DOWNLOAD_AND_START, sdk, make, downloadFolder, version], {
    cwd: downloadFolder,
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
    signal,
  }).finally(stopWatching);
  await rename(await onlyExecutableIn(downloadFolder), target);
  await rm(downloadFolder, { recursive: true });
}

async function onlyExecutableIn(folder: string): Promise<string> {
  const files = (await readdir(folder)).map((file) => join(folder, file));
  const runnable: string[] = [];
  for (const file of files) if (await isExecutableFile(file)) runnable.push(file);
  const [only, ...others] = runnable;
  if (only === undefined || others.length > 0) {
    throw new Error(`the SDK left ${runnable.length} executables in ${folder} where one was expected`);
  }
  return only;
}
