import {
  findSearchAttributes,
  problemOf,
  registerSearchAttributes,
  type SearchAttributeState,
} from '../client/search-attributes';
import { TemporalUnreachable } from '../client/temporal-unreachable';
import { ConfigError } from '../config/service-config';
import { printableJson } from '../contract';
import { Closers } from './closers';
import { findTemporal, type TemporalServer } from './doctor/find-temporal';
import { EXIT, reportError } from './exit-codes';
import type { SearchAttributesOptions } from './options';
import { type Terminal, tell } from './terminal';

/** `videogen search-attributes`: whether the namespace has those that jobs can be found by. It starts no server. */
export async function searchAttributes(
  options: SearchAttributesOptions,
  terminal: Terminal,
): Promise<number> {
  const closers = new Closers();
  try {
    const place = await findServer(terminal, closers);
    const { namespace, address } = place;
    const found = await (options.register ? registerSearchAttributes(place) : findSearchAttributes(place));
    tell(terminal, `Search attributes of the namespace ${namespace} at ${address}:`);
    terminal.out(options.json ? printableJson({ namespace, attributes: found }) : lines(found));
    const problem = problemOf(found, namespace);
    if (problem) tell(terminal, sentence(problem));
    return problem && options.register ? EXIT.usage : EXIT.ok;
  } catch (error) {
    return reportError(error, options, terminal);
  } finally {
    await closers.close();
  }
}

async function findServer({ env }: Terminal, closers: Closers): Promise<TemporalServer> {
  const temporal = await findTemporal(env, closers);
  switch (temporal.kind) {
    case 'named':
    case 'local':
      return temporal;
    case 'silent':
      throw new TemporalUnreachable(
        `Temporal cannot be reached at ${temporal.address} (${temporal.problem}): start a server there, or set TEMPORAL_ADDRESS to one that runs.`,
      );
    case 'none':
      throw new ConfigError(
        'No server is named and none of ours runs: set TEMPORAL_ADDRESS; the server that generate and dev start registers them itself.',
      );
  }
}

function lines(found: readonly SearchAttributeState[]): string {
  return found
    .map((one) => {
      const state = one.state === 'of-another-type' ? `of another type: ${one.type}` : one.state;
      return `${one.name.padEnd(12)}  ${state}`;
    })
    .join('\n');
}

function sentence({ problem, fix }: { problem: string; fix: string }): string {
  return `${problem[0]?.toUpperCase()}${problem.slice(1)}: ${fix}.`;
}
