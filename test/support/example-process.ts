import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';

const EXAMPLES = join(__dirname, '../../examples');

/** What `npm run examples` writes, without the look at the types, which takes long: `npm run types` has that look. */
export function compileExamples(): void {
  const file = join(EXAMPLES, 'tsconfig.json');
  const { config } = ts.readConfigFile(file, ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, EXAMPLES, undefined, file);
  for (const fileName of fileNames) {
    const source = readFileSync(fileName, 'utf8');
    const { outputText } = ts.transpileModule(source, { compilerOptions: options, fileName });
    const out = join(EXAMPLES, 'dist', relative(EXAMPLES, fileName)).replace(/\.ts$/, '.js');
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, outputText);
  }
}

/** An example as people run it: a process of its own, which sees the settings that it is given and no other. */
export interface ExampleProcess {
  out(): string;
  err(): string;
  /** Resolves with the first match in what it prints. */
  printed(words: RegExp): Promise<string>;
  ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

export interface ExampleEnd {
  code: number | null;
  out: string;
  err: string;
}

export class ExampleRuns {
  /** Where they run, and store what they make. */
  readonly folder = mkdtempSync(join(tmpdir(), 'videogen-examples-'));
  private readonly running = new Map<ChildProcess, Promise<unknown>>();

  start(file: string, args: string[], env: Record<string, string> = {}): ExampleProcess {
    const child = spawn(process.execPath, [join(EXAMPLES, 'dist', file), ...args], {
      cwd: this.folder,
      env: {
        PATH: process.env.PATH,
        HOME: this.folder,
        VIDEOGEN_TEMPORAL_CLI: process.env.VIDEOGEN_TEMPORAL_CLI,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk;
    });
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', (code) => {
        this.running.delete(child);
        resolve(code);
      });
    });
    this.running.set(child, ended);
    const printed = (words: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = () => {
          const [match] = words.exec(out) ?? [];
          if (match !== undefined) resolve(match);
        };
        child.stdout.on('data', look);
        look();
        child.once('close', () => reject(new Error(`it ended without printing ${words}: ${out}${err}`)));
      });
    return { out: () => out, err: () => err, printed, ended, kill: (signal) => void child.kill(signal) };
  }

  async run(file: string, args: string[], env?: Record<string, string>): Promise<ExampleEnd> {
    const example = this.start(file, args, env);
    const code = await example.ended;
    return { code, out: example.out(), err: example.err() };
  }

  /** Nothing outlives the tests, however they ended. */
  async remove(): Promise<void> {
    for (const child of this.running.keys()) child.kill('SIGKILL');
    await Promise.all(this.running.values());
    rmSync(this.folder, { recursive: true, force: true });
  }
}
