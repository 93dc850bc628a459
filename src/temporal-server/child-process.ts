import { type ChildProcess, spawn } from 'node:child_process';
import { constants, createWriteStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { devNull } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

/**
 * Standard input closes when the parent dies, however it dies. A child that leads no group is signalled alone. SIGKILL, so that a server
 * frees its database at once: the next command may open it.
 */
const KILL_WHEN_INPUT_CLOSES = 'read -r line; kill -KILL "-$1" 2>/dev/null || kill -KILL "$1"';

/**
 * Ends a child process, and its process group if it leads one, with its parent. An exit hook covers a parent that ends by itself or by
 * process.exit(). A killed parent runs no hooks, so a shell watches it where there is one.
 */
export function endWithParent(child: ChildProcess): void {
  const watcher = child.pid === undefined ? undefined : watchParent(child.pid);
  const dismiss = () => watcher?.kill('SIGKILL');
  const end = () => {
    dismiss();
    signalGroup(child, 'SIGTERM');
  };
  process.once('exit', end);
  child.once('close', () => {
    process.off('exit', end);
    dismiss();
  });
  // Another process may get this pid soon.
  child.once('exit', dismiss);
}

/** Signals the process group that a child leads; the child alone if it leads none, as on Windows. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    child.kill(signal);
  }
}

function watchParent(pid: number): ChildProcess {
  const watcher = spawn('sh', ['-c', KILL_WHEN_INPUT_CLOSES, 'sh', `${pid}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl-C goes only to our process, which decides what ends.
    detached: true,
  });
  for (const handle of [watcher, watcher.stdin]) {
    handle?.on('error', () => undefined);
    if (handle === watcher || handle instanceof Socket) handle.unref();
  }
  return watcher;
}

const TAIL_LINES = 8;
const TAIL_CHARACTERS = 2_000;

/** Returns the last lines that a process has printed so far. They usually say why it ended. */
export function outputTail({ stdout, stderr }: ChildProcess): () => string {
  let text = '';
  const add = (chunk: Buffer) => {
    const lines = `${text}${chunk}`.split('\n').slice(-TAIL_LINES);
    text = lines.join('\n').slice(-TAIL_CHARACTERS);
  };
  for (const stream of [stdout, stderr]) stream?.on('data', add);
  return () => {
    const lines = text.split('\n').map((line) => line.trim());
    return lines.filter(Boolean).join(' | ') || '(it printed nothing)';
  };
}

export interface ToolRun {
  readonly cwd: string;
  /** PATH of the tool, in which it finds other tools. */
  readonly searchPath?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Stops the tool; the error repeats the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs a program to its end. If it fails, the error contains the last lines that it printed. */
export async function runTool(executable: string, args: readonly string[], run: ToolRun): Promise<void> {
  const { cwd, searchPath, env, timeoutMs, signal } = run;
  const timeout = AbortSignal.timeout(timeoutMs);
  const stopped = AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
  const settings = { ...process.env, ...(searchPath !== undefined && { PATH: searchPath }), ...env };
  const program = startProgram(executable, args, { cwd, env: settings });
  const stop = () => signalGroup(program.child, 'SIGKILL');
  stopped.addEventListener('abort', stop, { once: true });
  if (stopped.aborted) stop();
  const end = await program.ended;
  stopped.removeEventListener('abort', stop);
  if (program.child.exitCode === 0) return;
  if (!stopped.aborted) throw new Error(`${executable} ${end}`);
  const reason = timeout.aborted ? `it took more than ${timeoutMs / 1_000} s` : stopped.reason;
  throw new Error(`${executable} was stopped because ${reason}: ${program.output()}`);
}

/** `ended` says how the program ended, when it has and its output is read. */
function startProgram(
  executable: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
) {
  const child = spawn(executable, args, {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    // The program may be a wrapper, so whatever it starts ends with it. Ctrl-C goes only to our process, which decides.
    // Windows has no process groups and would open a console.
    detached: process.platform !== 'win32',
  });
  endWithParent(child);
  const output = outputTail(child);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`did not start: ${error.message}`));
    child.once('close', (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}: ${output()}`));
  });
  return { child, output, ended };
}

// A start takes one second, or several on a busy machine. After this long, waiting does not help.
const START_TIMEOUT_MS = 60_000;

/**
 * Starts a server and waits until it is ready, or returns why it is not. It ends on request or with our process, and does not
 * keep our process alive. Its output is appended to `logFile`.
 */
export async function startServer(
  executable: string,
  args: readonly string[],
  {
    logFile = devNull,
    untilReady,
  }: { logFile?: string | undefined; untilReady(signal: AbortSignal): Promise<void> },
): Promise<{ pid: number; stop(): Promise<void> } | string> {
  const { child, output, ended } = startProgram(executable, args);
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  // A full disk costs the log, not the server.
  log.on('error', () => undefined);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  child.once('close', () => log.end());
  const sockets = [child.stdout, child.stderr].filter((stream) => stream instanceof Socket);
  const handles = [child, ...sockets];
  // By SIGKILL: all that a server has accepted is on disk, and SIGTERM would wait two seconds for its own pollers.
  const stop = async () => {
    for (const handle of handles) handle.ref();
    child.kill('SIGKILL');
    await ended;
  };

  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), START_TIMEOUT_MS);
  const ready = untilReady(waiting.signal).then(
    () => undefined,
    () => `was not ready after ${START_TIMEOUT_MS / 1_000} s: ${output()}`,
  );
  const problem = await Promise.race([ready, ended]);
  clearTimeout(timer);
  waiting.abort();
  const isRunning = child.exitCode === null && child.signalCode === null;
  if (problem === undefined && isRunning) {
    for (const handle of handles) handle.unref();
    return { pid: child.pid ?? 0, stop };
  }
  await stop();
  // Another server may have answered on its port.
  return problem ?? ended;
}

export function executableName(name: string): string {
  return process.platform === 'win32' ? `${name}.exe` : name;
}

/** Says why a file cannot be executed; undefined if it can. */
export async function whyNotExecutable(path: string): Promise<string | undefined> {
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined) return 'does not exist';
  if (!stats.isFile()) return 'is not a file';
  return access(path, constants.X_OK).then(
    () => undefined,
    () => 'is not executable',
  );
}

/** Searches PATH as a shell does, but skips relative folders, which would run files of the current folder. */
export async function findOnSearchPath(name: string, searchPath = ''): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, executableName(name));
    if ((await whyNotExecutable(candidate)) === undefined) return candidate;
  }
  return undefined;
}
