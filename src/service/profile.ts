import { z } from 'zod';
import { cleanText } from '../contract/clean-text';
import { durationMs } from '../contract/duration';
import { TASK_STATES } from '../contract/job';
import { type AnswerPaths, DEFAULT_PATHS } from './answer-paths';
import type { ReadingRules } from './read-answer';
import { foldWord, type NamedState, stateOfWord } from './state-words';

/** More than this is not a profile with mistakes in it. */
const MOST_PROBLEMS = 20;
const LONGEST_PROBLEM = 300;
const LONGEST_PATH = 2_000;

/** What undici or the connection sets by itself: with one of them no call is sent. */
const CONNECTION_HEADERS = [
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer'],
  ...['proxy-connection', 'transfer-encoding', 'upgrade'],
];

const text = z.string().min(1);
const pathText = z
  .string()
  // Before it is matched, which takes seconds for a very long one.
  .max(LONGEST_PATH, { error: `must have at most ${LONGEST_PATH} characters`, abort: true });
const path = pathText
  .regex(/^\/[^\s#]*$/, 'must be a path that begins with /')
  .describe('A path at the service.');
const pathWith = (name: 'taskId' | 'fileId') =>
  pathText
    .regex(
      new RegExp(`^/[^\\s#]*\\{${name}\\}[^\\s#]*$`),
      `must be a path that begins with / and holds {${name}}`,
    )
    .describe(`A path at the service with {${name}} in it.`);
const taskPath = pathWith('taskId');
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: 'must be the name of a header', abort: true })
  .refine((name) => !CONNECTION_HEADERS.includes(name.toLowerCase()), {
    error: ({ input }) => `must not be ${input}, which is set by the connection`,
  });
const headerValue = z
  .string()
  .regex(
    /^[\t\x20-\x7e\x80-\xff]*$/,
    'must be text that a header can hold: Latin-1 without control characters',
  );
const time = z
  .union([z.number(), z.string()])
  .refine((value) => durationMs(value) !== undefined, 'must be milliseconds or a length of time such as "5s"')
  .describe('Milliseconds, or a length of time such as "5s".');

const place = z
  .string()
  .regex(
    /^[^.\s[\]]+(\[\])?(\.[^.\s[\]]+(\[\])?)*$/,
    'must be a path of keys such as data.task_id or videos[].url',
  )
  .describe('A path of keys; [] after a key means every entry of a list.');
const places = z
  .union([place, z.array(place).min(1)])
  .describe('One place, or several in the order to look.');

const status = z.int().min(300).max(599).describe('An HTTP status.');
const words = z.array(z.union([z.string(), z.number()])).describe("The service's own words or numbers.");
const NAMED_STATES = TASK_STATES.filter((state): state is NamedState => state !== 'unknown');

/** What a profile may say: each part only where the service differs from the interface. */
export const profileSchema = z
  .strictObject({
    $schema: z.string().optional(),
    name: text.optional().describe('What messages call it.'),
    paths: z
      .strictObject({
        textToVideo: path.optional(),
        imageToVideo: path.optional(),
        task: taskPath.optional().describe('Where the status of a task is read.'),
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
    headers: z.record(headerName, headerValue).optional().describe('Sent with every call to the service.'),
    requestFields: z.array(text).optional().describe('Further fields that a request may have.'),
    read: z
      .strictObject({
        within: places.optional().describe('Objects that may hold the task, besides the whole answer.'),
        taskId: places.optional(),
        state: places.optional(),
        progress: places.optional(),
        video: places.optional().describe('Where the link to the video is.'),
        code: places.optional().describe("Where the service's error code is."),
        message: places.optional().describe("Where the service's error message is."),
      })
      .optional()
      .describe('Where things are in the answers, in place of where they are usually looked for.'),
    states: z
      .strictObject(
        Object.fromEntries(NAMED_STATES.map((state) => [state, words.optional()])) as Record<
          NamedState,
          z.ZodOptional<typeof words>
        >,
      )
      .optional()
      .describe('What the words or numbers of the service mean, besides the usual ones.'),
    refusals: z
      .strictObject({
        limited: z
          .array(
            z.strictObject({
              status,
              says: text.optional().describe('Only when the answer holds this text.'),
            }),
          )
          .optional()
          .describe('Answers that mean what 429 means: too many requests, or too many tasks, at once.'),
        codes: z
          .record(text, status)
          .optional()
          .describe('Codes that a refusal under HTTP 200 has, and the HTTP status that each stands for.'),
        taskMayExist: z
          .array(status)
          .optional()
          .describe(
            'Answers to a submit after which a task may exist all the same: they are lost submits, and not tried again blindly.',
          ),
        failed: z
          .array(status)
          .optional()
          .describe('Answers to the status call which mean that the task has failed for good.'),
      })
      .optional(),
    video: z
      .union([
        z.strictObject({ path: taskPath }).describe('The video itself is at this path.'),
        z
          .strictObject({
            id: places.describe('Where the status answer names the file.'),
            path: pathWith('fileId'),
            link: places.describe('Where the answer to that call holds the link.'),
          })
          .describe('The link is had by one more call, with an id that the status answer names.'),
      ])
      .optional()
      .describe('For services whose status answer holds no link.'),
    cancel: z
      .strictObject({ method: z.enum(['POST', 'PUT', 'DELETE']), path: taskPath })
      .optional()
      .describe('How to cancel a task.'),
    polling: z
      .strictObject({ min: time.optional(), max: time.optional() })
      .optional()
      .describe('Bounds of the pause between two looks, for jobs that do not set them.'),
  })
  .describe('How one video service differs from the interface that temporal-videogen expects.');

export type ServiceProfile = z.input<typeof profileSchema>;

export type ParsedProfile = { ok: true; profile: ServiceProfile } | { ok: false; problem: string };

/** The profile, or one sentence that names every mistake by its path. */
export function parseProfile(given: unknown): ParsedProfile {
  const parsed = profileSchema.safeParse(given);
  if (parsed.success) return { ok: true, profile: parsed.data };
  const problems = parsed.error.issues.flatMap((issue) => describe(issue));
  const more = problems.splice(MOST_PROBLEMS).length;
  const told = problems.map((problem) => cleanText(problem, LONGEST_PROBLEM)).join('; ');
  return { ok: false, problem: told + (more > 0 ? `; and ${more} more` : '') };
}

function describe(issue: z.core.$ZodIssue): string[] {
  const at = issue.path.join('.') || 'the profile';
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => `${issue.path.concat(key).join('.')} is not known`);
    case 'invalid_type':
      return [`${at} must be of type ${issue.expected}`];
    case 'invalid_union': {
      // The alternative that comes closest says most.
      const depth = (issues: z.core.$ZodIssue[]) => issues[0]?.path.length ?? 0;
      const [closest] = [...issue.errors].sort((a, b) => a.length - b.length || depth(b) - depth(a));
      const inner = (closest ?? []).map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
      return inner.length > 0
        ? inner.flatMap((one) => describe(one as z.core.$ZodIssue))
        : [`${at} is not understood`];
    }
    case 'invalid_key':
      return issue.issues.map(({ message }) => `${at} ${message}`);
    case 'invalid_value':
      return [`${at} must be one of ${issue.values.join(', ')}`];
    default:
      return [`${at} ${issue.message}`];
  }
}

/** For editors: what a profile may hold, as JSON Schema. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: 'input' });
}

/** How answers are read with a profile. */
export function readingRules({ read = {}, states = {} }: ServiceProfile): ReadingRules {
  const own = (given: string | string[] | undefined, usual: readonly string[]) =>
    given === undefined ? usual : [given].flat();
  const { code, message } = read;
  const chosen: AnswerPaths = {
    ...DEFAULT_PATHS,
    within: own(read.within, DEFAULT_PATHS.within),
    taskId: own(read.taskId, DEFAULT_PATHS.taskId),
    // What a profile names as the task's id is that, whatever stands beside it.
    ...(read.taskId !== undefined && { vagueIds: [], callIds: [] }),
    state: own(read.state, DEFAULT_PATHS.state),
    percent: own(read.progress, DEFAULT_PATHS.percent),
    videoUrl: own(read.video, DEFAULT_PATHS.videoUrl),
    code: own(code, DEFAULT_PATHS.code),
    message: message === undefined ? DEFAULT_PATHS.message : [message].flat().map((at) => ({ at })),
  };
  const meanings = new Map(
    NAMED_STATES.flatMap((state) =>
      (states[state] ?? []).map((word) => [foldWord(String(word)), state] as const),
    ),
  );
  return { places: chosen, stateOf: (word) => meanings.get(foldWord(word)) ?? stateOfWord(word) };
}
