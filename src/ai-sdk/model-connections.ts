import { Agent, type Dispatcher } from 'undici';
import { isTainted, redact } from '../contract/redact';
import { HIDDEN } from '../contract/redact-links';
import { createDownloadRules, createVideoConnector, type DownloadRules } from '../service/download-rules';
import type { VideoSource } from '../service/open-video';
import { ServiceFault } from '../service/service-fault';
import type { ServiceTimeouts } from '../service/service-options';
import { hasKey, type KnownSecrets } from './known-secrets';
import { type OwnOrigins, originText } from './own-origins';

const LONGEST_HOST_CHARS = 200;

/** A provider's own address is not known, so no host is trusted like the service itself. RFC 2606 reserves this one. */
const NO_HOST = new URL('https://model.invalid/');

export interface ModelConnectionsOptions {
  timeouts: ServiceTimeouts;
  downloadAllow: readonly string[];
  secrets: KnownSecrets;
  origins: OwnOrigins;
}

/** The connections of one service, and what may go over them. */
export class ModelConnections {
  readonly videos: VideoSource & { dispatcher: Agent; rules: DownloadRules };
  /** A POST on a reused connection that the service has just closed looks like a lost submit. On a fresh one it cannot. */
  private readonly fresh: Agent;
  private readonly keepAlive: Agent;

  constructor(private readonly options: ModelConnectionsOptions) {
    const connect = { timeout: options.timeouts.connect };
    this.fresh = new Agent({ connect, pipelining: 0 });
    this.keepAlive = new Agent({ connect });
    this.videos = this.createVideoSource();
  }

  /** For a request of a submit: nothing in it says where the model goes. */
  readonly forSubmit = (): Dispatcher => this.fresh;

  /**
   * For a request of a poll, which a task id or an answer may lead anywhere: elsewhere than to the service it goes without a
   * key, and by the rules for videos. Throws a ServiceFault for one that may not be sent.
   */
  readonly forPoll = (url: URL, headers: Record<string, string>): Dispatcher => {
    const { origins, secrets } = this.options;
    if (!origins.areKnown || origins.has(url)) return this.keepAlive;
    if (hasKey(headers) || isTainted(Object.values(headers).join('\n'), secrets.all)) {
      throw new ServiceFault('not-allowed', {
        message: `the model would send its key to ${this.show(url)}, and this service is at ${origins}: add the origin to the option origins of the service if it is the same service`,
      });
    }
    this.videos.rules.checkScheme(url);
    return this.videos.dispatcher;
  };

  /**
   * Throws a ServiceFault for a task whose id leads elsewhere than to the service. It fails the poll and not the job: the id may
   * be forged, or this worker may have another address for the service than the one that submitted.
   */
  checkOperation(operation: unknown): void {
    const message = this.whyForeign(operation);
    if (message !== undefined) throw new ServiceFault('not-allowed', { message });
  }

  /** Why a task may not be asked for; undefined when it may. */
  whyForeign(operation: unknown): string | undefined {
    const { origins } = this.options;
    const link = origins.foreignIn(operation);
    if (link === undefined) return undefined;
    const leads = `the task id leads to ${this.show(link)}`;
    return origins.areKnown
      ? `${leads}, and this service is at ${origins}: check the id, or add the origin to the option origins of the service`
      : `${leads}, and the address of this service is not known: name it in the option origins of aiSdkService, or as baseUrl in the services file`;
  }

  async close(): Promise<void> {
    const agents = [this.fresh, this.keepAlive, this.videos.dispatcher];
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  private show(url: URL): string {
    return redact(originText(url), this.options.secrets.all, LONGEST_HOST_CHARS);
  }

  /** Videos have an agent of their own, so that none is fetched over a connection whose address was not checked. */
  private createVideoSource() {
    const { timeouts, downloadAllow, secrets } = this.options;
    const { connect: timeout, video, exchange } = timeouts;
    const redactHost = (hostname: string) => redact(hostname, secrets.all, LONGEST_HOST_CHARS) || HIDDEN;
    const rules = createDownloadRules(NO_HOST, downloadAllow, redactHost);
    const connect = createVideoConnector({ timeout, mayBePrivate: rules.mayBePrivate, redactHost });
    return {
      dispatcher: new Agent({ connect }),
      base: NO_HOST,
      rules,
      serviceHeaders: () => ({}),
      secrets: () => secrets.all,
      timeouts: video,
      openWithinMs: exchange.video,
    };
  }
}
