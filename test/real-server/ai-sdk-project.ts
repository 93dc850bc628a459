import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildProcesses, type RunningProcess } from '../support/child-processes';

const ROOT = join(__dirname, '../..');
/** Installed apart: the AI SDK asks for a newer Node than this package does. */
const AI_SDK_MODULES = join(ROOT, 'test/ai-sdk/node_modules');

/** Programs that use `ai` and the built package, as ES modules in a project of their own. */
export class AiSdkProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'videogen-ai-sdk-'));
  private readonly processes = new ChildProcesses();

  constructor() {
    mkdirSync(join(this.folder, 'node_modules'));
    for (const name of ['ai', '@ai-sdk'])
      symlinkSync(join(AI_SDK_MODULES, name), join(this.folder, 'node_modules', name));
    symlinkSync(ROOT, join(this.folder, 'node_modules/temporal-videogen'));
  }

  start(program: string, env: Record<string, string | undefined>): RunningProcess {
    const file = join(this.folder, 'program.mjs');
    writeFileSync(file, program);
    return this.startFile(file, [], env);
  }

  startFile(file: string, args: string[], env: Record<string, string | undefined>): RunningProcess {
    return this.processes.start([file, ...args], { cwd: this.folder, env });
  }

  async run(program: string, env: Record<string, string | undefined> = {}): Promise<string> {
    const { ended, out, err } = this.start(program, env);
    const code = await ended;
    if (code !== 0) throw new Error(`it ended with ${code}: ${out()}${err()}`);
    return out();
  }

  async remove(): Promise<void> {
    await this.processes.killAll();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
