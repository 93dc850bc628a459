import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A strict reader of complete files, in its own process. It restarts when a file crashes it. */
export class SecondReader {
  private child: ChildProcess | undefined;

  /** `picture`, or why there is none. */
  read(file: Buffer): Promise<string> {
    const child = this.child ?? this.start();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(file.length);
    child.stdin?.write(length);
    child.stdin?.write(file);
    return new Promise((resolve) => {
      const { stdout } = child;
      if (!stdout) throw new Error('the second reader has no stdout');
      const lines = createInterface({ input: stdout });
      const done = (answer: string) => {
        lines.close();
        child.removeListener('close', ended);
        resolve(answer);
      };
      const ended = () => {
        this.child = undefined;
        done('the second reader crashed');
      };
      lines.once('line', done);
      child.once('close', ended);
    });
  }

  close(): void {
    this.child?.kill('SIGKILL');
  }

  private start(): ChildProcess {
    this.child = spawn(
      process.execPath,
      ['--max-old-space-size=256', join(__dirname, 'second-reader-process.cjs')],
      {
        stdio: ['pipe', 'pipe', 'ignore'],
      },
    );
    this.child.stdin?.on('error', () => undefined);
    return this.child;
  }
}
