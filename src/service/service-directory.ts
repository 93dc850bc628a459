import { shown } from '../contract/clean-text';
import type { LostSubmitPolicy } from '../contract/lost-submit';
import type { KnownServices } from '../contract/service-choice';
import { isServiceName, SERVICE_NAME_RULE } from '../contract/service-choice';
import { RateLimiter } from './rate-limiter';
import { ServiceFault } from './service-fault';
import {
  baseOf,
  type OpenedVideoService,
  type VideoService,
  type VideoServiceOptions,
} from './video-service';

/** A service with settings of its own. */
export interface NamedService {
  service: VideoService;
  /** How many submits per second all workers together may start, if submits have a queue of their own. */
  submitsPerSecond?: number | undefined;
  /** What to do about a lost submit of a job that does not say it; the worker's setting by default. */
  onLostSubmit?: LostSubmitPolicy | undefined;
}

/** The services of a worker by name. */
export type NamedServices = Readonly<Record<string, VideoService | NamedService>>;

/** What the directory of a worker is made from. */
export interface ServiceDirectoryOptions {
  /** The service of jobs that name none. */
  service?: VideoService | undefined;
  /** Those of jobs that name one. */
  services?: NamedServices | undefined;
  /** The name of the one for new jobs that name none. Tasks of `service` stay with it. */
  defaultService?: string | undefined;
  /** New ones by default. */
  rateLimiters?: Pick<RateLimiters, 'of'> | undefined;
}

/** A service with what is kept for it alone, so that the limits of one service do not slow the jobs of another. */
export interface FoundService extends NamedService {
  /** Undefined for a service without a name. */
  name?: string;
  rateLimiter: RateLimiter;
}

/** One rate limiter for each service. Share them among all workers of a process that call the same services. */
export class RateLimiters {
  private readonly limiters = new Map<string | undefined, RateLimiter>();

  /** That of a named service, or of the one without a name. */
  of(service?: string): RateLimiter {
    const known = this.limiters.get(service) ?? new RateLimiter();
    this.limiters.set(service, known);
    return known;
  }
}

/** Finds the service of a job by its name. */
export class ServiceDirectory {
  private readonly unnamed: FoundService | undefined;
  private readonly named: ReadonlyMap<string, FoundService & { name: string }>;
  /** For a job that names none and has no task yet. */
  readonly defaultService: string | undefined;

  constructor(options: ServiceDirectoryOptions) {
    const { service, services = {}, defaultService, rateLimiters = new RateLimiters() } = options;
    this.unnamed = service && { service, rateLimiter: rateLimiters.of() };
    this.defaultService = defaultService;
    this.named = new Map(
      Object.entries(services).map(([name, entry]) => [
        name,
        { name, rateLimiter: rateLimiters.of(name), ...namedService(entry) },
      ]),
    );
  }

  /**
   * The service of a task, or why there is none. Tasks that name none are those of the service without a name: a default that
   * was set later has never heard of them.
   */
  find(name?: string): FoundService | { problem: string } {
    return name === undefined && this.unnamed ? this.unnamed : this.findNamed(name ?? this.defaultService);
  }

  /** Those whose submits have a queue of their own. */
  all(): (FoundService & { name: string })[] {
    return [...this.named.values()];
  }

  private findNamed(name: string | undefined): FoundService | { problem: string } {
    if (name === undefined)
      return { problem: `the job names no service, and this worker has no default: ${this.advice}` };
    return this.named.get(name) ?? { problem: `this worker has no service ${shown(name)}: ${this.advice}` };
  }

  private get advice(): string {
    const names = [...this.named.keys()].map((name) => shown(name)).join(', ');
    return names === ''
      ? 'it has no named services, which VIDEOGEN_SERVICES_FILE would list'
      : `name one of ${names}`;
  }
}

/** What is wrong with the named services that a program gives; undefined when nothing is. */
export function namedServicesProblem({
  services = {},
  defaultService,
}: Pick<ServiceDirectoryOptions, 'services' | 'defaultService'>): string | undefined {
  const bad = Object.keys(services).find((name) => !isServiceName(name));
  if (bad !== undefined) return `the name ${shown(bad)} ${SERVICE_NAME_RULE}`;
  if (defaultService === undefined || Object.hasOwn(services, defaultService)) return undefined;
  return `the default ${shown(defaultService)} is not among them`;
}

/** What those who start jobs need to know about the services that a program gives; undefined when it gives none. */
export function servicesForClients({
  services,
  defaultService,
}: Pick<ServiceDirectoryOptions, 'services' | 'defaultService'>): KnownServices | undefined {
  if (services === undefined) return undefined;
  const known = Object.entries(services).map(([name, entry]) => {
    const { profile } = namedService(entry).service;
    return [name, { requestFields: profile?.requestFields ?? [] }];
  });
  return { services: Object.fromEntries(known), default: defaultService };
}

/** A service with its settings, of which a program may give none. */
export function namedService(entry: VideoService | NamedService): NamedService {
  return 'start' in entry ? { service: entry } : entry;
}

/**
 * Creates a client of a video service.
 *
 * @example
 * ```ts
 * const service = createVideoService({ baseUrl: 'https://api.example.com', apiKey: () => 'sk-…' });
 * const activities = createVideoActivities({ service, storage: createFileStorage('./videos') });
 * ```
 */
export function createVideoService(options: VideoServiceOptions): OpenedVideoService {
  const { baseUrl, profile = {} } = options;
  // Said now, not at the first call. The text is not shown: it may have a password in it.
  if (!URL.canParse(baseUrl)) throw new TypeError('The baseUrl of the video service is not a URL.');
  const { origin, pathname } = baseOf(baseUrl);
  let opened: OpenedVideoService | undefined;
  const http = () => {
    opened ??= openHttp(options);
    return opened;
  };
  return {
    // Without a key or a query that somebody may have put into it.
    address: origin + pathname,
    profile,
    start: async (...call) => http().start(...call),
    status: async (...call) => http().status(...call),
    open: async (...call) => http().open(...call),
    cancel: async (...call) => http().cancel?.(...call) ?? 'not-offered',
    close: async () => opened?.close(),
  };
}

/** undici takes a tenth of a second and 20 MB to load: a worker without jobs does without. */
function openHttp(options: VideoServiceOptions): OpenedVideoService {
  try {
    const loaded: typeof import('./http-video-service') = require('./http-video-service');
    return new loaded.HttpVideoService(options);
  } catch (error) {
    // Any other error would be taken for a submit that may have been sent. Its text may have an option in it.
    throw new ServiceFault('not-sent', { message: 'the HTTP client could not be loaded' }, { cause: error });
  }
}
