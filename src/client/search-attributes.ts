import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ConnectionLike } from '@temporalio/client';
import { ConfigError } from '../config/service-config';
import { cleanText, inShell, shown } from '../contract/clean-text';
import { errorCode, GRPC_STATUS } from '../contract/error-code';
import { SEARCH_ATTRIBUTES } from '../contract/names';

/** Types of search attributes, by their numbers in Temporal's API. */
const TYPES = ['unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const KEYWORD = TYPES.indexOf('Keyword');

/** All servers of a cluster know a new attribute within seconds. */
const VISIBLE_WITHIN_MS = 30_000;
const LIST_EVERY_MS = 200;

export type SearchAttributeState =
  | { name: string; state: 'registered' | 'missing' }
  | { name: string; state: 'of-another-type'; type: string };

/** A namespace, and a connection to its server. */
export interface SearchableNamespace {
  connection: Pick<ConnectionLike, 'operatorService'>;
  namespace: string;
}

/** The state of our search attributes in a namespace. */
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

/** Registers the missing ones and waits until the server knows them. One of another type stays as it is. */
export async function registerSearchAttributes(within: SearchableNamespace): Promise<SearchAttributeState[]> {
  const { connection, namespace } = within;
  const missing = namesOf(await findSearchAttributes(within), 'missing');
  if (missing.length > 0) {
    const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
    await connection.operatorService
      .addSearchAttributes({ namespace, searchAttributes })
      .catch((error: unknown) => {
        throw refusal(error, namespace);
      });
  }
  for (const giveUpAt = Date.now() + VISIBLE_WITHIN_MS; ; ) {
    const found = await findSearchAttributes(within);
    if (namesOf(found, 'missing').length === 0 || Date.now() > giveUpAt) return found;
    await sleep(LIST_EVERY_MS);
  }
}

/** Why jobs cannot have them in this namespace, and the fix; undefined when they can. */
export function problemOf(
  found: readonly SearchAttributeState[],
  namespace: string,
): { problem: string; fix: string } | undefined {
  const other = found.find((one) => one.state === 'of-another-type');
  if (other) {
    return {
      problem: `the search attribute ${other.name} has the type ${other.type} in the namespace ${namespace}, not Keyword`,
      fix: 'use another namespace',
    };
  }
  const missing = namesOf(found, 'missing');
  if (missing.length === 0) return undefined;
  return {
    problem: `${listed(missing)} not registered in the namespace ${namespace}`,
    fix: 'register them with: videogen doctor --register',
  };
}

const SWITCH_OFF = 'or start jobs without them (searchAttributes: false, VIDEOGEN_SEARCH_ATTRIBUTES=false)';

/** One sentence for a start that the server refused because of search attributes; any other error as it is. */
export async function explainStart(error: unknown, { connection, options }: Client): Promise<unknown> {
  const message = refusedFor(error);
  if (message === undefined) return error;
  const { namespace } = options;
  const found = await findSearchAttributes({ connection, namespace }).catch(() => []);
  const { problem, fix } = problemOf(found, namespace) ?? {
    problem: `the server refused our search attributes in the namespace ${namespace} (${message})`,
    fix: 'check the namespace with: videogen doctor',
  };
  return new ConfigError(`The job was not started because ${problem}: ${fix}, ${SWITCH_OFF}.`, {
    cause: error,
  });
}

/** The server's message, if it names one of our search attributes. An update-with-start has it one cause deeper. */
function refusedFor(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { message } = cause;
    if (
      errorCode(cause) === GRPC_STATUS.invalidArgument &&
      SEARCH_ATTRIBUTES.some((name) => message.includes(name))
    ) {
      return cleanText(message);
    }
  }
  return undefined;
}

/** One sentence for a server that does not let us list or change search attributes; any other error as it is. */
export function refusal(error: unknown, namespace: string): unknown {
  const message = error instanceof Error ? cleanText(error.message) : String(error);
  switch (errorCode(error)) {
    case GRPC_STATUS.notFound:
      return new ConfigError(
        `There is no namespace ${shown(namespace)}: create it with: temporal operator namespace create --namespace ${inShell(namespace)}, or correct TEMPORAL_NAMESPACE.`,
        { cause: error },
      );
    case GRPC_STATUS.permissionDenied:
    case GRPC_STATUS.unimplemented:
      return new ConfigError(
        `The server does not allow this (${message}): ask those who run the namespace ${namespace} to register ${SEARCH_ATTRIBUTES.join(', ')} as Keyword; in Temporal Cloud this is done in the Cloud UI or with tcld.`,
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
