/** Which of a worker's services a job uses, and the name of its key there. The keys themselves never leave the worker. */
export interface ServiceChoice {
  name: string;
  key?: string;
}

const LONGEST_NAME_CHARS = 64;

/** It becomes part of a task queue's name and of lines on a terminal. */
const NAME = new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${LONGEST_NAME_CHARS - 1}}$`);

export const SERVICE_NAME_RULE = `must be a name of 1 to ${LONGEST_NAME_CHARS} letters, digits, dots, dashes and underscores, with a letter or digit first`;

export function isServiceName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** The fields of a job that say which services it may use. */
interface ChosenServices {
  service?: string | null | undefined;
  serviceKey?: string | null | undefined;
  services?: readonly string[] | null | undefined;
}

/** The choice in the options of a job, the first of its `services`; undefined when the worker's default is meant. */
export function choiceOf({ service, serviceKey, services }: ChosenServices): ServiceChoice | undefined {
  const name = services?.[0] ?? service;
  return name == null ? undefined : { name, ...(serviceKey != null && { key: serviceKey }) };
}

/** All that a job may use; none when the worker's default is meant. */
export function choicesOf(options: ChosenServices): ServiceChoice[] {
  const { services } = options;
  return services == null ? [choiceOf(options) ?? []].flat() : services.map((name) => ({ name }));
}

/** A job that nobody would take is better refused at once; and each refusal of a service is on record in its result. */
export const MOST_SERVICES = 5;

export const SERVICES_RULE = `must be a list of 1 to ${MOST_SERVICES} different names of services`;

export function isServiceList(value: unknown): value is string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MOST_SERVICES) return false;
  return value.every(isServiceName) && new Set(value).size === value.length;
}

const NOT_WITH_SERVICES = {
  service: 'a job names either service or services, and not both',
  serviceKey: 'serviceKey goes with service; each of several services uses its own key',
  taskId: 'services is for requests: a task to adopt has one service',
};

export const SERVICE_KEY_RULE = 'serviceKey is the name of a key of a service: name the service too';
const FALLBACK_AFTER_RULE = 'fallbackAfter goes with services';

/** Why these options name no service; undefined when they may. */
export function choiceProblem(
  options: ChosenServices & { taskId?: unknown; fallbackAfter?: unknown },
): string | undefined {
  const { service, serviceKey, services, fallbackAfter } = options;
  if (services != null)
    return Object.entries(NOT_WITH_SERVICES).find(([name]) => Reflect.get(options, name) != null)?.[1];
  if (fallbackAfter != null) return FALLBACK_AFTER_RULE;
  return serviceKey != null && service == null ? SERVICE_KEY_RULE : undefined;
}

/** Tells services with different keys apart. */
export const choiceId = ({ name, key = '' }: { name: string; key?: string | undefined }) => `${name}/${key}`;

/** Where a request was sent: without a choice, to the service of the worker that has no name. */
export interface SentTo {
  service?: ServiceChoice;
}

export const sentTo = (service: ServiceChoice | undefined): SentTo => (service ? { service } : {});

/** A choice that was stored or passed on by anybody; undefined when it is none. */
export function readChoice(value: unknown): ServiceChoice | undefined {
  const { name, key }: { name?: unknown; key?: unknown } = Object(value);
  if (!isServiceName(name)) return undefined;
  return isServiceName(key) ? { name, key } : { name };
}
