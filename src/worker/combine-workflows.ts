/** The exports of a module of workflows. Those that are functions are workflows. */
export type WorkflowModule = Record<string, unknown>;

export const isWorkflow = (exported: unknown) => typeof exported === 'function';

/**
 * A host's workflows and ours in one module. The host keeps all its exports, also a `default` that answers for every other
 * name. Of ours only the workflows are added, so that the host's messages may have the names of ours.
 */
export function combine(host: WorkflowModule, ours: WorkflowModule): WorkflowModule {
  const workflows = Object.entries(ours).filter(([, exported]) => isWorkflow(exported));
  const taken = workflows.find(([name, own]) => isWorkflow(host[name]) && host[name] !== own);
  if (taken) throw new WorkflowNameTaken(describeTaken('workflow', taken[0]));
  return { ...host, ...Object.fromEntries(workflows) };
}

export function describeTaken(kind: 'workflow' | 'activity', name: string): string {
  return `Your worker and temporal-videogen both have the ${kind} ${name}: rename or remove your own.`;
}

/** Crosses the border of the sandbox by its name. */
export class WorkflowNameTaken extends Error {
  override readonly name = 'WorkflowNameTaken';
}
