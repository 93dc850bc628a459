import { shown } from '../contract/clean-text';
import type { KnownService, KnownServices } from '../contract/known-services';
import type { LostSubmitPolicy } from '../contract/lost-submit';
import { choiceId, isServiceName, SERVICE_NAME_RULE, type ServiceChoice } from '../contract/service-choice';
import type { VideoService } from './http-video-service';
import { RateLimiter } from './rate-limiter';

/** One service for each of its keys, by the names of the keys. A running job stays with the key that it began with. */
export interface ServiceWithKeys {
  /** The name of the key for new jobs. */
  key: string;
  keys: Readonly<Record<string, VideoService>>;
  /** How many submits per second all workers together may start, if submits have a queue of their own. */
  submitsPerSecond?: number | undefined;
  /** What to do about a lost submit of a job that does not say it; the worker's setting by default. */
  onLostSubmit?: LostSubmitPolicy | undefined;
}

/** The services of a worker by name. */
export type NamedServices = Readonly<Record<string, VideoService | ServiceWithKeys>>;

/** What the directory of a worker is made from. */
export interface ServiceDirectoryOptions {
  /** The service of jobs that name none. */
  service?: VideoService | undefined;
  /** Those of jobs that name one. */
  services?: NamedServices | undefined;
  /** The name of the one for new jobs that name none. Tasks of `service` stay with it. */
  defaultService?: string | undefined;
  /** Of `service`; a new one by default. */
  rateLimiter?: RateLimiter | undefined;
  /** Those of the named services; new ones by default. */
  rateLimiters?: RateLimiters | undefined;
}

/** A service with what is kept for it alone, so that the limits of one service do not slow the jobs of another. */
export interface FoundService {
  /** Undefined for a service without a name. */
  choice?: ServiceChoice;
  service: VideoService;
  rateLimiter: RateLimiter;
  submitsPerSecond?: number | undefined;
  onLostSubmit?: LostSubmitPolicy | undefined;
}

/** One rate limiter for each named service and key. Share them among all workers of a process that call the same services. */
export class RateLimiters {
  private readonly limiters = new Map<string, RateLimiter>();

  of(choice: ServiceChoice): RateLimiter {
    const id = choiceId(choice);
    const known = this.limiters.get(id) ?? new RateLimiter();
    this.limiters.set(id, known);
    return known;
  }
}

/** Finds the service of a job by its name and the name of its key. */
export class ServiceDirectory {
  private readonly unnamed: FoundService | undefined;
  private readonly named = new Map<string, FoundService>();
  private readonly services: ReadonlyMap<string, ServiceWithKeys | VideoService>;
  private readonly defaultService: string | undefined;

  constructor(options: ServiceDirectoryOptions) {
    const { service, services = {}, defaultService, rateLimiter } = options;
    const { rateLimiters = new RateLimiters() } = options;
    this.unnamed = service && { service, rateLimiter: rateLimiter ?? new RateLimiter() };
    this.services = new Map(Object.entries(services));
    this.defaultService = defaultService;
    const add = (choice: ServiceChoice, found: Omit<FoundService, 'choice' | 'rateLimiter'>) =>
      this.named.set(choiceId(choice), { choice, rateLimiter: rateLimiters.of(choice), ...found });
    for (const [name, entry] of this.services) {
      if (!hasKeys(entry)) {
        add({ name }, { service: entry });
        continue;
      }
      const { submitsPerSecond, onLostSubmit } = entry;
      for (const [key, one] of Object.entries(entry.keys))
        add({ name, key }, { service: one, submitsPerSecond, onLostSubmit });
    }
  }

  /**
   * The service of a task, or why there is none. Tasks that name none are those of the service without a name: a default that
   * was set later has never heard of them.
   */
  find(choice?: ServiceChoice): FoundService | { problem: string } {
    return choice === undefined && this.unnamed ? this.unnamed : this.findNamed(choice);
  }

  /** The service of a job that has no task yet. One that names none gets the default, if there is one. */
  findForNew(choice?: ServiceChoice): FoundService | { problem: string } {
    return choice === undefined && this.defaultService === undefined ? this.find() : this.findNamed(choice);
  }

  /** Those whose submits have a queue of their own, each with the service of its key for new jobs. */
  current(): (FoundService & { choice: ServiceChoice })[] {
    return [...this.services.keys()].flatMap((name) => {
      const found = this.find({ name });
      return 'problem' in found || !found.choice ? [] : [{ ...found, choice: found.choice }];
    });
  }

  private findNamed(choice: ServiceChoice | undefined): FoundService | { problem: string } {
    const name = choice?.name ?? this.defaultService;
    if (name === undefined)
      return { problem: `the job names no service, and this worker has no default: ${this.advice}` };
    const entry = this.services.get(name);
    if (entry === undefined) return { problem: `this worker has no service ${shown(name)}: ${this.advice}` };
    const key = choice?.key ?? (hasKeys(entry) ? entry.key : undefined);
    const found = this.named.get(choiceId({ name, key }));
    return (
      found ?? {
        problem: `this worker has no key ${shown(key ?? '')} for the service ${shown(name)}: give it that key again, beside the one for new jobs`,
      }
    );
  }

  private get advice(): string {
    const names = [...this.services.keys()].map((name) => shown(name)).join(', ');
    return names === '' ? 'it has no named services' : `name one of ${names}`;
  }
}

/** What is wrong with the named services that a program gives; undefined when nothing is. */
export function namedServicesProblem({
  services = {},
  defaultService,
}: Pick<ServiceDirectoryOptions, 'services' | 'defaultService'>): string | undefined {
  for (const [name, entry] of Object.entries(services)) {
    if (!isServiceName(name)) return `the name ${shown(name)} ${SERVICE_NAME_RULE}`;
    if (!hasKeys(entry)) continue;
    const badKey = Object.keys(entry.keys).find((key) => !isServiceName(key));
    if (badKey !== undefined) return `the name of a key of ${shown(name)} ${SERVICE_NAME_RULE}`;
    if (!Object.hasOwn(entry.keys, entry.key)) return `${shown(name)} has no key ${shown(entry.key)}`;
  }
  if (defaultService === undefined || Object.hasOwn(services, defaultService)) return undefined;
  return `the default ${shown(defaultService)} is not among them`;
}

/** What those who start jobs need to know about the services that a program gives; undefined when it gives none. */
export function servicesForClients({
  services,
  defaultService,
}: Pick<ServiceDirectoryOptions, 'services' | 'defaultService'>): KnownServices | undefined {
  if (services === undefined) return undefined;
  const known = Object.entries(services).map(([name, entry]): [string, KnownService] => {
    if (!hasKeys(entry)) return [name, { requestFields: entry.profile?.requestFields ?? [] }];
    const { key, keys } = entry;
    const others = Object.keys(keys).filter((one) => one !== key);
    return [name, { keys: [key, ...others], requestFields: keys[key]?.profile?.requestFields ?? [] }];
  });
  return { services: Object.fromEntries(known), default: defaultService };
}

export function hasKeys(entry: VideoService | ServiceWithKeys): entry is ServiceWithKeys {
  return 'keys' in entry;
}
