import { findSearchAttributes, problemOf } from '../../client/search-attributes';
import { readSearchAttributes } from '../../config/temporal-config';
import { describeDuration, inShell } from '../../contract';
import { type Check, type Finding, ok, warning, wrong } from './check';
import { codeOf, wordsOf } from './described-error';
import type { TemporalServer } from './find-temporal';
import { withinCall } from './reach-server';

/** NOT_FOUND of gRPC. */
const NOT_FOUND = 5;

export const checkNamespace: Check = {
  name: 'namespace',
  needs: ['temporal'],
  async run({ env, temporal }) {
    const place = await temporal();
    if (!('connection' in place)) return ok('generate makes it with its server');
    const { connection, namespace } = place;
    try {
      const { config } = await withinCall(connection, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
      const lacks = readSearchAttributes(env) ? await lackOfSearchAttributes(place) : undefined;
      if (lacks) return lacks;
      const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
      return ok(`${namespace} keeps jobs that have ended for ${describeDuration(seconds * 1_000)}`);
    } catch (error) {
      if (codeOf(error) === NOT_FOUND) {
        return wrong(
          `there is no namespace ${namespace}`,
          `Make it with: temporal operator namespace create --namespace ${inShell(namespace)}; or correct TEMPORAL_NAMESPACE.`,
        );
      }
      return wrong(
        `${namespace} cannot be looked at (${wordsOf(error)})`,
        'Correct TEMPORAL_NAMESPACE, or the TEMPORAL_API_KEY that is to open it.',
      );
    }
  },
};

/** What would keep a client of these settings from starting jobs. */
async function lackOfSearchAttributes({
  connection,
  namespace,
}: TemporalServer): Promise<Finding | undefined> {
  try {
    const found = await withinCall(connection, () => findSearchAttributes({ connection, namespace }));
    const lack = problemOf(found, namespace);
    return (
      lack &&
      wrong(lack.problem, `Before jobs are started: ${lack.fix}; or unset VIDEOGEN_SEARCH_ATTRIBUTES.`)
    );
  } catch (error) {
    return warning(
      `it cannot be told whether ${namespace} has the search attributes (${wordsOf(error)})`,
      'If starts are refused, unset VIDEOGEN_SEARCH_ATTRIBUTES.',
    );
  }
}
