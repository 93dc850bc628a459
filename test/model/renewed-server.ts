import { createVideoTestEnvironment, type VideoTestEnvironment } from '../../src/testing';
import { ScriptPlayer, Stalled } from './script-player';

/**
 * A player with its server. Temporal's test server now and then stops skipping time, and then nothing on it ends. So work
 * that stalls is done once more on a new server: a job that never ends by its own fault stalls there as well.
 */
export class RenewedServer {
  private constructor(
    private readonly code: string,
    private env: VideoTestEnvironment,
    private player: ScriptPlayer,
  ) {}

  static async open(code: string): Promise<RenewedServer> {
    const { env, player } = await openPlayer(code);
    return new RenewedServer(code, env, player);
  }

  async on<T>(work: (player: ScriptPlayer) => Promise<T>): Promise<T> {
    try {
      return await work(this.player);
    } catch (error) {
      if (!(error instanceof Stalled)) throw error;
      // The check for what a test leaves open knows of it.
      Object.assign(globalThis, { serverHasStalled: true });
      process.stderr.write(`Once more on a new server: ${error.message}\n`);
      await this.renew();
      return work(this.player);
    }
  }

  /** Goes on with a new server. */
  async renew(): Promise<void> {
    await this.close();
    Object.assign(this, await openPlayer(this.code));
  }

  async close(): Promise<void> {
    await this.player.close();
    await this.env.teardown();
  }
}

async function openPlayer(code: string) {
  const env = await createVideoTestEnvironment();
  return { env, player: await ScriptPlayer.open(env, code) };
}
