import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { ChildProcesses, type RunningProcess } from './child-processes';
import { pause } from './world';

const EXAMPLES = join(__dirname, '../../examples');

/** Compiles the examples like `npm run examples`, but without checking types, which is slow: `npm run types` checks them. */
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
    let hasEnded = false;
    void example.ended.then(() => {
      hasEnded = true;
    });
    const printed = async (pattern: RegExp) => {
      for (;;) {
        const [match] = pattern.exec(example.out()) ?? [];
        if (match !== undefined) return match;
        if (hasEnded)
          throw new Error(`it ended without printing ${pattern}: ${example.out()}${example.err()}`);
        await pause();
      }
    };
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
