import { findWorkflow } from '../client/job-overview';
import { recentNames } from '../client/list-jobs';
import { ConfigError } from '../config/service-config';
import { type JobOverview, shown } from '../contract';
import { editDistance } from '../contract/edit-distance';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import { describeOtherType } from '../contract/job-identity';
import { WORKFLOW_TYPE } from '../contract/names';
import { NoSuchJob } from './no-such-job';
import type { JobsSession } from './open-jobs';

/** A job, a batch, or one item of a batch. */
export interface FoundJob {
  /** Of the batch, for an item. */
  overview: JobOverview;
  item?: number;
}

/** So many names are compared with a mistyped one. */
const MOST_NAMES = 500;
const MOST_SUGGESTIONS = 3;
/** Comparing longer names would take seconds. */
const LONGEST_COMPARED_CHARS = 100;

/** Finds a job or a batch by its name, or an item of a batch by `<batch>-<number>`. */
export async function findJob({ client }: JobsSession, workflowId: string): Promise<FoundJob> {
  checkName(workflowId);
  const found = await findWorkflow(client, workflowId);
  if (found && 'overview' in found) return found;
  if (found) throw new ConfigError(describeOther(workflowId, found));
  const [, batch, item] = /^(.+)-([1-9]\d{0,8})$/s.exec(workflowId) ?? [];
  const batchFound = batch === undefined ? undefined : await findWorkflow(client, batch);
  if (batchFound && 'overview' in batchFound && batchFound.overview.kind === 'batch') {
    const { counts } = batchFound.overview;
    if (counts && Number(item) > counts.items) {
      throw new ConfigError(
        `The batch ${shown(batch ?? '')} has ${counts.items} items, and no item ${item}.`,
      );
    }
    return { ...batchFound, item: Number(item) };
  }
  const names = await recentNames(client, MOST_NAMES).catch(() => []);
  throw new NoSuchJob(workflowId, similarNames(workflowId, names));
}

/** The same for commands that do nothing with a single item. */
export async function findWhole(session: JobsSession, workflowId: string): Promise<JobOverview> {
  const { overview, item } = await findJob(session, workflowId);
  if (item === undefined) return overview;
  throw new ConfigError(
    `${shown(workflowId)} is item ${item} of the batch ${shown(overview.workflowId)}: name the batch.`,
  );
}

export function checkName(workflowId: string): void {
  if (!isWorkflowId(workflowId)) throw new ConfigError(`The name of a job ${WORKFLOW_ID_RULE}.`);
}

function describeOther(
  workflowId: string,
  { otherType, children }: { otherType: string; children: string[] },
): string {
  const what = describeOtherType(workflowId, otherType, WORKFLOW_TYPE);
  const few = children.slice(0, MOST_SUGGESTIONS).map(shown).join(', ');
  return children.length === 0 ? `${what}` : `${what} Video jobs that it waits for: ${few}.`;
}

/** The names that a mistyped one may stand for, the most similar first. */
export function similarNames(given: string, names: readonly string[]): string[] {
  if (given.length > LONGEST_COMPARED_CHARS) return [];
  const word = given.toLowerCase();
  const mostTypos = Math.max(1, Math.min(3, Math.floor(word.length / 3)));
  return names
    .map((name) => ({ name, typos: typosIn(name.toLowerCase(), word, mostTypos) }))
    .filter(({ typos }) => typos <= mostTypos)
    .sort((a, b) => a.typos - b.typos)
    .slice(0, MOST_SUGGESTIONS)
    .map(({ name }) => name);
}

/** The beginning of a name counts as one typo: long names are seldom typed to the end. */
function typosIn(name: string, word: string, most: number): number {
  if (word.length >= 3 && name.startsWith(word)) return 1;
  return editDistance(name, word, most);
}
