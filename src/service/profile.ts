import { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { CONTENT_STAGES } from '../contract/failure-details';
import { TASK_STATES } from '../contract/job';
import { describeIssue } from './describe-issue';
import { chargedSchema, currencyOf, pricesSchema } from './prices';
import { requestPartSchema, requestProblems } from './profile-request';
import type { NamedState } from './reading-rules';

/** A file with more problems is not a profile. */
const MAX_PROBLEMS = 20;
const MAX_PROBLEM_LENGTH = 300;
const MAX_PATH_LENGTH = 2_000;
const MAX_FIELD_LENGTH = 100;

/** undici sets these itself, and sends no request that has one of them. */
const CONNECTION_HEADERS = [
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer'],
  ...['proxy-connection', 'transfer-encoding', 'upgrade'],
];

const text = z
  .string()
  .min(1)
  .meta({ examples: ['a text'] });
const pathText = z
  .string()
  // Checked first: matching a very long path takes seconds.
  .max(MAX_PATH_LENGTH, { error: `must have at most ${MAX_PATH_LENGTH} characters`, abort: true });
const path = pathText
  .regex(/^\/[^\s#]*$/, 'must be a path that begins with /')
  .meta({ description: 'A path at the service.', examples: ['/v1/videos/text-to-video'] });
const pathWith = (name: 'taskId' | 'fileId') =>
  pathText
    .regex(
      new RegExp(`^/[^\\s#]*\\{\\+?${name}\\}[^\\s#]*$`),
      `must be a path that begins with / and contains {${name}}`,
    )
    .meta({
      description: `A path at the service with {${name}} in it, or {+${name}} to keep the slashes of the id.`,
      examples: [name === 'taskId' ? '/v1/videos/{taskId}' : '/v1/files/{fileId}'],
    });
const taskPath = pathWith('taskId');
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: 'must be the name of a header', abort: true })
  .refine((name) => !CONNECTION_HEADERS.includes(name.toLowerCase()), {
    error: ({ input }) => `must not be ${input}, which is set by the connection`,
  })
  .meta({ examples: ['X-Api-Key'] });
const headerValue = z
  .string()
  .regex(
    /^[\t\x20-\x7e\x80-\xff]*$/,
    'must be text that a header can have: Latin-1 without control characters',
  )
  .meta({ examples: ['2026-11-15'] });
const time = z
  .union([z.number(), z.string()])
  .refine((value) => durationMs(value) !== undefined, 'must be milliseconds or a length of time such as "5s"')
  .meta({ description: 'Milliseconds, or a length of time such as "5s".', examples: ['5s'] });

const answerPath = z
  .string()
  .regex(
    /^[^.\s[\]]+(\[\])?(\.[^.\s[\]]+(\[\])?)*$/,
    'must be a path of keys such as data.task_id or videos[].url',
  )
  .meta({
    description: 'Keys joined by dots; [] after a key means every entry of a list.',
    examples: ['data.task_id'],
  });
const answerPaths = z
  .union([answerPath, z.array(answerPath).min(1)])
  .describe('One path, or several in the order in which to try them.');

const status = z
  .int()
  .min(300)
  .max(599)
  .meta({ description: 'An HTTP status.', examples: [429] });
const statuses = z.array(status).meta({ examples: [[422]] });
const serverError = z
  .int()
  .min(500)
  .max(599)
  .meta({ description: 'An HTTP status of a server error.', examples: [503] });
const headers = z.record(headerName, headerValue).meta({ examples: [{ 'X-Version': '2026-11-15' }] });
const words = z
  .array(z.union([z.string(), z.number()]))
  .meta({ description: "The service's own words or numbers.", examples: [['DONE', 3]] });
export const NAMED_STATES = TASK_STATES.filter((state): state is NamedState => state !== 'unknown');

/** A profile has only the parts in which the service differs from the interface. */
export const profileSchema = z
  .strictObject({
    $schema: z.string().optional(),
    name: text
      .meta({ examples: ['Example Video'] })
      .optional()
      .describe('The name of the service in messages.'),
    paths: z
      .strictObject({
        textToVideo: path.optional(),
        imageToVideo: path.optional(),
        task: z
          .union([
            taskPath,
            z
              .strictObject({ textToVideo: taskPath, imageToVideo: taskPath })
              .describe(
                'By the operation that made the task. The ids of tasks from images then begin with image-to-video:.',
              ),
          ])
          .optional()
          .describe('Where the status of a task is polled.'),
      })
      .optional(),
    auth: z
      .strictObject({
        header: headerName.optional().describe('Authorization unless set.'),
        scheme: z
          .string()
          .regex(/^[A-Za-z-]*$/, 'must be a word, or "" for the key alone')
          .optional()
          .describe('Bearer unless set; "" for the key alone.'),
      })
      .optional(),
    idempotencyHeader: z
      .union([headerName, z.null()])
      .optional()
      .describe('Idempotency-Key unless set; null for none.'),
    headers: headers.optional().describe('Sent with every call to the service.'),
    callHeaders: z
      .strictObject({
        textToVideo: headers.optional(),
        imageToVideo: headers.optional(),
        poll: headers.optional(),
        link: headers.optional().describe('The call that gets the link to a video.'),
        cancel: headers.optional(),
      })
      .optional()
      .describe('Sent with the calls of one kind, in addition to headers.'),
    requestFields: z
      .array(text)
      .meta({ examples: [['model']] })
      .optional()
      .describe('Further fields that a request may have.'),
    request: requestPartSchema.optional(),
    read: z
      .strictObject({
        within: answerPaths
          .optional()
          .describe('Objects that may contain the task, besides the whole answer.'),
        taskId: answerPaths.optional(),
        state: answerPaths.optional(),
        progress: answerPaths.optional(),
        video: answerPaths.optional().describe('Where the link to the video is.'),
        code: answerPaths.optional().describe("Where the service's error code is."),
        message: answerPaths.optional().describe("Where the service's error message is."),
        charged: chargedSchema(answerPaths)
          .optional()
          .describe('Where the answer to the poll of an ended task says what it cost.'),
      })
      .optional()
      .describe('Where each value is in the answers. Replaces the default paths of that value.'),
    states: z
      .strictObject(
        Object.fromEntries(NAMED_STATES.map((state) => [state, words.optional()])) as Record<
          NamedState,
          z.ZodOptional<typeof words>
        >,
      )
      .optional()
      .describe("What the service's words or numbers mean, in addition to the default ones."),
    refusals: z
      .strictObject({
        limited: z
          .array(
            z.strictObject({
              status,
              says: text.optional().describe('Only when the answer contains this text.'),
            }),
          )
          .optional()
          .describe('Answers that mean the same as 429: too many requests or too many tasks at once.'),
        codes: z
          .record(text, status)
          .optional()
          .describe('Error codes of answers with HTTP 200, and the HTTP status that each stands for.'),
        taskMayExist: statuses
          .optional()
          .describe(
            'Error answers to a submit after which a task may still exist: they count as lost submits and are not retried.',
          ),
        noTask: z
          .array(serverError)
          .optional()
          .describe(
            "Server errors to a submit after which certainly no task exists: the submit is retried, and the next of a job's services may be tried.",
          ),
        failed: statuses
          .optional()
          .describe(
            'Error answers to a poll, or to the call for the link, that mean that the task has failed.',
          ),
        content: z
          .array(
            z
              .strictObject({
                codes: words
                  .min(1)
                  .optional()
                  .describe("The service's error codes. One that ends with * stands for all that begin so."),
                states: words
                  .min(1)
                  .optional()
                  .describe("The service's words or numbers for the state of a task."),
                says: text.optional().describe('A text in the message, in small or capital letters.'),
                stage: z.enum(CONTENT_STAGES).optional().describe('What was refused.'),
                field: text
                  .max(MAX_FIELD_LENGTH)
                  .optional()
                  .describe('The field of the request that was refused.'),
                charged: z.boolean().optional().describe('Whether the service charges for it.'),
              })
              .refine(({ codes, states, says }) => (codes ?? states ?? says) !== undefined, {
                error: 'must have codes, states or says',
              }),
          )
          .optional()
          .describe(
            'Answers that mean that the content policy refused something, in addition to the default ones. An answer must have all that an entry names.',
          ),
      })
      .refine(
        ({ taskMayExist = [], noTask = [] }) => !noTask.some((status) => taskMayExist.includes(status)),
        {
          error: 'taskMayExist and noTask must not have the same status',
        },
      )
      .optional(),
    video: z
      .union([
        z.strictObject({ path: taskPath }).describe('The video itself is at this path.'),
        z
          .strictObject({
            id: answerPaths.describe('Where the answer to the poll has the id of the file.'),
            path: pathWith('fileId'),
            link: answerPaths.describe('Where the answer to that call has the link.'),
          })
          .describe('One more call gets the link, with the id of a file in the answer to the poll.'),
      ])
      .optional()
      .describe('For services whose answer to a poll has no link.'),
    cancel: z
      .strictObject({ method: z.enum(['POST', 'PUT', 'DELETE']), path: taskPath })
      .meta({ examples: [{ method: 'DELETE', path: '/v1/videos/{taskId}' }] })
      .optional()
      .describe('How to cancel a task.'),
    polling: z
      .strictObject({
        min: time.optional(),
        max: time.optional(),
        usually: z
          .strictObject({
            median: time.describe('Half of the tasks are ready by then.'),
            slow: time.describe('95 in a hundred are.'),
          })
          .refine(({ median, slow }) => (durationMs(median) ?? 0) <= (durationMs(slow) ?? 0), {
            error: 'must have a median that is not longer than slow',
          })
          .optional()
          .describe('How long tasks take, until the worker has learned it from its own.'),
      })
      .optional()
      .describe('When tasks are polled, for jobs that do not say it.'),
    prices: pricesSchema.optional(),
  })
  .refine(
    ({ read, prices }) => read?.charged === undefined || currencyOf(read.charged, prices) !== undefined,
    {
      path: ['read', 'charged'],
      error: 'needs a currency: set read.charged.currency, or prices.currency',
    },
  )
  .superRefine(({ request, requestFields }, { addIssue }) => {
    if (request === undefined) return;
    for (const { path, problem } of requestProblems(request, requestFields)) {
      addIssue({ code: 'custom', path, message: problem });
    }
  })
  .describe('How one video service differs from the interface that temporal-videogen expects.');

/** How a service differs from the interface: its paths, fields, headers and words. */
export type ServiceProfile = z.input<typeof profileSchema>;

export type ParsedProfile = { ok: true; profile: ServiceProfile } | { ok: false; problem: string };

/** The profile, or one line that lists every problem with the path of its field. */
export function parseProfile(given: unknown): ParsedProfile {
  const hidden = pathOfProto(given);
  if (hidden !== undefined)
    return { ok: false, problem: cleanText(`${hidden} is not known`, MAX_PROBLEM_LENGTH) };
  const parsed = profileSchema.safeParse(given);
  if (parsed.success) return { ok: true, profile: parsed.data };
  const problems = parsed.error.issues.flatMap((issue) => describeIssue(issue, { schema: profileSchema }));
  const more = problems.splice(MAX_PROBLEMS).length;
  const list = problems.map((problem) => cleanText(problem, MAX_PROBLEM_LENGTH)).join('; ');
  return { ok: false, problem: list + (more > 0 ? `; and ${more} more` : '') };
}

/** The path of a key `__proto__`. zod leaves such a key of a record out without a word. */
export function pathOfProto(given: unknown): string | undefined {
  // YAML can name one part in many places: each is looked at once.
  const seen = new Set<unknown>();
  const find = (value: unknown, path: readonly string[]): string | undefined => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return undefined;
    seen.add(value);
    if (Object.hasOwn(value, '__proto__')) return [...path, '__proto__'].join('.');
    for (const [key, part] of Object.entries(value)) {
      const found = find(part, [...path, key]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(given, []);
}

/** The JSON Schema of a profile, for editors. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: 'input' });
}
