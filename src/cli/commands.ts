import { resolve } from 'node:path';
import { inShell } from '../contract';

/** The command that goes on with a job. */
export function jobCommand(workflowId: string): string {
  return `videogen generate --id ${inShell(workflowId)}`;
}

/** The command that goes on with a batch. */
export function batchCommand(file: string, id: string | undefined): string {
  // As it stands it would be read as an option.
  const path = file.startsWith('-') ? `./${file}` : file;
  return `videogen batch ${inShell(path)}${id === undefined ? '' : ` --id ${inShell(id)}`}`;
}

/** The command that shows everything of a data folder in the Temporal UI. */
export function devCommand(dataFolder: string | undefined): string {
  return dataFolder ? `VIDEOGEN_DATA=${inShell(resolve(dataFolder))} videogen dev` : 'videogen dev';
}
