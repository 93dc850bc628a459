import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformFileSync } from '@swc/core';
import { ChildProcesses, type RunningProcess, untilPrinted } from './child-processes';

const EXAMPLES = join(__dirname, '../../examples');

/** Compiles the examples like `npm run examples`, but without checking types, which is slow: `npm run types` checks them. */
export function compileExamples(): void {
  const files = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((one) => one.endsWith('.ts'))) {
    const { code } = transformFileSync(join(EXAMPLES, file), {
      swcrc: false,
      module: { type: 'commonjs', ignoreDynamic: true },
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    });
    const out = join(EXAMPLES, 'dist', file).replace(/\.ts$/, '.js');
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, code);
  }
}

/** An example as people run it: a separate process with only the given settings. */
export interface ExampleProcess extends RunningProcess {
  /** Resolves with the first match in its output. */
  printed(pattern: RegExp): Promise<string>;
}

export interface ExampleEnd {
  code: number | null;
  out: string;
  err: string;
}

export class ExampleRuns {
  /** Their working directory, where they also store files. */
  readonly folder = mkdtempSync(join(tmpdir(), 'videogen-examples-'));
  private readonly processes = new ChildProcesses();

  start(file: string, args: string[], env: Record<string, string> = {}): ExampleProcess {
    const example = this.processes.start([join(EXAMPLES, 'dist', file), ...args], {
      cwd: this.folder,
      env: { VIDEOGEN_TEMPORAL_CLI: process.env.VIDEOGEN_TEMPORAL_CLI, ...env },
    });
    const printed = (pattern: RegExp) => untilPrinted(example, pattern);
    return { ...example, printed };
  }

  async run(file: string, args: string[], env?: Record<string, string>): Promise<ExampleEnd> {
    const example = this.start(file, args, env);
    const code = await example.ended;
    return { code, out: example.out(), err: example.err() };
  }

  async remove(): Promise<void> {
    await this.processes.killAll();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
