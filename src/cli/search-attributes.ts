import {
  findSearchAttributes,
  problemOf,
  registerSearchAttributes,
  type SearchAttributeState,
} from '../client/search-attributes';
import { ConfigError } from '../config/service-config';
import { printableJson } from '../contract/clean-text';
import { Closers } from './closers';
import { EXIT, reportError } from './exit-codes';
import { findServer } from './find-server';
import type { SearchAttributesOptions } from './options';
import { printLine, type Terminal } from './terminal';

/** `videogen search-attributes`: checks or registers the search attributes of jobs. It starts no server. */
export async function searchAttributes(
  options: SearchAttributesOptions,
  terminal: Terminal,
): Promise<number> {
  const closers = new Closers();
  try {
    const server = await findServer(terminal.env, closers);
    if (server === undefined) throw noServer();
    const { namespace, address } = server;
    const states = await (options.register ? registerSearchAttributes(server) : findSearchAttributes(server));
    printLine(terminal, `Search attributes of the namespace ${namespace} at ${address}:`);
    terminal.out(options.json ? printableJson({ namespace, attributes: states }) : lines(states));
    const problem = problemOf(states, namespace);
    if (problem) printLine(terminal, sentence(problem));
    return problem && options.register ? EXIT.usage : EXIT.ok;
  } catch (error) {
    return reportError(error, options, terminal);
  } finally {
    await closers.close();
  }
}

const noServer = () =>
  new ConfigError(
    'TEMPORAL_ADDRESS is not set and no local server is running: set TEMPORAL_ADDRESS. The local server of generate and dev registers them itself.',
  );

function lines(states: readonly SearchAttributeState[]): string {
  return states
    .map((one) => {
      const state = one.state === 'of-another-type' ? `of another type: ${one.type}` : one.state;
      return `${one.name.padEnd(12)}  ${state}`;
    })
    .join('\n');
}

function sentence({ problem, fix }: { problem: string; fix: string }): string {
  return `${problem[0]?.toUpperCase()}${problem.slice(1)}: ${fix}.`;
}
