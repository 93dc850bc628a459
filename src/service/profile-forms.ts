import { z } from 'zod';
import { durationMs } from '../contract/duration';
import { AMOUNT_RULE, CURRENCY_RULE, isAmount, isCurrency } from '../contract/money';

/** The forms that fields of a profile have. Each says in its error what it must be, with an example: it follows the field's path. */

const MAX_TEXT_CHARS = 2_000;

const mustBe = (what: string, example: unknown) => `must be ${what}, such as ${JSON.stringify(example)}`;

function textOf(pattern: RegExp, what: string, example: string, maxChars = MAX_TEXT_CHARS) {
  const error = mustBe(what, example);
  return (
    z
      .string(error)
      // Checked first: matching a very long text takes seconds.
      .max(maxChars, { error: `must have at most ${maxChars} characters`, abort: true })
      .regex(pattern, error)
      .meta({ examples: [example] })
  );
}

/** An object with these parts and no others. */
export function partOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape)
    .filter((name) => name !== '$schema')
    .join(', ');
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys' ? `not known, there can be ${names}` : `must be an object with ${names}`,
  });
}

/** An object with any of these parts. */
export const optionalOf = <Shape extends z.ZodRawShape>(shape: Shape) => partOf(shape).partial();

export const listOf = <Entry extends z.ZodType>(entry: Entry, example: unknown) =>
  z.array(entry, mustBe('a list', example));

export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, `must be one of ${values.join(', ')}`);

export const positiveNumber = (max: number, example: number) => {
  const error = mustBe(`a number above 0 and at most ${max}`, example);
  return z.number(error).positive(error).max(max, error);
};

export const text = (example: string) => textOf(/\S/, 'a text', example);

export const servicePath = textOf(
  /^\/[^\s#]*$/,
  'a path that begins with /',
  '/v1/videos/text-to-video',
).describe('A path at the service.');
const pathWith = (name: string, example: string) =>
  textOf(
    new RegExp(`^/[^\\s#]*\\{\\+?${name}\\}[^\\s#]*$`),
    `a path that begins with / and contains {${name}}`,
    example,
  ).describe(`A path at the service with {${name}} in it, or {+${name}} to keep the slashes of the id.`);
export const taskPath = pathWith('taskId', '/v1/videos/{taskId}');
export const filePath = pathWith('fileId', '/v1/files/{fileId}');

/** undici sets these itself, and sends no request that names one of them. */
const CONNECTION_HEADERS =
  /^(connection|content-length|expect|host|keep-alive|te|trailer|proxy-connection|transfer-encoding|upgrade)$/i;
export const headerName = textOf(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'the name of a header', 'X-Api-Key').refine(
  (name) => !CONNECTION_HEADERS.test(name),
  'must not be a header that the connection sets itself',
);
const headerValue = textOf(
  /^[\t\x20-\x7e\x80-\xff]*$/,
  'text that a header can have: Latin-1 without control characters',
  '2026-11-15',
);
export const headers = z.record(headerName, headerValue, mustBe('headers', { 'X-Version': '2' }));

export const scheme = textOf(/^[A-Za-z-]*$/, 'a word, or "" for the key alone', 'Bearer');

export const time = z
  .union([z.number(), z.string()], mustBe('milliseconds or a length of time', '5s'))
  .refine((value) => durationMs(value) !== undefined, mustBe('milliseconds or a length of time', '5s'))
  .meta({ description: 'Milliseconds, or a length of time such as "5s".', examples: ['5s'] });

export const ANSWER_PATH = /^[^.\s[\]]+(\[\])?(\.[^.\s[\]]+(\[\])?)*$/;
const answerPath = textOf(
  ANSWER_PATH,
  'a path of keys, with [] after the key of a list',
  'data.videos[].url',
).describe('Keys joined by dots; [] after a key means every entry of a list.');
export const answerPaths = z
  .union([answerPath, listOf(answerPath, ['id', 'task_id']).min(1, 'must have at least one path')])
  .describe('One path, or several in the order in which to try them.');

/** Where in the body of a request a value goes. */
export const requestPlace = textOf(
  /^[^.\s[\]]+(\[\d\d?\])?(\.[^.\s[\]]+(\[\d\d?\])?)*$/,
  'a path of keys, with [0] after the key of a list',
  'content[0].text',
  200,
).describe('Keys joined by dots; [0] after a key is the first entry of a list.');

export const requestValue = z.union(
  [z.string(), z.number(), z.boolean(), z.null()],
  mustBe('a text, a number, true, false or null', '720p'),
);

const statusFrom = (min: number, example: number) => {
  const error = mustBe(`an HTTP status from ${min} to 599`, example);
  return z.int(error).min(min, error).max(599, error);
};
export const status = statusFrom(300, 429);
export const serverError = statusFrom(500, 503);

export const words = listOf(
  z.union([z.string(), z.number()], mustBe("one of the service's words or numbers", 'DONE')),
  ['DONE', 3],
).describe("The service's own words or numbers.");

export const amount = z.number(mustBe('a number', 0.5)).refine(isAmount, AMOUNT_RULE);
export const currency = z
  .string(mustBe('a currency', 'USD'))
  .refine(isCurrency, CURRENCY_RULE)
  .describe('A currency such as USD, or the unit in which the service counts, such as credits.');
