import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/temporal-server/loopback-port';
import { untilErr } from '../cli/cli-process';
import { ChildProcesses, type RunningProcess } from './child-processes';

const MAIN = join(__dirname, '../../dist/src/cli/main.js');

/** `videogen gateway` in a process that can be killed. It comes back at the same address. */
export class GatewayProcess {
  url = '';
  private readonly children = new ChildProcesses();
  private running: RunningProcess | undefined;
  private port: number | undefined;

  constructor(private readonly env: Record<string, string>) {}

  async start(): Promise<RunningProcess> {
    this.port ??= await freePort();
    this.running = this.children.start([MAIN, 'gateway', '--port', `${this.port}`], {
      cwd: tmpdir(),
      env: this.env,
    });
    await untilErr(this.running, /^The gateway is at (\S+)[.] /m);
    this.url = `http://127.0.0.1:${this.port}`;
    return this.running;
  }

  async kill(): Promise<void> {
    this.running?.kill('SIGKILL');
    await this.running?.ended;
  }

  stop(): Promise<void> {
    return this.children.killAll();
  }
}
