import { shown } from './clean-text';
import { isServiceName, SERVICE_KEY_RULE, SERVICE_NAME_RULE } from './service-choice';

/** What a client knows about a service of the workers. */
export interface KnownService {
  /** The names of its keys on the workers, that for new jobs first; none for a service without named keys. */
  keys?: readonly string[];
  /** Request fields that it takes beyond the interface. */
  requestFields?: readonly string[];
}

/** The services of the workers, for those who start jobs: they write the choice into the input and refuse unknown names. */
export interface KnownServices<Service extends KnownService = KnownService> {
  services: Readonly<Record<string, Service>>;
  /** The service of jobs that name none. Without it, the worker's default. */
  default?: string | undefined;
}

/** The options of a job that choose its service. */
export interface GivenChoice {
  service?: string | undefined;
  serviceKey?: string | undefined;
  services?: string[] | undefined;
}

export type PinnedChoice<Service extends KnownService = KnownService> =
  | { ok: true; choice: GivenChoice; known?: Service }
  | { ok: false; field: 'service' | 'serviceKey'; problem: string };

/**
 * The choice with the names of the default and of its key, so that the job keeps both whatever becomes of the list. Without a
 * list it is taken as it is: the worker knows.
 */
export function pinChoice<Service extends KnownService>(
  given: GivenChoice,
  list: KnownServices<Service> | undefined,
): PinnedChoice<Service> {
  const { service = list?.default, serviceKey } = given;
  if (serviceKey !== undefined && given.service === undefined)
    return { ok: false, field: 'serviceKey', problem: SERVICE_KEY_RULE };
  if (service === undefined) return { ok: true, choice: {} };
  const choice = { service, ...(serviceKey !== undefined && { serviceKey }) };
  if (list === undefined) return { ok: true, choice };
  const known = Object.hasOwn(list.services, service) ? list.services[service] : undefined;
  if (known === undefined)
    return {
      ok: false,
      field: 'service',
      problem: isServiceName(service)
        ? `service is ${shown(service)}, which is not known: name one of ${namesOf(list.services)}`
        : `service ${SERVICE_NAME_RULE}: one of ${namesOf(list.services)}`,
    };
  const { keys = [] } = known;
  if (serviceKey !== undefined && !keys.includes(serviceKey))
    return {
      ok: false,
      field: 'serviceKey',
      problem: `serviceKey is ${shown(serviceKey)}, which is no key of ${shown(service)}: ${keysAdvice(keys)}`,
    };
  const key = serviceKey ?? keys[0];
  return { ok: true, choice: { service, ...(key !== undefined && { serviceKey: key }) }, known };
}

/** The same for the `services` of a job: none is pinned, because each uses its own key. `known` is the first of them. */
export function pinServices<Service extends KnownService>(
  services: string[],
  list: KnownServices<Service> | undefined,
): { ok: true; choice: GivenChoice; known?: Service } | { ok: false; field: 'services'; problem: string } {
  const [first, ...others] = services.map((service) => pinChoice({ service }, list));
  const refused = [first, ...others].find((pinned) => pinned?.ok === false);
  if (refused?.ok === false) return { ok: false, field: 'services', problem: refused.problem };
  return { ok: true, choice: { services }, ...(first?.ok && first.known && { known: first.known }) };
}

const namesOf = (services: object) =>
  Object.keys(services)
    .map((name) => shown(name))
    .join(', ');

const keysAdvice = (keys: readonly string[]) =>
  keys.length === 0 ? 'leave it out' : `name one of ${keys.map((key) => shown(key)).join(', ')}`;
