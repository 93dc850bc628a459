import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { errorCode } from '../contract/error-code';
import { ServiceFault } from './service-fault';
import type { VideoService } from './video-service';

/** An answer within this time says enough: a single call that fails may be chance. */
const ANSWERED_WITHIN_MS = 60_000;
/** After a failed call or probe there is no other before this time. */
const PROBE_EVERY_MS = 10_000;
const PROBE_WITHIN_MS = 4_000;

/** Whether the service answers. `since` is when that began, in milliseconds since 1970. */
export type Reach = { reachable: true; since: number } | { reachable: false; since: number; reason: string };

/** Faults without an answer. A refusal is one, and so is a 429. */
const UNANSWERED: ReadonlySet<ServiceFault['kind']> = new Set(['not-sent', 'cut']);

/** Knows from the calls of jobs whether the service has answered in the last minute, and probes it only if it has not. */
export class ServiceReach {
  private answers: { since: number; last: number } | undefined;
  /** Since the last answer. */
  private failures: { since: number; last: number; reason: string } | undefined;
  private probing: Promise<void> | undefined;

  constructor(
    private readonly now: () => number = Date.now,
    private readonly probe: (address: string) => Promise<void> = askForAnything,
  ) {}

  /** The same service, whose calls are noticed. Videos may come from another host, so they say nothing. */
  watch(service: VideoService): VideoService {
    const cancel = service.cancel?.bind(service);
    return {
      // Read each time: a host's own service may change them.
      get address() {
        return service.address;
      },
      get profile() {
        return service.profile;
      },
      start: (request, options) => this.notice(service.start(request, options)),
      status: (taskId, options) => this.notice(service.status(taskId, options)),
      ...(cancel && { cancel: (...call) => this.notice(cancel(...call)) }),
      open: (link, options) => service.open(link, options),
    };
  }

  /** A service without an address, such as one of a host's own, is not probed: without calls nothing speaks against it. */
  async current(address: string | undefined): Promise<Reach> {
    const knows = isWithin(this.answers, ANSWERED_WITHIN_MS, this.now()) || this.failedRecently();
    if (address !== undefined && !knows) {
      this.probing ??= this.probeOnce(address).finally(() => {
        this.probing = undefined;
      });
      await this.probing;
    }
    const { since = this.now() } = this.answers ?? {};
    if (this.failures === undefined || isWithin(this.answers, ANSWERED_WITHIN_MS, this.now()))
      return { reachable: true, since };
    return { reachable: false, since: this.failures.since, reason: this.failures.reason };
  }

  private failedRecently(): boolean {
    return isWithin(this.failures, PROBE_EVERY_MS, this.now());
  }

  private async probeOnce(address: string): Promise<void> {
    await this.probe(address).then(
      () => this.record(undefined),
      (error: unknown) => this.record(`no answer (${errorCode(error) ?? 'unknown error'})`),
    );
  }

  private notice<T>(call: Promise<T>): Promise<T> {
    call.then(
      () => this.record(undefined),
      (error: unknown) => {
        if (!(error instanceof ServiceFault)) return;
        const { kind, facts } = error;
        this.record(UNANSWERED.has(kind) ? `no answer (${facts.code ?? kind})` : undefined);
      },
    );
    return call;
  }

  /** The reason is a code: what a server or a socket says may quote an address. */
  private record(reason: string | undefined): void {
    const last = this.now();
    if (reason !== undefined) {
      this.failures = { since: this.failures?.since ?? last, last, reason };
      return;
    }
    const hasPaused = !isWithin(this.answers, ANSWERED_WITHIN_MS, last) && this.failures !== undefined;
    this.answers = { since: hasPaused ? last : (this.answers?.since ?? last), last };
    this.failures = undefined;
  }
}

function isWithin(seen: { last: number } | undefined, ms: number, now: number): boolean {
  return seen !== undefined && now - seen.last < ms;
}

/** Any answer will do, without a key. Not with undici, which takes 20 MB: a worker without jobs has not loaded it. */
function askForAnything(address: string): Promise<void> {
  const request = new URL(address).protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const asked = request(address, { method: 'HEAD', agent: false, timeout: PROBE_WITHIN_MS }, (answer) => {
      answer.resume();
      resolve();
    });
    asked.once('timeout', () => asked.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    asked.once('error', reject);
    asked.end();
  });
}
