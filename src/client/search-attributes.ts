import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { ConfigError } from '../config/service-config';
import { cleanText } from '../contract/clean-text';
import { errorCode, firstLineOf, GRPC_STATUS } from '../contract/error-code';
import { SEARCH_ATTRIBUTES } from '../contract/names';

/** The number of the type Keyword in Temporal's API. */
const KEYWORD = 2;

/** All servers of a cluster know a new attribute within seconds. */
const VISIBLE_WITHIN_MS = 30_000;
const LIST_EVERY_MS = 200;

/** A namespace, and a connection to its server. */
interface SearchableNamespace {
  connection: Pick<ConnectionLike, 'operatorService'>;
  namespace: string;
}

/** Why jobs cannot have search attributes in a namespace, in half a sentence; undefined when they can. */
export async function searchAttributeProblem(within: SearchableNamespace): Promise<string | undefined> {
  const types = await typesIn(within);
  const others = SEARCH_ATTRIBUTES.filter((name) => types[name] !== KEYWORD);
  if (others.length === 0) return undefined;
  return `the namespace ${within.namespace} has no search attributes ${others.join(', ')} of type Keyword`;
}

/** Registers the missing ones and waits until the server knows them. One of another type stays as it is. */
export async function registerSearchAttributes(within: SearchableNamespace): Promise<string | undefined> {
  const { connection, namespace } = within;
  const types = await typesIn(within);
  const missing = SEARCH_ATTRIBUTES.filter((name) => types[name] == null);
  if (missing.length === 0) return searchAttributeProblem(within);
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await orRefused(connection.operatorService.addSearchAttributes({ namespace, searchAttributes }));
  for (const giveUpAt = Date.now() + VISIBLE_WITHIN_MS; ; await sleep(LIST_EVERY_MS)) {
    const problem = await searchAttributeProblem(within);
    if (problem === undefined || Date.now() > giveUpAt) return problem;
  }
}

async function typesIn({ connection, namespace }: SearchableNamespace) {
  return (await orRefused(connection.operatorService.listSearchAttributes({ namespace }))).customAttributes;
}

/** One sentence for a server that does not let us list or change search attributes; any other error as it is. */
function orRefused<T>(call: Promise<T>): Promise<T> {
  return call.catch((error: unknown) => {
    const code = errorCode(error);
    if (code !== GRPC_STATUS.permissionDenied && code !== GRPC_STATUS.unimplemented) throw error;
    throw new ConfigError(
      `The server does not allow this (${cleanText(String(error))}): ask those who run the namespace to register ${SEARCH_ATTRIBUTES.join(', ')} as Keyword; in Temporal Cloud this is done in the Cloud UI or with tcld.`,
      { cause: error },
    );
  });
}

/** One sentence for a start that the server refused because of search attributes; any other error as it is. */
export function explainStart(error: unknown, namespace: string): unknown {
  const { cause }: { cause?: unknown } = Object(error);
  const isOurs = SEARCH_ATTRIBUTES.some((name) => String(cause).includes(name));
  if (errorCode(cause) !== GRPC_STATUS.invalidArgument || !isOurs) return error;
  return new ConfigError(
    `The job was not started, because the server refused our search attributes in the namespace ${namespace} (${firstLineOf(cause)}): register them with: videogen doctor --register, or start jobs without them (searchAttributes: false, VIDEOGEN_SEARCH_ATTRIBUTES=false).`,
    { cause: error },
  );
}
