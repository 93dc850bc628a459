import { cleanText } from '../contract/clean-text';

/**
 * Everything that a span may say. It has no place for prompts, links, keys, signatures or sentences of a service: those are in
 * the log and in Temporal, redacted.
 */
export interface SpanFacts {
  workflowId?: string;
  runId?: string;
  activityId?: string;
  taskId?: string;
  attempt?: number;
  httpStatus?: number;
  bytes?: number;
  state?: string;
  polls?: number;
  outcome?: string;
  failureType?: string;
  method?: string;
  route?: string;
  requestId?: string;
}

/** The first three are those of the SDK's own interceptors, those of HTTP OpenTelemetry's. */
export const ATTRIBUTES: Readonly<Record<keyof SpanFacts, string>> = {
  workflowId: 'temporalWorkflowId',
  runId: 'run_id',
  activityId: 'temporalActivityId',
  taskId: 'videogen.task_id',
  attempt: 'videogen.attempt',
  httpStatus: 'http.response.status_code',
  bytes: 'videogen.bytes',
  state: 'videogen.state',
  polls: 'videogen.polls',
  outcome: 'videogen.outcome',
  failureType: 'videogen.failure_type',
  method: 'http.request.method',
  route: 'http.route',
  requestId: 'videogen.request_id',
};

/** Temporal's limit for an id. */
const LONGEST_VALUE_CHARS = 1_000;

export function attributesOf(facts: SpanFacts): Record<string, string | number> {
  const attributes: Record<string, string | number> = {};
  for (const [fact, name] of Object.entries(ATTRIBUTES)) {
    const value = facts[fact as keyof SpanFacts];
    if (value === undefined) continue;
    attributes[name] = typeof value === 'number' ? value : cleanText(value, LONGEST_VALUE_CHARS);
  }
  return attributes;
}
