import { z } from 'zod';
import { durationMs } from '../contract/duration';
import { CONTENT_STAGES } from '../contract/failure-details';
import {
  amount,
  answerPaths,
  currency,
  filePath,
  headerName,
  headers,
  listOf,
  oneOf,
  optionalOf,
  partOf,
  positiveNumber,
  requestPlace,
  requestValue,
  scheme,
  serverError,
  servicePath,
  status,
  taskPath,
  text,
  time,
  words,
} from './profile-forms';

/** What a profile is: only the parts in which a service differs from the interface. Each part is optional. */

/** What `as` replaces by the value. */
export const VALUE_MARK = '{value}';
/** No video is longer than a day. A ledger of caps takes no number of any size. */
const LONGEST_SECONDS = 86_400;

const field = optionalOf({
  to: z
    .union([requestPlace, z.null()])
    .describe(
      'Where the value goes (default: its own name). null: the service does not accept the field, and a request that has it is refused.',
    ),
  with: listOf(text('aspect_ratio'), ['aspect_ratio']).describe(
    'Further fields that go into the same value. values has a row for each combination: the values of the fields that a request has, in this order, with a blank between them.',
  ),
  values: z
    .record(z.string(), requestValue, 'must be an object such as {"720p":"hd"}')
    .describe("The service's own word for each value. A value without a row is refused."),
  as: text(`${VALUE_MARK}s`)
    .refine((given) => given.includes(VALUE_MARK), `must contain ${VALUE_MARK}`)
    .describe(`A text with the value in place of ${VALUE_MARK}: "${VALUE_MARK}s" for 5s.`),
  default: requestValue.describe("Sent when a request has none of the fields, in the service's own words."),
})
  .refine(
    ({ with: more, values }) => more === undefined || values !== undefined,
    'must have values, because it has with',
  )
  .refine(({ values, as }) => values === undefined || as === undefined, 'must have values or as, not both')
  .refine(
    ({ to, ...others }) => to !== null || Object.keys(others).length === 0,
    'must have nothing but to: null',
  );

const ofOperation = {
  within: requestPlace.describe('The object that holds the fields which have no place of their own.'),
  fields: z
    .record(text('prompt'), field, 'must be an object such as {"prompt":{"to":"input.text"}}')
    .describe('How each field of a request is sent. Fields that are not named here keep their names.'),
  constants: z
    .record(requestPlace, requestValue, 'must be an object such as {"input.enhance":true}')
    .describe('What every request has besides its fields, by its place.'),
};

const request = optionalOf({
  ...ofOperation,
  textToVideo: optionalOf(ofOperation).describe('What differs for requests without an image.'),
  imageToVideo: optionalOf(ofOperation).describe('What differs for requests with an image.'),
}).describe("How the service words its requests. Callers always write the interface's fields.");

const read = optionalOf({
  within: answerPaths.describe('Objects that may contain the task, besides the whole answer.'),
  taskId: answerPaths,
  state: answerPaths,
  progress: answerPaths,
  video: answerPaths.describe('Where the link to the video is.'),
  code: answerPaths.describe("Where the service's error code is."),
  message: answerPaths.describe("Where the service's error message is."),
  charged: z
    .union([
      answerPaths,
      partOf({
        amount: answerPaths,
        currency: currency.optional().describe('Default: the currency of prices.'),
        divideBy: positiveNumber(1e12, 100)
          .optional()
          .describe('How many units of the answer make one unit of the currency: 100 for cents.'),
      }),
    ])
    .describe('Where the answer to the poll of an ended task says what it cost.'),
}).describe('Where each value is in the answers. Replaces the default paths of that value.');

const states = optionalOf({
  queued: words,
  running: words,
  succeeded: words,
  failed: words,
  cancelled: words,
}).describe("What the service's words or numbers mean, in addition to the default ones.");

const refusedContent = optionalOf({
  codes: words.describe(
    "The service's error codes. A code that ends with * stands for all codes that begin like it.",
  ),
  states: words.describe("The service's words or numbers for the state of a task."),
  says: text('house rules').describe('A text in the message; upper and lower case do not matter.'),
  stage: oneOf(CONTENT_STAGES).describe('What was refused.'),
  field: text('prompt').describe('The field of the request that was refused.'),
  charged: z.boolean('must be true or false').describe('Whether the service charges for it.'),
}).refine(
  ({ codes = [], states = [], says }) => codes.length + states.length > 0 || says !== undefined,
  'must have codes, states or says',
);

const refusals = optionalOf({
  limited: listOf(
    partOf({
      status,
      says: text('too many tasks').optional().describe('Only when the answer contains this text.'),
    }),
    [{ status: 400, says: 'too many' }],
  ).describe('Answers that mean the same as 429: too many requests or too many tasks at once.'),
  codes: z
    .record(text('1302'), status, 'must be an object such as {"1302":429}')
    .describe('Error codes of answers with HTTP 200, and the HTTP status that each stands for.'),
  taskMayExist: listOf(status, [422]).describe(
    'Error answers to a submit after which a task may still exist: they count as lost submits and are not retried.',
  ),
  noTask: listOf(serverError, [503]).describe(
    "Server errors to a submit after which certainly no task exists: the submit is retried, and the next of a job's services may be tried.",
  ),
  failed: listOf(status, [422]).describe(
    'Error answers to a poll, or to the call for the link, that mean that the task has failed.',
  ),
  content: listOf(refusedContent, [{ codes: ['E_4711'] }]).describe(
    'Answers that mean that the content policy refused something, in addition to the default ones. An answer must have all that an entry names.',
  ),
}).refine(
  ({ taskMayExist = [], noTask = [] }) => !noTask.some((one) => taskMayExist.includes(one)),
  'must not have the same status in taskMayExist and noTask',
);

const prices = partOf({
  currency,
  table: listOf(
    optionalOf({
      operation: oneOf(['text-to-video', 'image-to-video']).describe('Default: any operation.'),
      resolution: text('720p').describe('Default: any resolution.'),
      perSecond: amount.describe('For each second of the video.'),
      perVideo: amount.describe('For the whole video, in addition to its seconds.'),
    }).refine(
      ({ perSecond, perVideo }) => perSecond !== undefined || perVideo !== undefined,
      'must have perSecond or perVideo',
    ),
    [{ resolution: '720p', perSecond: 0.1 }],
  )
    .min(1, 'must have a row')
    .describe('The first row that fits a request has its price.'),
  defaults: optionalOf({
    duration: positiveNumber(LONGEST_SECONDS, 5).describe('In seconds.'),
    resolution: text('720p'),
  })
    .optional()
    .describe('What the service uses when a request does not say it.'),
}).describe('What videos cost: an estimate before each submit, and the caps in money.');

export const profileSchema = optionalOf({
  $schema: z.string(),
  name: text('Example Video').describe('The name of the service in messages.'),
  paths: optionalOf({
    textToVideo: servicePath,
    imageToVideo: servicePath,
    task: z
      .union([
        taskPath,
        partOf({ textToVideo: taskPath, imageToVideo: taskPath }).describe(
          'A path for each operation. The ids of tasks from images then begin with image-to-video:.',
        ),
      ])
      .describe('Where the status of a task is polled.'),
  }),
  auth: optionalOf({
    header: headerName.describe('Default: Authorization.'),
    scheme: scheme.describe('Default: Bearer. "" sends the key alone.'),
  }),
  idempotencyHeader: z.union([headerName, z.null()]).describe('Default: Idempotency-Key. null sends none.'),
  headers: headers.describe('Sent with every call to the service.'),
  requestFields: listOf(text('model'), ['model']).describe('Further fields that a request may have.'),
  request,
  read,
  states,
  refusals,
  video: z
    .union([
      partOf({ path: taskPath }).describe('The video itself is at this path.'),
      partOf({
        id: answerPaths.describe('Where the answer to the poll has the id of the file.'),
        path: filePath,
        link: answerPaths.describe('Where the answer to that call has the link.'),
      }).describe('One more call gets the link, with the id of a file in the answer to the poll.'),
    ])
    .describe('For services whose answer to a poll has no link.'),
  cancel: partOf({ method: oneOf(['POST', 'PUT', 'DELETE']), path: taskPath }).describe(
    'How to cancel a task.',
  ),
  polling: optionalOf({
    min: time,
    max: time,
    usually: partOf({
      median: time.describe('Half of the tasks are ready by then.'),
      slow: time.describe('95 in a hundred are.'),
    })
      .refine(
        ({ median, slow }) => (durationMs(median) ?? 0) <= (durationMs(slow) ?? 0),
        'must have a median that is not longer than slow',
      )
      .describe('How long tasks take, until the worker has learned it from its own.'),
  }).describe('When tasks are polled, for jobs that do not say it.'),
  prices: prices,
})
  .refine(
    ({ read, prices }) => read?.charged === undefined || chargedUnit(read.charged, prices) !== undefined,
    {
      path: ['read', 'charged'],
      error: 'needs a currency: set read.charged.currency, or prices.currency',
    },
  )
  .describe('How one video service differs from the interface that temporal-videogen expects.');

/** How a service differs from the interface: its paths, fields, headers and words. */
export type ServiceProfile = z.input<typeof profileSchema>;
/** The part `request`. */
export type RequestRules = z.input<typeof request>;
/** What a service charges. */
export type Prices = z.input<typeof prices>;
export type SubmitOperation = 'textToVideo' | 'imageToVideo';

type Charged = NonNullable<z.input<typeof read>['charged']>;

/** Where an answer says what a task cost, and in which unit; undefined if no currency is known. */
export function chargedUnit(charged: Charged, known: Pick<Prices, 'currency'> | undefined) {
  const {
    amount,
    divideBy,
    currency = known?.currency,
  } = typeof charged === 'string' || Array.isArray(charged)
    ? { amount: charged, divideBy: undefined }
    : charged;
  return currency === undefined ? undefined : { paths: [amount].flat(), currency, divideBy };
}

/** The JSON Schema of a profile, for editors. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: 'input' });
}
