import { z } from 'zod';
import { requestSchema } from '../contract/request';
import {
  MAX_LIST_INDEX,
  MAX_PLACE_LENGTH,
  MAX_PLACE_STEPS,
  PLACE_PATTERN,
  placeProblems,
  stepsOf,
} from './request-places';

/** The part of a profile that says how the service words its requests. */

const MOST_FIELDS = 100;
const MOST_CONSTANTS = 200;
const MOST_VALUES = 200;
const LONGEST_TEXT = 2_000;
/** What `as` replaces by the value. */
export const VALUE_MARK = '{value}';
/** Problems of one profile that are about places. One mistake can lead to many. */
const MOST_PLACE_PROBLEMS = 5;

const place = z
  .string()
  .min(1, { abort: true })
  .max(MAX_PLACE_LENGTH, { error: `must have at most ${MAX_PLACE_LENGTH} characters`, abort: true })
  .regex(PLACE_PATTERN, {
    error: 'must be a path of keys such as input.seconds or content[0].text',
    abort: true,
  })
  .refine((text) => stepsOf(text).length <= MAX_PLACE_STEPS, {
    error: `must have at most ${MAX_PLACE_STEPS} keys and indexes`,
  })
  .refine((text) => stepsOf(text).every((step) => typeof step === 'string' || step <= MAX_LIST_INDEX), {
    error: `must have no index above ${MAX_LIST_INDEX}`,
  })
  .refine((text) => !stepsOf(text).includes('__proto__'), { error: 'must not have the key __proto__' })
  .meta({
    description: 'Keys joined by dots; [0] after a key is the first entry of a list.',
    examples: ['input.prompt'],
  });

const scalar = z
  .union([z.string().max(LONGEST_TEXT), z.number(), z.boolean(), z.null()])
  .meta({ examples: ['720p'] });
function atMost<Record extends z.ZodType<object>>(record: Record, count: number, what: string): Record {
  return record.refine((given) => Object.keys(given).length <= count, {
    error: `must have at most ${count} ${what}`,
  });
}

const fieldName = z.string().min(1).max(MAX_PLACE_LENGTH);
const values = atMost(z.record(z.string(), scalar), MOST_VALUES, 'values').refine(
  (record) => Object.keys(record).length > 0,
  'must have a value',
);

const field = z
  .strictObject({
    to: z
      .union([place, z.null()])
      .optional()
      .describe(
        'Where the value goes. Its own name unless set. null: the service does not take it, and a request that has it is refused.',
      ),
    with: z
      .array(fieldName)
      .min(1)
      .max(5)
      .optional()
      .describe(
        'Further fields that go into the same value. values has a row for each combination: the values of the fields that a request has, in this order, with a blank between them.',
      ),
    values: values
      .optional()
      .describe("The service's own word for each value. A value without a row is refused."),
    as: z
      .string()
      .max(MAX_PLACE_LENGTH)
      .refine((text) => text.includes(VALUE_MARK), `must contain ${VALUE_MARK}`)
      .optional()
      .describe(`The value as text, in place of ${VALUE_MARK}: "${VALUE_MARK}s" for 5s.`),
    default: scalar
      .optional()
      .describe("Sent when a request has none of the fields, in the service's own words."),
  })
  .refine(({ with: more, values: rows }) => more === undefined || rows !== undefined, {
    error: 'must have values, because it has with',
  })
  .refine(
    ({ to, with: more, values: rows, as, default: usual }) =>
      to !== null || (more ?? rows ?? as ?? usual) === undefined,
    { error: 'must have nothing besides to: null' },
  )
  .refine(({ values: rows, as }) => rows === undefined || as === undefined, {
    error: 'must have values or as, not both',
  });

const parts = {
  within: place.optional().describe('The object that holds the fields which have no place of their own.'),
  fields: atMost(z.record(fieldName, field), MOST_FIELDS, 'fields')
    .optional()
    .describe('How each field of a request is sent. Fields that are not named here keep their names.'),
  constants: atMost(z.record(place, scalar), MOST_CONSTANTS, 'constants')
    .optional()
    .describe('What every request has besides its fields, by its place.'),
};

const ofOperation = z.strictObject(parts).optional();

export const requestPartSchema = z
  .strictObject({
    ...parts,
    textToVideo: ofOperation.describe('What differs for requests without an image.'),
    imageToVideo: ofOperation.describe('What differs for requests with an image.'),
  })
  .describe("How the service words its requests. Callers always write the interface's fields.");

/** The part `request` of a profile. */
export type RequestPart = z.infer<typeof requestPartSchema>;
export type RequestFieldRule = z.infer<typeof field>;
export type SubmitOperation = 'textToVideo' | 'imageToVideo';

/** What applies to one operation: what it says itself wins over what both share. */
export interface OperationPart {
  within?: string | undefined;
  fields: ReadonlyMap<string, RequestFieldRule>;
  constants: ReadonlyMap<string, z.infer<typeof scalar>>;
}

export function partOf(request: RequestPart, operation: SubmitOperation): OperationPart {
  const own = request[operation] ?? {};
  return {
    within: own.within ?? request.within,
    fields: new Map([...Object.entries(request.fields ?? {}), ...Object.entries(own.fields ?? {})]),
    constants: new Map([...Object.entries(request.constants ?? {}), ...Object.entries(own.constants ?? {})]),
  };
}

/** Where a field goes that has no place of its own. Its name is one key, whatever is in it. */
export function ownPlace(name: string, within: string | undefined) {
  return [...(within === undefined ? [] : stepsOf(within)), name];
}

/** A problem and where in the profile it is. */
export interface RequestProblem {
  path: string[];
  problem: string;
}

/** What is wrong with a `request` that only shows when its parts are put together. */
export function requestProblems(
  request: RequestPart,
  requestFields: readonly string[] = [],
): RequestProblem[] {
  const names = [...new Set([...Object.keys(requestSchema.shape), ...requestFields])];
  const problems = [
    ...unknownFields(request, names),
    ...(['textToVideo', 'imageToVideo'] as const).flatMap((operation) => {
      const part = partOf(request, operation);
      return [...sharedFields(part), ...misplaced(part, names, operation)].map((problem) => ({
        path: ['request'],
        problem: `${problem} (${operation})`,
      }));
    }),
  ];
  return problems.slice(0, MOST_PLACE_PROBLEMS);
}

function unknownFields(request: RequestPart, names: readonly string[]): RequestProblem[] {
  const places = [
    { path: ['request', 'fields'], fields: request.fields },
    { path: ['request', 'textToVideo', 'fields'], fields: request.textToVideo?.fields },
    { path: ['request', 'imageToVideo', 'fields'], fields: request.imageToVideo?.fields },
  ];
  return places.flatMap(({ path, fields = {} }) =>
    Object.entries(fields).flatMap(([name, rule]) =>
      [name, ...(rule.with ?? [])]
        .filter((one) => !names.includes(one))
        .map((one) => ({
          path: [...path, name],
          problem: `names ${one}, which is not a field of a request: add it to requestFields, or correct it`,
        })),
    ),
  );
}

/** A field that goes into the value of another has no rule of its own. */
function sharedFields({ fields }: OperationPart): string[] {
  const seen = new Set<string>();
  return [...fields].flatMap(([name, rule]) =>
    [name, ...(rule.with ?? [])].flatMap((one) => {
      if (!seen.has(one)) {
        seen.add(one);
        return [];
      }
      return [`has ${one} twice: under its own name and in with of another field`];
    }),
  );
}

function misplaced(
  { within, fields, constants }: OperationPart,
  names: readonly string[],
  operation: SubmitOperation,
): string[] {
  const ruled = new Set([...fields].flatMap(([name, rule]) => [name, ...(rule.with ?? [])]));
  const others = names.filter(
    // A key with a dot in it would be read as a path here, and cannot meet another place in the body.
    (name) =>
      !ruled.has(name) && /^[^.\s[\]]+$/.test(name) && (name !== 'image_url' || operation === 'imageToVideo'),
  );
  const own = (name: string) => (within === undefined ? name : `${within}.${name}`);
  return placeProblems([
    ...[...constants.keys()].map((at) => ({ place: at, of: 'a constant' })),
    ...[...fields].flatMap(([name, { to }]) => (to === null ? [] : [{ place: to ?? own(name), of: name }])),
    ...others.map((name) => ({ place: own(name), of: name })),
  ]);
}
