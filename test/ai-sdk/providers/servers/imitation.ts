import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { CONTENT_STAGES, type ContentStage } from '../../../../src/contract/failure-details';
import { RESOLUTIONS, type VideoRequest } from '../../../../src/contract/request';
import type { TaskFailure } from '../../../../src/testing/task-store';

/** One call, as a service reads it. */
export interface ServiceCall {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** An answer of a service: no body where its body is empty. */
export interface Reply {
  status: number;
  body?: unknown;
  headers?: OutgoingHttpHeaders;
}

/** Why a service refuses a call. */
export type Reason =
  | 'wrong-key'
  | 'no-such-path'
  | 'no-such-task'
  | 'wrong-body'
  | 'rate-limited'
  | 'server-error';

export interface Refusal {
  reason: Reason;
  /** The status of a scripted refusal, which replaces the usual one. */
  status?: number;
  message?: string;
  /** The id of a task that nobody knows. */
  id?: string;
  retryAfterSeconds?: number;
}

/** A task, as its service describes it. */
export type DescribedTask = { id: string; origin: string; submittedAtMs: number; request: VideoRequest } & (
  | { state: 'queued' | 'running'; percent: number }
  | { state: 'succeeded'; videoUrl: string; video: Buffer }
  | { state: 'failed'; error: TaskFailure }
);

/** What a call is for, by its method, path and body. */
export type Route = { call: 'submit' } | { call: 'status'; id: string };

/** What a service understands of the body of a submit. */
export type Understood = { request: VideoRequest } | { problem: string };

export type PolicyAnswer = { at: 'submit'; reply: Reply } | { at: 'task'; failure: TaskFailure };

/**
 * A service that a package of the AI SDK calls: its own paths, keys, bodies, answers and errors, as its documentation and
 * the schemas of the package have them.
 */
export interface Imitation {
  /** Where the API begins, as the base URL of the package has it. */
  basePath: string;
  route(call: ServiceCall): Route | undefined;
  /** The key that a call brings. */
  keyOf(call: ServiceCall): string | undefined;
  understand(call: ServiceCall): Understood;
  /** The id of a task in answers and paths. */
  idOf(taskId: string): string;
  accepted(task: DescribedTask): Reply;
  status(task: DescribedTask): Reply;
  refused(refusal: Refusal): Reply;
  /** How its content policy refuses: with the answer to the submit, or by the failure of the task. */
  policy: Partial<Record<ContentStage, PolicyAnswer>>;
  /** What a link answers that is no longer valid. */
  expiredLink: { status: number; contentType: string; body: string };
  /** The path of a link to a video. The key is asked for only there where the service does. */
  linkPath(token: string): string;
  linkNeedsKey?: boolean;
}

export const text = z.string().min(1);

/** A body that is understood, or its first problem. */
export function understand<T>(
  schema: z.ZodType<T>,
  body: unknown,
  toRequest: (body: T) => VideoRequest,
): Understood {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { request: withoutUndefined(toRequest(parsed.data)) };
  return { problem: z.prettifyError(parsed.error) };
}

function withoutUndefined(request: VideoRequest): VideoRequest {
  return JSON.parse(JSON.stringify(request));
}

export const bearerKey = ({ headers }: ServiceCall) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];

const uuidOf = (taskId: string) => taskId.replace(/^task_/, '');
const hexOf = (taskId: string) => uuidOf(taskId).replaceAll('-', '');
export const ids = { uuidOf, hexOf };

export const toSeconds = (ms: number) => Math.floor(ms / 1_000);

/** What object stores answer to a signed link whose time is over. */
export const EXPIRED_SIGNATURE: Imitation['expiredLink'] = {
  status: 403,
  contentType: 'application/xml',
  body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Request has expired.</Message></Error>',
};

/** What the content policy of a service can refuse. */
export const stagesOf = ({ policy }: Imitation): ContentStage[] =>
  CONTENT_STAGES.filter((stage) => policy[stage] !== undefined);

/** The resolution behind a size such as 1280x720: its shorter side. */
export function resolutionOf(size: string | undefined): VideoRequest['resolution'] {
  const [, width, height] = /^(\d+)[x*](\d+)$/.exec(size ?? '') ?? [];
  const shorter = `${Math.min(Number(width), Number(height))}p`;
  return RESOLUTIONS.find((one) => one === shorter);
}
