import type { WorkflowExecutionDescription } from '@temporalio/client';
import { z } from 'zod';
import { CONTENT_STAGES } from '../contract/failure-details';
import type { JobResult } from '../contract/job';
import { readCost } from '../contract/job-cost';
import { COST_MEMO, LOST_SUBMIT_MEMO, SERVICE_MEMO, TASK_ID_MEMO } from '../contract/names';
import { describeEvent, type VideoFailure } from '../contract/video-failure';

const money = z
  .object({ amount: z.number(), currency: z.string() })
  .meta({ id: 'Money', description: 'An amount in units of a currency, or of what the service counts in.' });

/** What the gateway answers about one video, to clients of the service's interface and of OpenAI's alike. */
export const videoObject = z
  .object({
    id: z.string().describe('The id of the video, the same as task_id.'),
    task_id: z.string().describe("The gateway's own id of the task."),
    object: z.literal('video'),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
    progress: z
      .int()
      .min(0)
      .max(100)
      .describe('Percent, as far as the service says, in steps of a quarter. Events have every change.'),
    model: z.string().describe('What the caller named, or the name of the service.'),
    prompt: z.string().nullable(),
    seconds: z.string().nullable().describe('The length that was asked for.'),
    size: z.string().nullable().describe('Width and height that were asked for, such as 1280x720.'),
    seed: z.int().nullable(),
    created_at: z.int().describe('Seconds since 1970.'),
    completed_at: z.int().nullable(),
    service_task_id: z
      .string()
      .nullable()
      .describe("The service's own id of the task, as soon as it is known."),
    video: z
      .object({
        url: z.string(),
        content_type: z.string(),
        bytes: z.int(),
        sha256: z.string(),
        size: z.string().nullable().describe('Its width and height, such as 1280x720.'),
        seconds: z.number().nullable().describe('Its length.'),
      })
      .nullable(),
    error: z
      .object({
        code: z.string().describe('The type of the failure, such as GenerationFailed.'),
        message: z.string(),
        advice: z.string(),
        param: z.string().optional().describe('The field of the request that was refused, if it is known.'),
        stage: z
          .enum(CONTENT_STAGES)
          .optional()
          .describe('What the content policy of the service refused, if the code is ContentRefused.'),
        charged: z.enum(['yes', 'no', 'unknown']).describe('Whether the service charges for it.'),
      })
      .nullable(),
    cost: z
      .object({
        estimated: money.nullable().describe('By the prices of the profile, before the video is paid for.'),
        charged: money.nullable().describe('What the service says, once the task has ended. It wins.'),
        unknown: z.string().nullable().describe('Why there is no estimate.'),
      })
      .nullable()
      .describe('What the video costs. Null is unknown, and does not mean that it is free.'),
    needs_decision: z
      .object({ since: z.string() })
      .nullable()
      .describe('Set while the answer to the submit is lost and somebody has to decide.'),
    service: z.string().optional().describe('Which service makes it, if services have names.'),
    urls: z.object({ get: z.string(), content: z.string(), cancel: z.string(), events: z.string() }),
  })
  .meta({ id: 'Video' });

export type VideoObject = z.infer<typeof videoObject>;

/** What the caller asked for, in the memo of the workflow: a status read then costs one call to Temporal and no query. */
export const REQUEST_MEMO = 'gatewayRequest';

const askedSchema = z.object({
  model: z.string().optional(),
  prompt: z.string().optional(),
  seconds: z.string().optional(),
  size: z.string().optional(),
  seed: z.int().optional(),
  callback: z.string().optional(),
  /** The reference to an uploaded image, which stays as long as a job that runs has it. */
  image: z.string().optional(),
});

/** Any program with access to the namespace may write a memo. */
export const askedIn = ({ memo }: Pick<WorkflowExecutionDescription, 'memo'>): Asked =>
  askedSchema.safeParse(memo?.[REQUEST_MEMO]).data ?? {};

export type Asked = z.infer<typeof askedSchema>;

/** How a job has ended, read once: it never changes. */
export type Ending =
  | { result: JobResult; failure?: undefined }
  | { failure: VideoFailure; result?: undefined };

/** The video as its caller sees it: without an ending, its job runs. */
export function toVideoObject(
  taskId: string,
  description: WorkflowExecutionDescription,
  ending: Ending | undefined,
  baseUrl: string,
): VideoObject {
  const { memo, startTime, closeTime } = description;
  const { callback: _, image: __, ...asked } = askedIn(description);
  const { result, failure } = ending ?? {};
  const video = result?.video;
  const cost = result?.cost ?? readCost(memo?.[COST_MEMO]);
  const serviceTask = readText(memo?.[TASK_ID_MEMO]);
  const lostSince = readText(memo?.[LOST_SUBMIT_MEMO]);
  const service = readText(memo?.[SERVICE_MEMO]);
  const path = `${baseUrl}/v1/videos/${taskId}`;
  const urls = { get: path, content: `${path}/content`, cancel: path, events: `${path}/events` };
  return {
    id: taskId,
    task_id: taskId,
    object: 'video',
    status: result ? 'completed' : failure ? 'failed' : serviceTask ? 'in_progress' : 'queued',
    progress: result ? 100 : 0,
    model: 'default',
    prompt: null,
    seconds: null,
    size: null,
    seed: null,
    ...asked,
    created_at: secondsOf(startTime),
    completed_at: closeTime === undefined ? null : secondsOf(closeTime),
    service_task_id: serviceTask ?? null,
    video: video
      ? {
          url: urls.content,
          content_type: video.contentType,
          bytes: video.bytes,
          sha256: video.sha256,
          size: video.width && video.height ? `${video.width}x${video.height}` : null,
          seconds: video.durationSeconds ?? null,
        }
      : null,
    cost: cost
      ? { estimated: cost.estimated ?? null, charged: cost.charged ?? null, unknown: cost.unknown ?? null }
      : null,
    error: failure ? errorOf(failure) : null,
    needs_decision: !ending && !serviceTask && lostSince ? { since: lostSince } : null,
    ...(service && { service }),
    urls,
  };
}

const readText = (value: unknown) => (typeof value === 'string' ? value : undefined);

export function errorOf(failure: VideoFailure): NonNullable<VideoObject['error']> {
  const { type, details, advice, charged } = failure;
  const { field, stage } = details;
  return {
    code: type,
    message: describeEvent(type, details),
    advice,
    charged,
    ...(field !== undefined && { param: field }),
    ...(stage !== undefined && { stage }),
  };
}

const secondsOf = (date: Date) => Math.floor(date.getTime() / 1_000);
