import { inShell } from './clean-text';

/** A command about one job or batch, as people may paste it into a shell. */
export function commandOn(command: string, workflowId: string, options = ''): string {
  const name = inShell(workflowId);
  const more = options && ` ${options}`;
  // Without `--`, the name would be read as an option.
  return workflowId.startsWith('-')
    ? `videogen ${command}${more} -- ${name}`
    : `videogen ${command} ${name}${more}`;
}
