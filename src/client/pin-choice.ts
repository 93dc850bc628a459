import { shown } from '../contract/clean-text';
import { type KnownService, type KnownServices, servicesOf } from '../contract/service-choice';

/** The options of a job that choose its service. They may come from anybody: the parser of the job refuses what is not a name. */
export interface GivenChoice {
  service?: string | undefined;
  services?: string[] | undefined;
}

export type PinnedChoice<Service extends KnownService = KnownService> =
  /** `known` is the first of its services. */
  | { ok: true; choice: GivenChoice; known?: Service }
  | { ok: false; field: keyof GivenChoice; problem: string };

/**
 * The choice with the name of the default, so that the job keeps it whatever becomes of the list. Without a list it is taken as
 * it is: the worker knows.
 */
export function pinChoice<Service extends KnownService>(
  { services, service }: GivenChoice,
  list: KnownServices<Service> | undefined,
): PinnedChoice<Service> {
  const name = service ?? list?.default;
  const choice: GivenChoice = services ? { services } : name === undefined ? {} : { service: name };
  if (list === undefined) return { ok: true, choice };
  const names = servicesOf(choice);
  const unknown = names.find((one) => !Object.hasOwn(list.services, one));
  if (unknown !== undefined)
    return {
      ok: false,
      field: services ? 'services' : 'service',
      problem: unknownName(String(unknown), list),
    };
  const known = list.services[names[0] ?? ''];
  return { ok: true, choice, ...(known && { known }) };
}

function unknownName(name: string, { services }: KnownServices): string {
  const names = Object.keys(services).map((one) => shown(one));
  return `service is ${shown(name)}, which is not known: name one of ${names.join(', ')}`;
}
