/** What a module of workflows exports; of that, functions are workflows. */
export type WorkflowModule = Record<string, unknown>;

export const isWorkflow = (exported: unknown) => typeof exported === 'function';

/**
 * A host's workflows and ours in one module. The host's exports are taken as they are, with a `default` that answers for
 * every other name; of ours the workflows alone, so that a host may call its own messages what ours are called.
 */
export function combine(host: WorkflowModule, ours: WorkflowModule): WorkflowModule {
  const workflows = Object.entries(ours).filter(([, exported]) => isWorkflow(exported));
  const taken = workflows.find(([name, own]) => isWorkflow(host[name]) && host[name] !== own);
  if (taken) throw new NameTaken(describeTaken('workflow', taken[0]));
  return { ...host, ...Object.fromEntries(workflows) };
}

/** The sentence for a name that a host and this package both have. */
export function describeTaken(kind: 'workflow' | 'activity', name: string): string {
  return `The ${kind} ${name} is your worker's own and one of temporal-videogen: rename or remove your own.`;
}

export class NameTaken extends Error {
  override readonly name = 'NameTaken';
}
