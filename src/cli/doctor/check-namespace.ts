import { describeDuration } from '../../contract';
import { type Check, ok, wrong } from './check';
import { withinCall } from './reach-server';
import { codeOf, wordsOf } from './told-error';

/** NOT_FOUND of gRPC. */
const NOT_FOUND = 5;

export const checkNamespace: Check = {
  name: 'namespace',
  needs: ['temporal'],
  async run({ temporal }) {
    const place = await temporal();
    if (!('connection' in place)) return ok('generate makes it with its server');
    const { connection, namespace } = place;
    try {
      const { config } = await withinCall(connection, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
      const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
      return ok(`${namespace} keeps jobs that have ended for ${describeDuration(seconds * 1_000)}`);
    } catch (error) {
      if (codeOf(error) === NOT_FOUND) {
        return wrong(
          `there is no namespace ${namespace}`,
          `Make it with: temporal operator namespace create --namespace ${namespace}; or correct TEMPORAL_NAMESPACE.`,
        );
      }
      return wrong(
        `${namespace} cannot be looked at (${wordsOf(error)})`,
        'Correct TEMPORAL_NAMESPACE, or the TEMPORAL_API_KEY that is to open it.',
      );
    }
  },
};
