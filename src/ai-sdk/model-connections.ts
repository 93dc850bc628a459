import { Agent, type Dispatcher } from 'undici';
import { isTainted, redact, type Secrets } from '../contract/redact';
import { checkScheme, createVideoSource, type VideoSource } from '../service/open-video';
import { SECRET_HEADERS, secretsOf } from '../service/secrets-of-call';
import { ServiceFault } from '../service/service-fault';
import type { ServiceTimeouts } from '../service/video-service';
import type { AiSdkVideoModel } from './video-model-types';

/** A provider has one key or two, and a rotated one replaces it. */
const MOST_KEYS = 20;
/** A shorter value is a number or a word. */
const SHORTEST_KEY_CHARS = 8;
/** `Bearer sk-…` and `Key …`: services quote the key alone. */
const SCHEME_AND_KEY = /^[A-Za-z][\w-]* (\S+)$/;

/** The idempotency key is made for every submit and named in records: not a secret, although it is called a key. */
const isSecret = (name: string) => SECRET_HEADERS.test(name) && !/^idempotency-?key$/i.test(name);

/** What must never be repeated: the keys that were named, and those that were seen in requests. */
export class KnownSecrets {
  /** The newest first. */
  private keys: readonly string[] = [];

  readonly hide = (key: string): void => {
    if (key.length < SHORTEST_KEY_CHARS) return;
    this.keys = [key, ...this.keys.filter((known) => known !== key)].slice(0, MOST_KEYS);
  };

  /** The secrets of one request; its keys are hidden from now on. */
  ofRequest(url: URL, headers: Record<string, string>): Secrets {
    for (const [name, value] of [...Object.entries(headers), ...url.searchParams])
      if (isSecret(name)) this.hide(SCHEME_AND_KEY.exec(value)?.[1] ?? value);
    return { ...this.all, wholeValues: secretsOf(url.pathname + url.search, []).wholeValues };
  }

  get all(): Secrets {
    return { keys: this.keys, wholeValues: [] };
  }
}

const LONGEST_HOST_CHARS = 200;

/** Video models of fal have this address built in: none of their settings says it. */
export const FAL_QUEUE = 'https://queue.fal.run';

/** A model may lead anywhere, so no host is trusted like the service itself. RFC 2606 reserves this one. */
const NO_HOST = new URL('https://model.invalid/');

/** The connections of one service, and what may go over them. */
export class ModelConnections {
  readonly videos: VideoSource;
  /** A POST on a reused connection that the service has just closed looks like a lost submit. On a fresh one it cannot. */
  private readonly fresh: Agent;
  private readonly keepAlive: Agent;
  /**
   * The origins that may get the key. They come from what the host has set up, so that every worker knows the same, and never
   * from a task id: that may come from anybody who starts a job or adopts a task.
   */
  private readonly origins = new Set<string>();

  constructor(
    private readonly secrets: KnownSecrets,
    timeouts: ServiceTimeouts,
    { downloadAllow = [], origins = [] }: { downloadAllow?: readonly string[]; origins?: readonly string[] },
  ) {
    for (const name of origins) {
      if (this.add(name)) continue;
      throw new TypeError(
        `aiSdkService: origins has ${name}, which is not an address such as https://api.example.com.`,
      );
    }
    const connect = { timeout: timeouts.connect };
    this.fresh = new Agent({ connect, pipelining: 0 });
    this.keepAlive = new Agent({ connect });
    this.videos = createVideoSource({
      base: NO_HOST,
      downloadAllow,
      timeouts,
      serviceHeaders: () => ({}),
      secrets: () => secrets.all,
    });
  }

  /** Most models say where their service is, in their `config`. Throws for one that does not. */
  learnOrigin(model: AiSdkVideoModel): void {
    const { baseURL, baseUrl }: Record<string, unknown> = Object(Reflect.get(model, 'config'));
    for (const address of [baseURL, baseUrl, /^fal\b/.test(model.provider) && FAL_QUEUE]) this.add(address);
    if (this.origins.size > 0) return;
    throw new Error(
      `the model ${model.provider}/${model.modelId} does not say where its service is: name its address in the option origins of aiSdkService, or as baseUrl in the services file`,
    );
  }

  /** For a request of a submit: nothing in it says where the model goes. */
  readonly forSubmit = (): Dispatcher => this.fresh;

  /**
   * For a request of a poll, which a task id or an answer may lead anywhere: elsewhere than to the service it goes without a
   * key, and by the rules for videos. The fault of one that may not be sent fails the poll and not the job: a task id may be
   * forged, or this worker may have another address for the service than the one that submitted.
   */
  readonly forPoll = (url: URL, headers: Record<string, string>): Dispatcher => {
    const { secrets } = this;
    if (this.origins.has(url.origin)) return this.keepAlive;
    if (
      Object.keys(headers).some(isSecret) ||
      isTainted([url.href, ...Object.values(headers)].join('\n'), secrets.all)
    ) {
      const target = redact(url.origin, secrets.all, LONGEST_HOST_CHARS);
      throw new ServiceFault('not-allowed', {
        message: `the model would send its key to ${target}, and this service is at ${[...this.origins].join(', ')}: check the task id, or add the origin to the option origins of the service`,
      });
    }
    checkScheme(url, this.videos, secrets.all);
    return this.videos.dispatcher;
  };

  async close(): Promise<void> {
    const agents = [this.fresh, this.keepAlive, this.videos.dispatcher];
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  /** Whether it was an address. */
  private add(address: unknown): boolean {
    if (typeof address !== 'string' || !/^https?:\/\//i.test(address) || !URL.canParse(address)) return false;
    this.origins.add(new URL(address).origin);
    return true;
  }
}
