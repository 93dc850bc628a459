import { shown } from './clean-text';

const LONGEST_NAME_CHARS = 64;

/** It becomes part of a task queue's name and of lines on a terminal. */
const NAME = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${LONGEST_NAME_CHARS - 1}}$`);

export const SERVICE_NAME_RULE = `must be a name of 1 to ${LONGEST_NAME_CHARS} letters, digits, dots, dashes and underscores, with a letter or digit first`;

export function isServiceName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** The options of a job that choose its service. They may come from anybody: the parser of the job refuses what is not a name. */
export interface GivenChoice {
  service?: string | undefined;
  services?: string[] | undefined;
}

/** All that a job may use, the first one first; none when the worker's default is meant. */
export function servicesOf({
  service,
  services,
}: { [Field in keyof GivenChoice]: GivenChoice[Field] | null }): string[] {
  return [services ?? service ?? []].flat();
}

/** A job that nobody would take is better refused at once; and each refusal of a service is on record in its result. */
export const MOST_SERVICES = 5;

export const SERVICES_RULE = `must be a list of 1 to ${MOST_SERVICES} different names of services`;

export function isServiceList(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_SERVICES) return false;
  return value.every(isServiceName) && new Set(value).size === value.length;
}

const NOT_WITH_SERVICES = {
  service: 'a job names either service or services, not both',
  taskId: 'services cannot be used with taskId: a task has one service',
  submitWithin: 'submitWithin is for a single service: with services, use fallbackAfter',
};

/** Why these options name no service; undefined when they may. */
export function choiceProblem(options: object): string | undefined {
  const { services, fallbackAfter }: { services?: unknown; fallbackAfter?: unknown } = options;
  if (services == null) return fallbackAfter == null ? undefined : 'fallbackAfter needs services';
  return Object.entries(NOT_WITH_SERVICES).find(([name]) => Reflect.get(options, name) != null)?.[1];
}

/** What a client knows about a service of the workers. */
export interface KnownService {
  /** Request fields that it takes beyond the interface. */
  requestFields?: readonly string[];
}

/** The services of the workers, for those who start jobs: they write the name into the input and refuse unknown names. */
export interface KnownServices<Service extends KnownService = KnownService> {
  services: Readonly<Record<string, Service>>;
  /** The service of jobs that name none. Without it, the worker's default. */
  default?: string | undefined;
}

/**
 * The choice with the name of the default, so that the job keeps it whatever becomes of the list, and the first of its services
 * if it is known. Without a list the choice is taken as it is: the worker knows. Throws the refusal of a name that is not listed.
 */
export function pinChoice<Service extends KnownService>(
  { services, service }: GivenChoice,
  list: KnownServices<Service> | undefined,
  refusal: (problem: string, field: keyof GivenChoice) => Error,
): { choice: GivenChoice; known?: Service | undefined } {
  const name = service ?? list?.default;
  const choice: GivenChoice = services ? { services } : name === undefined ? {} : { service: name };
  if (list === undefined) return { choice };
  const names = servicesOf(choice);
  const unknown = names.find((one) => !Object.hasOwn(list.services, one));
  if (unknown === undefined) return { choice, known: list.services[names[0] ?? ''] };
  const known = Object.keys(list.services).map(shown).join(', ');
  throw refusal(
    `the service ${shown(String(unknown))} is not known: name one of ${known}`,
    services ? 'services' : 'service',
  );
}
