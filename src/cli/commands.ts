import { resolve } from 'node:path';
import { inShell } from '../contract/clean-text';

/** The command that follows a job. */
export function jobCommand(workflowId: string): string {
  return `videogen generate --id ${inShell(workflowId)}`;
}

/** The command that continues a batch. */
export function batchCommand(file: string, id: string | undefined): string {
  // Otherwise it would be parsed as an option.
  const path = file.startsWith('-') ? `./${file}` : file;
  return `videogen batch ${inShell(path)}${id === undefined ? '' : ` --id ${inShell(id)}`}`;
}

/** The command that opens the Temporal UI for a data folder. */
export function devCommand(dataFolder: string | undefined): string {
  return dataFolder ? `VIDEOGEN_DATA=${inShell(resolve(dataFolder))} videogen dev` : 'videogen dev';
}
