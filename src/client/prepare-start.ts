import { createHash, randomUUID } from 'node:crypto';
import type { WorkflowStartOptions } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { BatchInput } from '../contract/batch';
import { cleanText } from '../contract/clean-text';
import { isWorkflowId, WORKFLOW_ID_RULE } from '../contract/input-rules';
import type { VideoInput } from '../contract/job';
import { identityOf } from '../contract/job-identity';
import { parseBatchInput, parseJobInput } from '../contract/job-input';
import {
  BATCH_WORKFLOW_TYPE,
  FALLBACK_WORKFLOW_TYPE,
  firstSearchAttributes,
  IDENTITY_MEMO,
  SERVICE_MEMO,
  WORKFLOW_TYPE,
} from '../contract/names';
import { type KnownServices, pinChoice, servicesOf } from '../contract/service-choice';
import {
  describeJob,
  LONGEST_PROMPT_CHARS,
  LONGEST_SUMMARY_CHARS,
  redacted,
  staticJobDetails,
} from '../contract/summaries';
import { VideoFailure } from '../contract/video-failure';
import { batchRestartPolicy, jobRestartPolicy, type PreparedStart } from './start-or-join';

type TemporalOptions = Partial<WorkflowStartOptions>;

/** Options for the start of one job or batch. */
export interface StartOptions {
  /**
   * The workflow id, a random one by default. The same request with the same id joins the job, running or ended; another
   * request with that id is refused.
   */
  workflowId?: string;
  /** Start options of Temporal's, such as `priority` or `memo`. */
  temporal?: TemporalOptions;
}

/** With what all starts of a client or a Nexus handler have in common. */
interface StartSettings extends StartOptions {
  requestFields?: readonly string[];
  /** The services of the workers, if they are known. */
  services?: KnownServices | undefined;
  /** Whether the job gets search attributes at its start. */
  searchAttributes?: boolean;
  /** Whether the task id stays out of them, because the job's payloads are encrypted and they are not. */
  hidesTaskId?: boolean;
}

/** Parses a job and builds its start; throws InvalidRequest for input that breaks a rule. */
export function prepareJob(given: unknown, settings: StartSettings = {}): PreparedStart<VideoInput> {
  const pinned = pinService(given, settings);
  const parsed = parseJobInput(given, pinned.requestFields);
  if (!parsed.ok) throw refused(parsed.problem);
  const { services: _, ...one } = pinned.choice;
  const input: VideoInput = parsed.input.services ? parsed.input : { ...parsed.input, ...one };
  const identity = identityOf(input);
  const { workflowId = `video-${randomUUID()}`, temporal, searchAttributes } = settings;
  return {
    type: input.services ? FALLBACK_WORKFLOW_TYPE : WORKFLOW_TYPE,
    identity,
    options: {
      staticSummary: describeJob(input),
      staticDetails: staticJobDetails(input),
      ...commonOptions(workflowId, { ...pinned.memo, [IDENTITY_MEMO]: identity }, temporal),
      ...(searchAttributes && { typedSearchAttributes: withOwnAttributes(input, settings) }),
      args: [input],
    },
    restartPolicy: jobRestartPolicy,
  };
}

/** The same for a batch, which has no search attributes. */
export function prepareBatch(given: unknown, settings: StartSettings = {}): PreparedStart<BatchInput> {
  const pinned = pinService(given, settings);
  const parsed = parseBatchInput(given, pinned.requestFields);
  if (!parsed.ok) throw refused(parsed.problem);
  const input: BatchInput = { ...parsed.input, ...pinned.choice };
  const identity = batchIdentity(input);
  const { workflowId = `batch-${randomUUID()}`, temporal } = settings;
  return {
    type: BATCH_WORKFLOW_TYPE,
    identity,
    options: {
      staticSummary: describeBatch(input),
      ...commonOptions(workflowId, { ...pinned.memo, [IDENTITY_MEMO]: identity }, temporal),
      args: [input],
    },
    restartPolicy: batchRestartPolicy,
  };
}

/** The service, which the job keeps. Throws InvalidRequest for a name that nobody knows. */
function pinService(given: unknown, { services, requestFields }: StartSettings) {
  const { choice, known } = pinChoice(Object(given), services, refused);
  // Says that workers have the service: see SERVICE_MEMO.
  const memo = known && { [SERVICE_MEMO]: servicesOf(choice)[0] };
  return { choice, requestFields: known?.requestFields ?? requestFields, memo };
}

const refused = (message: string) => new VideoFailure('InvalidRequest', { message });

/** Throws InvalidRequest for a workflow id that Temporal or the storage could not take. */
export function parseWorkflowId(given: unknown): string {
  if (isWorkflowId(given)) return given;
  throw refused(`workflowId ${WORKFLOW_ID_RULE}`);
}

/** The memo holds the identity, so that a later start under the same workflow id can be compared with it. */
function commonOptions(workflowId: string, memo: Record<string, unknown>, temporal: TemporalOptions = {}) {
  return {
    ...temporal,
    memo: { ...temporal.memo, ...memo },
    workflowIdConflictPolicy: 'FAIL',
    workflowId: parseWorkflowId(workflowId),
  } satisfies TemporalOptions;
}

/** The job's first search attributes and the caller's; a value of the caller's wins. */
function withOwnAttributes(
  input: VideoInput,
  { temporal, hidesTaskId }: StartSettings,
): TypedSearchAttributes {
  const given = temporal?.typedSearchAttributes ?? [];
  // Temporal cannot encrypt search attributes.
  const shown = firstSearchAttributes(input).filter(({ key }) => !hidesTaskId || key.name !== 'VideoTaskId');
  return new TypedSearchAttributes(shown).updateCopy(Array.isArray(given) ? given : given.getAll());
}

/** A digest, because a memo cannot hold thousands of requests. */
function batchIdentity({ requests, requestsFrom }: BatchInput): object {
  if (requests === undefined) return { requestsFrom };
  return { requests: createHash('sha256').update(JSON.stringify(requests)).digest('hex').slice(0, 16) };
}

/** A batch in one line: `batch of 12, the first: "A red fox"`, or the key of its requests. */
export function describeBatch({ requests, requestsFrom }: BatchInput): string {
  if (requests === undefined) return cleanText(`batch of ${requestsFrom}`, LONGEST_SUMMARY_CHARS);
  const [first] = requests;
  return cleanText(
    `batch of ${requests.length}, the first: "${redacted(first?.prompt, LONGEST_PROMPT_CHARS)}"`,
    LONGEST_SUMMARY_CHARS,
  );
}
