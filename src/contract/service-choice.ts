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

/** The choice in the options of a job; undefined when the worker's default is meant. */
export function choiceOf({
  service,
  serviceKey,
}: {
  service?: string | null | undefined;
  serviceKey?: string | null | undefined;
}): ServiceChoice | undefined {
  return service == null ? undefined : { name: service, ...(serviceKey != null && { key: serviceKey }) };
}

export const SERVICE_KEY_RULE = 'serviceKey is the name of a key of a service: name the service too';

/** Why these options name no service; undefined when they may. */
export function choiceProblem({ service, serviceKey }: Parameters<typeof choiceOf>[0]): string | undefined {
  return serviceKey != null && service == null ? SERVICE_KEY_RULE : undefined;
}

/** A choice that was stored or passed on by anybody; undefined when it is none. */
export function readChoice(value: unknown): ServiceChoice | undefined {
  const { name, key }: { name?: unknown; key?: unknown } = Object(value);
  if (!isServiceName(name)) return undefined;
  return isServiceName(key) ? { name, key } : { name };
}
