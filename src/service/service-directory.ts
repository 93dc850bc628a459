import { shown } from '../contract/clean-text';
import type { ServiceChoice } from '../contract/service-choice';
import type { VideoService } from './http-video-service';
import { RateLimiter } from './rate-limiter';

/** One service for each of its keys, by the names of the keys. A running job stays with the key that it began with. */
export interface ServiceWithKeys {
  /** The name of the key for new jobs. */
  key: string;
  keys: Readonly<Record<string, VideoService>>;
}

/** The services of a worker by name. */
export type NamedServices = Readonly<Record<string, VideoService | ServiceWithKeys>>;

/** What the directory of a worker is made from. */
export interface ServiceDirectoryOptions {
  /** The service of jobs that name none. */
  service?: VideoService | undefined;
  /** Those of jobs that name one. */
  services?: NamedServices | undefined;
  /** Instead of `service`: the name of the one for jobs that name none. */
  defaultService?: string | undefined;
  /** Of `service`; a new one by default. Each named service has its own for each key. */
  rateLimiter?: RateLimiter | undefined;
}

/** A service with what is kept for it alone, so that the limits of one service do not slow the jobs of another. */
export interface FoundService {
  /** Undefined for a service without a name. */
  choice?: ServiceChoice;
  service: VideoService;
  rateLimiter: RateLimiter;
}

/** Finds the service of a job by its name and the name of its key. */
export class ServiceDirectory {
  private readonly unnamed: FoundService | undefined;
  private readonly named = new Map<string, FoundService>();
  private readonly services: ReadonlyMap<string, ServiceWithKeys | VideoService>;
  private readonly defaultService: string | undefined;

  constructor({ service, services = {}, defaultService, rateLimiter }: ServiceDirectoryOptions) {
    this.unnamed = service && { service, rateLimiter: rateLimiter ?? new RateLimiter() };
    this.services = new Map(Object.entries(services));
    this.defaultService = defaultService;
    for (const [name, entry] of this.services) {
      if (!('keys' in entry)) this.add({ name }, entry);
      else for (const [key, service] of Object.entries(entry.keys)) this.add({ name, key }, service);
    }
  }

  /** The service of a job, or why there is none. */
  find(choice?: ServiceChoice): FoundService | { problem: string } {
    if (choice === undefined && this.unnamed) return this.unnamed;
    const name = choice?.name ?? this.defaultService;
    if (name === undefined)
      return {
        problem: `the job names no service, and this worker has no default: name one of ${this.names}`,
      };
    const entry = this.services.get(name);
    if (entry === undefined)
      return {
        problem: `this worker has no service ${shown(name)}: ${this.names || 'it has no named services'}`,
      };
    const key = choice?.key ?? ('keys' in entry ? entry.key : undefined);
    const found = this.named.get(idOf({ name, key }));
    return found ?? { problem: `this worker has no key ${shown(key ?? '')} for the service ${shown(name)}` };
  }

  /** Each service with each of its keys. */
  all(): FoundService[] {
    return [...(this.unnamed ? [this.unnamed] : []), ...this.named.values()];
  }

  /** Those whose submits have a queue of their own, each with the service of its newest key. */
  current(): (FoundService & { choice: ServiceChoice })[] {
    return [...this.services.keys()].flatMap((name) => {
      const found = this.find({ name });
      return 'problem' in found || !found.choice ? [] : [{ ...found, choice: found.choice }];
    });
  }

  private get names(): string {
    return [...this.services.keys()].map((name) => shown(name)).join(', ');
  }

  private add(choice: ServiceChoice, service: VideoService): void {
    this.named.set(idOf(choice), { choice, service, rateLimiter: new RateLimiter() });
  }
}

const idOf = ({ name, key = '' }: { name: string; key?: string | undefined }) => `${name}/${key}`;
