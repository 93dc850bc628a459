import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ConnectionLike } from '@temporalio/client';
import { ConfigError } from '../config/service-config';
import { cleanText, inShell, shown } from '../contract/clean-text';
import { errorCode } from '../contract/errors';
import { SEARCH_ATTRIBUTES } from '../contract/search-attributes';

/** Types of search attributes by their numbers in Temporal's API. */
const TYPES = ['unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const KEYWORD = TYPES.indexOf('Keyword');

/** Of gRPC. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;

/** Servers tell each other of a new attribute within seconds. */
const VISIBLE_WITHIN_MS = 30_000;
const LOOK_AGAIN_MS = 200;

export type SearchAttributeState =
  | { name: string; state: 'registered' | 'missing' }
  | { name: string; state: 'of-another-type'; type: string };

/** A namespace of a server that can be asked. */
export interface SearchableNamespace {
  connection: Pick<ConnectionLike, 'operatorService'>;
  namespace: string;
}

/** Which of our search attributes the namespace has. */
export async function findSearchAttributes({
  connection,
  namespace,
}: SearchableNamespace): Promise<SearchAttributeState[]> {
  const { customAttributes } = await connection.operatorService
    .listSearchAttributes({ namespace })
    .catch((error: unknown) => {
      throw refusal(error, namespace);
    });
  return SEARCH_ATTRIBUTES.map((name) => {
    const type = customAttributes[name];
    if (type == null) return { name, state: 'missing' };
    return type === KEYWORD
      ? { name, state: 'registered' }
      : { name, state: 'of-another-type', type: TYPES[type] ?? String(type) };
  });
}

/** Registers those that are missing and waits until the server knows them. One of another type is left as it is. */
export async function registerSearchAttributes(place: SearchableNamespace): Promise<SearchAttributeState[]> {
  const { connection, namespace } = place;
  const missing = namesOf(await findSearchAttributes(place), 'missing');
  if (missing.length > 0) {
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
    await connection.operatorService
      .addSearchAttributes({ namespace, searchAttributes })
      .catch((error: unknown) => {
        throw refusal(error, namespace);
      });
  }
  for (const giveUpAt = Date.now() + VISIBLE_WITHIN_MS; ; ) {
    const found = await findSearchAttributes(place);
    if (namesOf(found, 'missing').length === 0 || Date.now() > giveUpAt) return found;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** What keeps jobs from having them in this namespace, and what to do; undefined when nothing does. */
export function problemOf(
  found: readonly SearchAttributeState[],
  namespace: string,
): { problem: string; fix: string } | undefined {
  const other = found.find((one) => one.state === 'of-another-type');
  if (other) {
    return {
      problem: `the search attribute ${other.name} is of type ${other.type} in the namespace ${namespace}, and not Keyword`,
      fix: 'use another namespace',
    };
  }
  const missing = namesOf(found, 'missing');
  if (missing.length === 0) return undefined;
  return {
    problem: `${listed(missing)} not registered in the namespace ${namespace}`,
    fix: 'register with: videogen search-attributes --register',
  };
}

const SWITCH_OFF = 'or start jobs without them (searchAttributes: false, VIDEOGEN_SEARCH_ATTRIBUTES=false)';

/** A start that the server refused because of them, in one sentence; any other error as it is. */
export async function explainStart(error: unknown, { connection, options }: Client): Promise<unknown> {
  const said = refusedFor(error);
  if (said === undefined) return error;
  const { namespace } = options;
  const found = await findSearchAttributes({ connection, namespace }).catch(() => []);
  const { problem, fix } = problemOf(found, namespace) ?? {
    problem: `the server takes no search attributes of ours in the namespace ${namespace} (${said})`,
    fix: 'see what it has with: videogen search-attributes',
  };
  return new ConfigError(`The job was not started, ${problem}: ${fix}, ${SWITCH_OFF}.`, { cause: error });
}

/** The server's words, if they are about one of ours. An update with start has them one level further up. */
function refusedFor(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { message } = cause;
    if (errorCode(cause) === INVALID_ARGUMENT && SEARCH_ATTRIBUTES.some((name) => message.includes(name))) {
      return cleanText(message);
    }
  }
  return undefined;
}

/** What a server answers that does not let its search attributes be seen or changed. */
export function refusal(error: unknown, namespace: string): unknown {
  const said = error instanceof Error ? cleanText(error.message) : String(error);
  switch (errorCode(error)) {
    case NOT_FOUND:
      return new ConfigError(
        `There is no namespace ${shown(namespace)}: make it with: temporal operator namespace create --namespace ${inShell(namespace)}, or correct TEMPORAL_NAMESPACE.`,
        { cause: error },
      );
    case PERMISSION_DENIED:
    case UNIMPLEMENTED:
      return new ConfigError(
        `The server does not offer this to us (${said}): have ${SEARCH_ATTRIBUTES.join(', ')} registered as Keyword by whoever runs the namespace ${namespace}; in Temporal Cloud that is done in the Cloud UI or with tcld.`,
        { cause: error },
      );
    default:
      return error;
  }
}

function namesOf(found: readonly SearchAttributeState[], state: SearchAttributeState['state']): string[] {
  return found.filter((one) => one.state === state).map(({ name }) => name);
}

function listed(names: string[]): string {
  if (names.length === 1) return `the search attribute ${names[0]} is`;
  return `the search attributes ${names.slice(0, -1).join(', ')} and ${names.at(-1)} are`;
}
