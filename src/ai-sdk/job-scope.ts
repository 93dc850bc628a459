import { ConfigError } from '../config/service-config';
import { shown } from '../contract/clean-text';
import { isWorkflowId } from '../contract/input-rules';
import { refused } from './model-options';

/** The jobs of a model among all of its namespace: those whose workflow id begins so. */
export interface JobScope {
  prefix: string;
  /** The host has chosen it, so that names of calls begin so too. */
  isGiven: boolean;
}

/** Another one would have every call pay again that is repeated after an update of this package. */
export const DEFAULT_SCOPE: JobScope = { prefix: 'ai-sdk-', isGiven: false };

/** Long names are digests or lists; a prefix is a word or two. */
const LONGEST_SCOPE_CHARS = 100;

export function readScope(given: string | undefined): JobScope {
  if (given === undefined) return DEFAULT_SCOPE;
  if (!isWorkflowId(given) || given.length > LONGEST_SCOPE_CHARS) {
    throw new ConfigError(
      `The option scope must be text of 1 to ${LONGEST_SCOPE_CHARS} characters, such as "shop-".`,
    );
  }
  return { prefix: given, isGiven: true };
}

export const isInScope = ({ prefix }: JobScope, workflowId: string): boolean => workflowId.startsWith(prefix);

/**
 * Refuses names outside the scope. Without a scope of the host any name will do for a call that waits for its video; for one
 * that is asked about later it would not be handed over.
 */
export function checkName(
  scope: JobScope,
  name: string | undefined,
  { isAskedLater }: { isAskedLater: boolean },
): void {
  if (name === undefined || isInScope(scope, name)) return;
  if (scope.isGiven) {
    throw refused(
      `name is ${shown(name)}, and must begin with the scope of videoModel, ${shown(scope.prefix)}`,
    );
  }
  if (isAskedLater) {
    throw refused(
      `name is ${shown(name)}: give videoModel a scope that your names begin with, because nobody may ask for a job outside it`,
    );
  }
}
