import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findTool } from '../support/tools.cjs';

const MAIN = join(__dirname, '../../dist/src/cli/main.js');
/** Far longer than a busy machine needs, and shorter than a test may take. */
const GIVE_UP_AFTER_MS = 40_000;

/** A real terminal with a shell in it, in which people would type. */
export class Tmux {
  private readonly socket: string;

  constructor(folder: string, env: Record<string, string>, columns = 80, rows = 24) {
    this.socket = join(folder, 'tmux');
    const shell = [
      `videogen() { '${process.execPath}' '${MAIN}' "$@"; }`,
      "export PS1='$ '",
      'exec bash --norc --noprofile',
    ];
    const settings = Object.entries({ ...env, LANG: 'C.UTF-8' }).flatMap(([name, value]) => [
      '-e',
      `${name}=${value}`,
    ]);
    this.tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      `${columns}`,
      '-y',
      `${rows}`,
      ...settings,
      'bash',
      '-c',
      `${shell[0]}; export -f videogen; ${shell[1]}; ${shell[2]}`,
    );
  }

  /** Types a line and Enter. */
  type(line: string): void {
    this.tmux('send-keys', '-l', line);
    this.press('Enter');
  }

  press(key: string): void {
    this.tmux('send-keys', key);
  }

  resize(columns: number, rows: number): void {
    this.tmux('resize-window', '-x', `${columns}`, '-y', `${rows}`);
  }

  /** What is on the screen, without empty lines at the end. */
  screen(): string {
    return this.tmux('capture-pane', '-p').trimEnd();
  }

  async until(text: RegExp): Promise<void> {
    for (const giveUpAt = Date.now() + GIVE_UP_AFTER_MS; !text.test(`${this.screen()}\n`); await sleep(100)) {
      if (Date.now() > giveUpAt) throw new Error(`${text} is not on the screen:\n${this.screen()}`);
    }
  }

  end(): void {
    this.tmux('kill-server');
  }

  private tmux(...args: string[]): string {
    return execFileSync(findTool('tmux'), ['-u', '-S', this.socket, ...args], { encoding: 'utf8' });
  }
}
