import { findSearchAttributes, problemOf } from '../../client/search-attributes';
import { readSearchAttributes } from '../../config/temporal-config';
import { inShell } from '../../contract/clean-text';
import { describeDuration } from '../../contract/duration';
import { type Check, type Finding, failed, ok, warning } from './check';
import { codeOf, messageOf } from './described-error';
import type { TemporalServer } from './find-temporal';
import { withinCall } from './reach-server';

/** The gRPC status NOT_FOUND. */
const NOT_FOUND = 5;

export const checkNamespace: Check = {
  name: 'namespace',
  needs: ['temporal'],
  async run({ env, temporal }) {
    const server = await temporal();
    if (!('connection' in server)) return ok('generate creates it with its server');
    const { connection, namespace } = server;
    try {
      const { config } = await withinCall(connection, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
      const problem = readSearchAttributes(env) ? await searchAttributesProblem(server) : undefined;
      if (problem) return problem;
      const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
      return ok(`${namespace} retains ended jobs for ${describeDuration(seconds * 1_000)}`);
    } catch (error) {
      if (codeOf(error) === NOT_FOUND) {
        return failed(
          `there is no namespace ${namespace}`,
          `Create it with: temporal operator namespace create --namespace ${inShell(namespace)}; or correct TEMPORAL_NAMESPACE.`,
        );
      }
      return failed(
        `${namespace} cannot be read (${messageOf(error)})`,
        'Correct TEMPORAL_NAMESPACE or TEMPORAL_API_KEY.',
      );
    }
  },
};

/** Reports missing search attributes, without which a client with these settings cannot start jobs. */
async function searchAttributesProblem({
  connection,
  namespace,
}: TemporalServer): Promise<Finding | undefined> {
  try {
    const states = await withinCall(connection, () => findSearchAttributes({ connection, namespace }));
    const missing = problemOf(states, namespace);
    return (
      missing &&
      failed(missing.problem, `Before you start jobs: ${missing.fix}; or unset VIDEOGEN_SEARCH_ATTRIBUTES.`)
    );
  } catch (error) {
    return warning(
      `the search attributes of ${namespace} could not be checked (${messageOf(error)})`,
      'If starts are refused, unset VIDEOGEN_SEARCH_ATTRIBUTES.',
    );
  }
}
